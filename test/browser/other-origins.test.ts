// Own process: waits for a browser
/** What pages of other origins send to a service, and read of it, in a browser: CORS, security headers, the client. */
import { once } from 'node:events'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { ConventionsOptions } from '../../src/index.js'
import { bundleClient } from '../client/bundle-client.js'
import * as browsers from '../support/browser.js'
import { isProblem } from '../support/problem.js'
import { type Arrival, serveUsers } from './service.js'

type PageRequest = browsers.PageRequest
const { fetchIn, freshContext, openPage, skipWithoutBrowser, startBrowser } = browsers
const json = { 'content-type': 'application/json' }
const put = { method: 'PUT', headers: json, body: '{}' }
const tooLong = `/v1/users/${'1'.repeat(5000)}`
const isUnreadable = (t: Test, answer: Promise<unknown>, about: string) =>
  t.rejects(answer, /TypeError: Failed to fetch/, about)
const methodsOf = (arrived: readonly Arrival[]) => arrived.map(({ method }) => method)
/** What of the bundled client a page calls. */
declare const client: typeof import('../../src/client/index.js')
const statusesOf = (arrived: readonly Arrival[]) => arrived.map(({ status }) => status)

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await startBrowser(t)

  /** A service, a page of an origin that it allows, and a page of another one. */
  async function open(
    t: Test,
    options: ConventionsOptions = {},
    addRoutes?: (app: FastifyInstance) => unknown,
  ) {
    const context = await freshContext(t, browser)
    const { page, origin } = await openPage(t, context)
    const { page: other } = await openPage(t, context)
    const cors = { origin: [origin], ...(options.cors || {}) }
    const service = await serveUsers(t, { ...options, cors }, addRoutes)
    const call = (path: string, request?: PageRequest) => fetchIn(page, service.url + path, request)
    return { ...service, page, other, call }
  }

  await t.test('a page of an allowed origin can read all responses, errors too', async (t) => {
    const { call } = await open(t, {}, (app) => {
      app.get('/v1/failures', async () => Promise.reject(new Error('no')))
    })
    const created = await call('/v1/users', { ...put, method: 'POST' })
    t.match(created, { status: 201, headers: { location: '/v1/users/3' }, body: /"id":3/ })
    const list = await call('/v1/users?limit=1')
    t.match(list, { status: 200, headers: { link: /<.*before_id=2.*>; rel="next"/ }, body: /"users":\[/ })
    const read = await call('/v1/users/1')
    t.match(read, { status: 200, headers: { etag: /^"/, ratelimit: /^"default";r=/ } })
    const { etag } = read.headers
    t.match(await call('/v1/users/1', { method: 'HEAD' }), { status: 200, headers: { etag }, body: '' })
    const ofOld = { ...json, 'if-match': '"of old"' }
    const problems: readonly [path: string, request: PageRequest, status: number, code: string][] = [
      ['/v1/users/1', { method: 'POST' }, 405, 'method-not-allowed'],
      ['/v1/users/1', { headers: ofOld }, 412, 'precondition-failed'],
      ['/v1/failures', {}, 500, 'internal-server-error'],
      ['/v1/nothing', put, 404, 'not-found'],
      // What no hook sees.
      [tooLong, {}, 414, 'uri-too-long'],
      ['/%zz', put, 400, 'uri-malformed'],
    ]
    for (const [path, request, status, code] of problems)
      isProblem(t, await call(path, request), { status, code }, `${status} ${code}`)
    await isUnreadable(t, call(`/v1/users?name=${'x'.repeat(20_000)}`), 'no request, no origin: the 431')
  })

  await t.test('it can read the 429 of a quota, and the 503 of a maintenance', async (t) => {
    const { app, call } = await open(t, { rateLimit: { max: 1 } })
    t.match(await call('/v1/users/1', put), { status: 200, headers: { ratelimit: /^"default";r=0;t=/ } })
    const refused = await call('/v1/users/1', put)
    isProblem(t, refused, { status: 429, code: 'quota-exceeded' })
    t.match(refused.headers, { 'retry-after': /^\d+$/, 'ratelimit-policy': '"default";q=1;w=60' })
    await app.maintenance.enable({ retryAfter: 540, reason: 'The database moves' })
    // The last one needs a preflight.
    for (const [path, request] of [['/%zz'], ['/v1/users/2', put]] as const) {
      const answer = await call(path, request)
      isProblem(t, answer, { status: 503, code: 'maintenance', detail: 'The database moves' }, path)
      t.equal(answer.headers['retry-after'], '540')
    }
  })

  await t.test('a page of another origin, or of an opaque one, cannot read any response', async (t) => {
    const { url, other, arrived } = await open(t)
    for (const target of ['/v1/users', '/v1/nothing', '/%zz', tooLong])
      await isUnreadable(t, fetchIn(other, url + target), target.slice(0, 20))
    t.strictSame(statusesOf(arrived), [200, 404, 400, 414], 'though each was answered')
    await other.setContent('<iframe sandbox="allow-scripts" srcdoc="sandboxed"></iframe>')
    const sandbox = other.frames()[1] ?? other.mainFrame()
    await isUnreadable(t, fetchIn(sandbox, `${url}/v1/users`), 'from a sandbox')
    t.equal(arrived.at(-1)?.headers.origin, 'null')
    const { url: closed } = await serveUsers(t)
    await isUnreadable(t, fetchIn(other, `${closed}/v1/users`), 'without the option origin')
  })

  await t.test('with credentials: true, requests have cookies, and the response can be read', async (t) => {
    for (const credentials of [true, false]) {
      const { call, arrived } = await open(t, { cors: { credentials } }, (app) => {
        app.post('/v1/sessions', (_request, reply) =>
          reply.code(204).header('set-cookie', 'session=1; SameSite=Strict; HttpOnly').send(),
        )
      })
      const included = { credentials: 'include' } as const
      const requests: readonly [path: string, request: PageRequest, status: number][] = [
        ['/v1/sessions', { method: 'POST' }, 204],
        ['/v1/users/1', {}, 200],
        ['/v1/users/1', put, 200],
      ]
      for (const [path, request, status] of requests) {
        const answer = call(path, { ...request, ...included })
        if (credentials) t.equal((await answer).status, status)
        else await isUnreadable(t, answer, path)
      }
      t.equal((await call('/v1/users/1')).status, 200)
      t.notOk('cookie' in (arrived.at(-1)?.headers ?? {}), 'without `include` there is no cookie')
      const withCookie = arrived.filter(({ headers }) => headers.cookie === 'session=1')
      const expected = credentials ? ['GET', 'PUT'] : ['GET']
      t.strictSame(methodsOf(withCookie), expected, 'the browser keeps answers back, not requests')
    }
  })

  await t.test('an allowed page can send each method and header of the conventions', async (t) => {
    const { call, arrived, handled } = await open(t)
    const sent: readonly [request: PageRequest, status: number, handled: string][] = [
      [{ ...put, method: 'PATCH' }, 200, 'PATCH'],
      [{ ...put, headers: { ...json, 'if-match': '"of old"' } }, 412, ''],
      [{ method: 'DELETE' }, 204, 'DELETE'],
      [{ method: 'POST', headers: { 'x-http-method-override': 'DELETE' } }, 204, 'DELETE'],
      [{ headers: { prefer: 'return=minimal', 'x-requested-with': 'XMLHttpRequest' } }, 200, 'GET'],
    ]
    for (const [index, [request, status, method]] of sent.entries()) {
      // Each its own URL: what a browser has been told of one, it does not ask again.
      const path = `/v1/users/${index}`
      const about = JSON.stringify(request)
      t.equal((await call(path, request)).status, status, about)
      t.strictSame(methodsOf(arrived.splice(0)), ['OPTIONS', request.method ?? 'GET'], about)
      t.strictSame(handled.splice(0), method === '' ? [] : [`${method} ${path}`], about)
    }
  })

  await t.test('a page runs, shows and frames no response, unless its route lets it', async (t) => {
    const image = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'
    const crossOriginResourcePolicy = { policy: 'cross-origin' } as const
    const { url, other: page } = await open(t, {}, (app) => {
      for (const [name, securityHeaders] of [
        ['guarded', undefined],
        ['open', false],
        ['shared', { crossOriginResourcePolicy }],
      ] as const) {
        const options = securityHeaders === undefined ? {} : { config: { securityHeaders } }
        const script = `globalThis.ran = '${name}'`
        app.get(`/v1/scripts/${name}`, options, (_, reply) => reply.type('application/json').send(script))
        app.get(`/v1/avatars/${name}`, options, (_, reply) => reply.type('image/svg+xml').send(image))
        app.get(`/v1/items/${name}`, options, () => ({ name }))
      }
      app.get('/v1/pages', { config: { securityHeaders: false } }, (_, reply) =>
        reply.type('text/html').send('<!doctype html>'),
      )
    })
    for (const [name, width] of Object.entries({ guarded: 0, open: 10, shared: 10 })) {
      await page.setContent(`<img src="${url}/v1/avatars/${name}">`)
      t.equal(await page.evaluate('document.images[0].naturalWidth'), width, `an image: ${name}`)
    }
    const targets = { '/v1/items/guarded': false, '/v1/nothing': false, '/v1/items/open': true }
    for (const [target, framed] of Object.entries(targets)) {
      await page.setContent(`<iframe src="${url}${target}"></iframe>`)
      const frame = page.frames()[1]?.url()
      t.equal(frame, framed ? url + target : 'chrome-error://chromewebdata/', `a frame: ${target}`)
    }
    await page.goto(`${url}/v1/pages`)
    for (const name of ['guarded', 'open']) {
      await page.setContent(`<script src="/v1/scripts/${name}"></script>`)
      const ran = await page.evaluate<string | undefined>('globalThis.ran')
      t.equal(ran, name === 'open' ? 'open' : undefined, `a script of the same origin: ${name}`)
    }
    for (const [target, type] of [
      ['/v1/items/guarded', 'application/json'],
      ['/v1/<script>globalThis.ran=1</script>', 'application/problem+json'],
    ] as const) {
      await page.goto(url + target)
      t.equal(await page.evaluate('document.contentType'), type, 'opened as a page, it is shown as text')
      t.equal(await page.evaluate('globalThis.ran'), undefined)
      await isUnreadable(t, fetchIn(page, `${url}/v1/users`), 'and loads nothing')
    }
    await page.goto(`${url}/v1/items/open`)
    t.equal((await fetchIn(page, `${url}/v1/users`)).status, 200)
  })

  await t.test('the client follows and cancels operations of a service of another origin', async (t) => {
    const { page, url, handled, arrived } = await open(t, { operations: { retryAfter: 1 } }, (app) => {
      app.operations.define('copy', async () => ({ resource: '/v1/users/8' }))
      app.operations.define('wait', { cancellable: true }, async ({ signal }) => {
        await once(signal, 'abort')
        throw signal.reason
      })
      for (const verb of ['copy', 'wait'])
        app.post(`/v1/users/:id/${verb}`, (_request, reply) => reply.startOperation(verb))
    })
    await page.addScriptTag({ content: await bundleClient('iife') })

    const end = await page.evaluate(async (url) => {
      const response = await fetch(`${url}/v1/users/7/copy`, { method: 'POST' })
      return client.followOperation(response).finished()
    }, url)
    t.match(end, { status: 'Succeeded', resource: `${url}/v1/users/8` })
    t.notOk(handled.includes('GET /v1/users/8'), 'which is not fetched')
    t.ok(
      arrived.some((arrival) => arrival.url.endsWith('/status')),
      'it polls Operation-Location',
    )

    const cancelled = await page.evaluate(async (url) => {
      const init = { headers: { authorization: 'Bearer mine' } }
      const response = await fetch(`${url}/v1/users/7/wait`, { method: 'POST' })
      const operation = client.followOperation(response, { init })
      const finished = operation.finished()
      await operation.cancel()
      return finished
    }, url)
    t.match(cancelled, { status: 'Failed', error: { code: 'operation-cancelled' } })
    const cancels = arrived.filter(({ method }) => method === 'DELETE')
    t.match(cancels, [{ status: 204, headers: { authorization: 'Bearer mine' } }], 'with its token')

    const hidden = await page.evaluate(async (url) => {
      const { headers } = await fetch(`${url}/v1/users/7/copy`, { method: 'POST' })
      const operation = client.followOperation(url + headers.get('location'))
      const { code, status } = await operation.finished().catch((error) => error)
      return { code, status }
    }, url)
    t.strictSame(hidden, { code: 'refused', status: 0 }, 'a 303 at Location alone, which the browser hides')
  })
})
