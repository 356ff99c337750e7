// Own process: waits for a browser
/** What a page of another origin reads of answers, in a browser. */
import t, { type Test } from 'tap'
import {
  fetchIn,
  freshContext,
  openPage,
  type PageAnswer,
  type PageRequest,
  skipWithoutBrowser,
  startBrowser,
} from '../support/browser.js'
import { isProblem } from '../support/problem.js'
import { serveUsers } from './service.js'

const unreadable = /TypeError: Failed to fetch/
const json = { 'content-type': 'application/json' }
const conventional = [
  'location',
  'operation-location',
  'link',
  'etag',
  'retry-after',
  'ratelimit',
  'ratelimit-policy',
  'deprecation',
  'sunset',
  'preference-applied',
  'idempotent-replayed',
]
// Fetch §3.2.6, CORS-safelisted response-header names: of these a page needs no leave.
const safelisted = [
  'cache-control',
  'content-language',
  'content-length',
  'content-type',
  'expires',
  'last-modified',
  'pragma',
]

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await startBrowser(t)

  await t.test('a page of an allowed origin can read all responses, errors too', async (t) => {
    const { page, origin } = await openPage(t, await freshContext(t, browser))
    const { url } = await serveUsers(t, { cors: { origin: [origin] } }, (app) => {
      app.get('/v1/failures', () => {
        throw new Error('no')
      })
      app.get(
        '/v1/reports',
        { schema: { response: { 200: { content: { 'text/csv': { schema: { type: 'string' } } } } } } },
        () => 'a,b',
      )
    })
    const call = (path: string, request?: PageRequest) => fetchIn(page, url + path, request)

    const created = await call('/v1/users', { method: 'POST', headers: json, body: '{}' })
    t.match(created, { status: 201, headers: { location: '/v1/users/3' }, body: /"id":3/ })
    const list = await call('/v1/users?limit=1')
    t.match(list, { status: 200, headers: { link: /<.*before_id=2.*>; rel="next"/ }, body: /"users":\[/ })
    const read = await call('/v1/users/1')
    t.match(read, { status: 200, headers: { etag: /^"/, ratelimit: /^"default";r=/ } })
    const { etag } = read.headers
    t.match(await call('/v1/users/1', { method: 'HEAD' }), { status: 200, headers: { etag }, body: '' })
    t.match(await call('/v1/users/1', { method: 'DELETE' }), { status: 204, body: '' })

    const stale = { ...json, 'if-match': '"of old"' }
    const problems: readonly [path: string, request: PageRequest, status: number, code: string][] = [
      ['/v1/nothing', {}, 404, 'not-found'],
      ['/v1/Users', {}, 404, 'path-uppercase'],
      ['/v1/users/1', { method: 'POST' }, 405, 'method-not-allowed'],
      ['/v1/reports', { headers: { accept: 'application/json' } }, 406, 'not-acceptable'],
      ['/v1/users/1', { headers: stale }, 412, 'precondition-failed'],
      [
        '/v1/users',
        { method: 'POST', headers: { 'content-type': 'text/csv' }, body: 'a,b' },
        415,
        'unsupported-media-type',
      ],
      ['/v1/failures', {}, 500, 'internal-server-error'],
      // What no hook sees.
      ['/%zz', {}, 400, 'uri-malformed'],
      [`/v1/users/${'1'.repeat(5000)}`, {}, 414, 'uri-too-long'],
    ]
    for (const [path, request, status, code] of problems) {
      isProblem(t, await call(path, request), { status, code }, `${status} ${code}`)
    }

    await t.rejects(
      call(`/v1/users?name=${'x'.repeat(20_000)}`),
      unreadable,
      'no request, no origin: the 431',
    )
  })

  await t.test('it can read the headers of the conventions and the CORS-safelisted headers', async (t) => {
    const { page, origin } = await openPage(t, await freshContext(t, browser))
    const sent = [...conventional, 'x-internal', 'x-shown']
    const { url } = await serveUsers(
      t,
      { cors: { origin: [origin], exposedHeaders: ['X-Shown'] } },
      (app) => {
        app.get('/v1/signals', (_request, reply) => {
          for (const name of sent) reply.header(name, reply.getHeader(name) ?? '"1"')
          return {}
        })
      },
    )
    const { headers } = await fetchIn(page, `${url}/v1/signals`)
    t.strictSame(
      Object.keys(headers)
        .filter((name) => !safelisted.includes(name))
        .sort(),
      [...conventional, 'x-shown'].sort(),
    )
  })

  await t.test('when the quota is used up, it can read the 429 and its Retry-After', async (t) => {
    const { page, origin } = await openPage(t, await freshContext(t, browser))
    const { url } = await serveUsers(t, { cors: { origin: [origin] }, rateLimit: { max: 1 } })
    const put = () => fetchIn(page, `${url}/v1/users/1`, { method: 'PUT', headers: json, body: '{}' })
    t.match(
      await put(),
      { status: 200, headers: { ratelimit: /^"default";r=0;t=/ } },
      'a preflight is not counted',
    )
    const refused = await put()
    isProblem(t, refused, { status: 429, code: 'quota-exceeded' })
    const wait = Number(refused.headers['retry-after'])
    t.ok(wait >= 1 && wait <= 60, `Retry-After: ${wait}`)
    t.equal(refused.headers['ratelimit-policy'], '"default";q=1;w=60')
  })

  await t.test('a page of another origin cannot read any response', async (t) => {
    const context = await freshContext(t, browser)
    const { origin: allowed } = await openPage(t, context)
    const { page } = await openPage(t, context)
    const { url, arrived } = await serveUsers(t, { cors: { origin: [allowed] } })
    const targets = ['/v1/users', '/v1/users/1', '/v1/nothing', '/%zz', `/v1/users/${'1'.repeat(5000)}`]
    for (const target of targets) await isUnreadable(t, fetchIn(page, url + target), target.slice(0, 20))
    t.strictSame(
      arrived.map(({ status }) => status),
      [200, 200, 404, 400, 414],
      'though each was answered',
    )

    await t.test('a page with an opaque origin cannot read any response', async (t) => {
      await page.setContent('<iframe sandbox="allow-scripts" srcdoc="sandboxed"></iframe>')
      const sandboxed = page.frames()[1] ?? page.mainFrame()
      await isUnreadable(t, fetchIn(sandboxed, `${url}/v1/users`), 'from a sandbox')
      t.equal(arrived.at(-1)?.headers.origin, 'null')
    })
  })

  await t.test('without the option origin, no page of another origin can read a response', async (t) => {
    const { page } = await openPage(t, await freshContext(t, browser))
    const { url } = await serveUsers(t)
    await isUnreadable(t, fetchIn(page, `${url}/v1/users`), 'the list')
  })

  await t.test(
    'with credentials: true, the request has cookies, and the page can read the response',
    async (t) => {
      for (const credentials of [true, false]) {
        const { page, origin } = await openPage(t, await freshContext(t, browser))
        const { url, arrived } = await serveUsers(t, { cors: { origin: [origin], credentials } }, (app) => {
          app.post('/v1/sessions', (_request, reply) =>
            reply.code(204).header('set-cookie', 'session=1; SameSite=Strict; HttpOnly').send(),
          )
        })
        const included = { credentials: 'include' } as const
        const signIn = () => fetchIn(page, `${url}/v1/sessions`, { method: 'POST', ...included })
        const read = () => fetchIn(page, `${url}/v1/users/1`, included)
        if (credentials) {
          t.equal((await signIn()).status, 204)
          t.equal((await read()).status, 200)
          const put = { method: 'PUT', headers: json, body: '{}', ...included } as const
          t.equal((await fetchIn(page, `${url}/v1/users/1`, put)).status, 200, 'after a preflight too')
        } else {
          await isUnreadable(t, signIn(), 'signing in')
          await isUnreadable(t, read(), 'reading')
        }
        t.equal((await fetchIn(page, `${url}/v1/users/1`)).status, 200)
        t.notOk('cookie' in (arrived.at(-1)?.headers ?? {}), 'without `include` there is no cookie')
        const cookies = arrived
          .filter(({ headers }) => headers.cookie === 'session=1')
          .map(({ method }) => method)
        t.strictSame(
          cookies,
          credentials ? ['GET', 'PUT'] : ['GET'],
          'the browser keeps answers back, not requests',
        )
      }
    },
  )

  await t.test('the origins of a route apply to its responses only', async (t) => {
    const context = await freshContext(t, browser)
    const { page, origin } = await openPage(t, context)
    const { page: partner, origin: partnerOrigin } = await openPage(t, context)
    const { url } = await serveUsers(t, { cors: { origin: [origin] } }, (app) => {
      app.get('/v1/offers', { config: { cors: { origin: [partnerOrigin] } } }, () => ({ offers: [] }))
      app.get('/v1/prices', { config: { cors: false } }, () => ({ prices: [] }))
    })
    t.equal((await fetchIn(partner, `${url}/v1/offers`)).status, 200)
    await isUnreadable(t, fetchIn(page, `${url}/v1/offers`), 'offers')
    await isUnreadable(t, fetchIn(partner, `${url}/v1/users`), 'users')
    await isUnreadable(t, fetchIn(page, `${url}/v1/prices`), 'prices')
  })
})

function isUnreadable(t: Test, answer: Promise<PageAnswer>, about: string): Promise<unknown> {
  return t.rejects(answer, unreadable, about)
}
