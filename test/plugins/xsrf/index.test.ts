import { parse } from 'node:querystring'
import cookies from '@fastify/cookie'
import multipart from '@fastify/multipart'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type InjectOptions, type LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { type ConventionsOptions, type XsrfOptions, xsrf } from '../../../src/index.js'
import { withoutReferences } from '../../support/openapi.js'
import { injected, isProblem } from '../../support/problem.js'
import { exchange, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const secret = 'a secret of at least 32 characters'
const session = 'session=abc'
const own = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' }
const foreign = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'empty', origin: 'https://evil.example' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const unsafe = ['POST', 'PUT', 'PATCH', 'DELETE'] as const
const missing = {
  status: 403,
  code: 'xsrf-token-invalid',
  detail: 'Send the XSRF token of this session in X-XSRF-TOKEN',
}
const wrong = { ...missing, detail: /^The XSRF token is not of this session\. Send/ }
const elsewhere = { ...missing, detail: 'The request is from a page of another origin' }
const element = { status: 403, code: 'requested-with-missing' }

t.test('a page reads the token from the cookie, and sends it', async (t) => {
  const { app, handled } = await service(t)
  const read = await app.inject({ url: '/v1/users', headers: { ...own, cookie: session } })
  t.equal(read.statusCode, 200)
  const token = tokenOf(read)
  for (const method of unsafe) {
    const cookie = `${session}; XSRF-TOKEN=${token}`
    const headers = { ...own, cookie, 'x-xsrf-token': token }
    const response = await app.inject({ method, url: '/v1/users/1', headers })
    t.equal(response.statusCode, 200, method)
    t.notOk('set-cookie' in response.headers, 'the page has it')
    isProblem(
      t,
      injected(await app.inject({ method, url: '/v1/users/1', headers: { ...own, cookie } })),
      missing,
    )
    const bad = { ...headers, 'x-xsrf-token': `${token}x` }
    isProblem(t, injected(await app.inject({ method, url: '/v1/users/1', headers: bad })), wrong)
    const evil = { ...headers, ...foreign }
    isProblem(t, injected(await app.inject({ method, url: '/v1/users/1', headers: evil })), elsewhere)
  }
  t.strictSame(handled, ['GET /v1/users', ...unsafe.map((method) => `${method} /v1/users/1`)])
})

t.test('requests without the cookie need nothing', async (t) => {
  const { app } = await service(t)
  for (const cookie of [undefined, 'other=1', 'session=', 'XSRF-TOKEN=x', 'xsession=1']) {
    for (const method of ['GET', ...unsafe] as const) {
      const headers = { ...foreign, ...(cookie === undefined ? {} : { cookie }) }
      const response = await app.inject({ method, url: '/v1/users/1', headers })
      t.equal(response.statusCode, 200, `${method} ${cookie}`)
      t.notOk('set-cookie' in response.headers)
      t.notMatch(response.headers.vary ?? '', /sec-fetch/i)
    }
  }
})

t.test(
  'a verified bearer token makes the cookie irrelevant, and only a verified one that was sent',
  async (t) => {
    const { app, handled } = await service(t, {}, async (app) => {
      app.decorateRequest('caller', null)
      // Registered before the preset, so these run first.
      app.addHook('onRequest', async (request) => {
        const { authorization, cookie = '' } = request.headers
        if (authorization === 'Bearer good') request.caller = { subject: '1', scopes: [], claims: {} }
        // A backend for a frontend makes a token of its cookie.
        if (cookie.includes('translated')) {
          request.headers.authorization = 'Bearer good'
          request.caller = { subject: '1', scopes: [], claims: {} }
        }
      })
    })
    const post = async (headers: Record<string, string>) =>
      (await app.inject({ method: 'POST', url: '/v1/users/1', headers })).statusCode
    t.equal(await post({ cookie: session, authorization: 'Bearer good' }), 200)
    t.equal(await post({ cookie: session, authorization: 'bearer bad' }), 403, 'not verified')
    t.equal(await post({ cookie: session, authorization: 'Basic Z29vZDpnb29k' }), 403, 'browsers send it')
    t.equal(await post({ cookie: `${session}; a=translated` }), 403, 'not sent by the client')
    t.equal(await post({ cookie: `${session}; a=translated`, authorization: 'Basic x' }), 403)
    t.equal(handled.length, 1)
  },
)

t.test('the token is refused in another session, and a new one comes with the refusal', async (t) => {
  const { app } = await service(t)
  const token = tokenOf(await app.inject({ url: '/v1/users', headers: { ...own, cookie: session } }))
  const cookie = `session=other; XSRF-TOKEN=${token}`
  const headers = { ...own, cookie, 'x-xsrf-token': token }
  const refused = await app.inject({ method: 'POST', url: '/v1/users', headers })
  isProblem(t, injected(refused), wrong)
  const next = tokenOf(refused)
  const retried = { ...own, cookie: `session=other; XSRF-TOKEN=${next}`, 'x-xsrf-token': next }
  t.equal((await app.inject({ method: 'POST', url: '/v1/users', headers: retried })).statusCode, 200)
  const tossed = { ...retried, cookie: `session=evil; ${retried.cookie}` }
  isProblem(t, injected(await app.inject({ method: 'POST', url: '/v1/users', headers: tossed })), wrong)
})

t.test('login: the response that begins a session has its token; logout has none', async (t) => {
  for (const login of ['/login', '/login-by-header', '/login-by-response']) {
    const { app } = await service(t)
    const begun = await app.inject({ method: 'POST', url: login, headers: own })
    const token = tokenOf(begun)
    t.match(begun.headers['cache-control'], /private|no-store/, login)
    const headers = { ...own, cookie: 'session=new', 'x-xsrf-token': token }
    t.equal((await app.inject({ method: 'POST', url: '/v1/users', headers })).statusCode, 200, login)
    const old = tokenOf(await app.inject({ url: '/v1/users', headers: { ...own, cookie: session } }))
    const again = { ...own, cookie: `${session}; XSRF-TOKEN=${old}`, 'x-xsrf-token': old }
    const renewed = tokenOf(await app.inject({ method: 'POST', url: login, headers: again }))
    t.equal(
      (
        await app.inject({
          method: 'POST',
          url: '/v1/users',
          headers: { ...headers, 'x-xsrf-token': renewed },
        })
      ).statusCode,
      200,
      'a new one for the new session',
    )
    const ended = await app.inject({
      method: 'POST',
      url: '/logout',
      headers: { ...headers, cookie: `session=new; XSRF-TOKEN=${token}` },
    })
    t.equal(ended.statusCode, 200)
    t.notMatch(String(ended.headers['set-cookie']), /XSRF-TOKEN/)
  }
})

t.test(
  'login: another page cannot log its visitors in, and a stale cookie does not prevent it',
  async (t) => {
    const { app, handled } = await service(t)
    isProblem(t, injected(await app.inject({ method: 'POST', url: '/login', headers: foreign })), elsewhere)
    const stale = { ...foreign, cookie: session }
    isProblem(t, injected(await app.inject({ method: 'POST', url: '/login', headers: stale })), elsewhere)
    t.strictSame(handled, [])
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/login',
      headers: { ...own, cookie: session },
    })
    t.equal(statusCode, 200)
    t.equal((await app.inject({ method: 'POST', url: '/login' })).statusCode, 200, 'no browser')
  },
)

t.test('forms send the token in a field, which validation does not see', async (t) => {
  const { app } = await service(t)
  const cookie = session
  const page = await app.inject({ url: '/form', headers: { ...own, 'sec-fetch-dest': 'document', cookie } })
  const token = /value="([\w-]+)"/.exec(page.body)?.[1] ?? ''
  t.equal(tokenOf(page), token, 'the page and the cookie have the same token')
  const origin = 'null'
  const send = (payload: string, headers: Record<string, string> = {}, url = '/v1/forms/1') =>
    app.inject({ method: 'POST', url, headers: { ...own, ...form, cookie, origin, ...headers }, payload })
  t.strictSame((await send(`name=a&_csrf=${token}`)).json(), { method: 'POST', body: { name: 'a' } })
  isProblem(t, injected(await send('name=a')), missing)
  isProblem(t, injected(await send('name=a&_csrf=x')), wrong)
  isProblem(t, injected(await send(`_csrf=${token}&_csrf=${token}`)), wrong)
  isProblem(t, injected(await send(`_csrf=${token}`, foreign)), elsewhere)
  isProblem(
    t,
    injected(await send(`name=a&_csrf=${token}`, { 'x-xsrf-token': 'x' })),
    wrong,
    'the header counts',
  )
  t.equal((await send('name=a', { 'x-xsrf-token': token })).statusCode, 200)
  t.strictSame(
    (await send('name=a&_csrf=', { cookie: 'a=b' })).json().body,
    { name: 'a' },
    'without a session',
  )
  isProblem(t, injected(await send(`{"_csrf":"${token}"}`, { 'content-type': 'application/json' })), missing)
  isProblem(t, injected(await send(`_csrf=${token}`, { 'content-type': 'text/plain' })), missing)
})

t.test('forms that override the method send the token in a field too', async (t) => {
  const { app } = await service(t)
  const token = tokenOf(await app.inject({ url: '/v1/users', headers: { ...own, cookie: session } }))
  const send = (payload: string, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/v1/forms/1',
      headers: { ...own, ...form, cookie: session, ...headers },
      payload,
    })
  t.strictSame((await send(`_method=PUT&name=a&_csrf=${token}`)).json(), {
    method: 'PUT',
    body: { name: 'a' },
  })
  t.strictSame((await send(`_method=DELETE&_csrf=${token}`)).json(), { method: 'DELETE' }, 'no body')
  for (const method of ['PUT', 'DELETE'])
    isProblem(t, injected(await send(`_method=${method}&name=a`)), missing)
  const { statusCode } = await send(`_method=DELETE&_csrf=${token}`, foreign)
  t.equal(statusCode, 400, 'methodOverride refuses it before')
  const byHeader = { 'x-http-method-override': 'DELETE', 'content-type': 'text/plain' }
  isProblem(t, injected(await send('', byHeader)), missing)
})

t.test('multipart forms need a token like other forms', async (t) => {
  const boundary = { 'content-type': 'multipart/form-data; boundary=b' }
  const part = (name: string, value: string) =>
    `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const file = (name: string, value: string) =>
    `--b\r\ncontent-disposition: form-data; name="${name}"; filename="f"\r\n\r\n${value}\r\n`
  for (const attachFieldsToBody of ['keyValues', true, undefined] as const) {
    const { app } = await service(t, {}, (app) =>
      app.register(multipart, attachFieldsToBody === undefined ? {} : { attachFieldsToBody }),
    )
    const about = String(attachFieldsToBody)
    const token = tokenOf(await app.inject({ url: '/v1/users', headers: { ...own, cookie: session } }))
    const send = (payload: string, headers: Record<string, string> = {}) =>
      app.inject({
        method: 'POST',
        url: '/v1/users',
        headers: { ...own, ...boundary, cookie: session, ...headers },
        payload: `${payload}--b--\r\n`,
      })
    const name = part('name', 'a')
    isProblem(t, injected(await send(name)), missing, about)
    isProblem(t, injected(await send(name + part('_csrf', token), foreign)), elsewhere, about)
    t.equal((await send(name, { 'x-xsrf-token': token })).statusCode, 200, about)
    const isParsed = attachFieldsToBody !== undefined
    for (const [fields, problem] of [
      [part('_csrf', token), null],
      [part('_csrf', 'x'), wrong],
      [part('_csrf', token) + part('_csrf', token), wrong],
      [file('_csrf', token), wrong],
    ] as const) {
      const response = await send(name + fields)
      // A form that the handler reads has no token that could be checked before.
      const expected = isParsed ? problem : missing
      if (expected === null) t.equal(response.statusCode, 200, about)
      else isProblem(t, injected(response), expected, `${about}: ${fields}`)
    }
    const related = { 'content-type': 'multipart/related; boundary=b' }
    isProblem(t, injected(await send(name, related)), missing, `${about}: another multipart type`)
  }
})

t.test('reads by a cookie are refused to elements of other pages', async (t) => {
  const { app, handled } = await service(t)
  const get = (url: string, headers: Record<string, string>) =>
    app.inject({ url, headers: { cookie: session, ...headers } })
  const script = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'script' }
  const worker = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'no-cors' }
  for (const url of ['/v1/users', '/v1/users/1']) {
    const refused = await get(url, script)
    isProblem(t, injected(refused), element)
    t.equal(refused.headers['cache-control'], 'no-store')
    isProblem(t, injected(await get(url, worker)), element, 'a service worker fetches it for a script')
    isProblem(t, injected(await get(url, {})), element)
    t.equal((await get(url, { 'x-requested-with': 'fetch' })).statusCode, 200)
    t.equal((await get(url, { ...script, cookie: 'a=b' })).statusCode, 200, 'no cookie')
  }
  handled.splice(0)
  t.equal((await get('/page', script)).statusCode, 200, 'hidden from the OpenAPI document: may be a page')
  t.equal((await get('/files/a.png', script)).statusCode, 200, 'a wildcard')
  t.equal((await get('/v1/pictures/1', script)).statusCode, 200, 'config.xsrf.requestedWith is false')
  isProblem(t, injected(await get('/hidden-json', script)), element, 'config.xsrf.requestedWith is true')
  const { app: lenient } = await service(t, { requestedWith: false })
  t.equal(
    (await lenient.inject({ url: '/v1/users', headers: { cookie: session, ...script } })).statusCode,
    200,
  )
})

t.test('caches: reads vary, refusals are not stored, public responses set no cookie', async (t) => {
  const { app } = await service(t)
  const get = (url: string, headers: object = {}) =>
    app.inject({ url, headers: { ...own, cookie: session, ...headers } })
  const read = await get('/v1/users')
  t.match(read.headers.vary, /Cookie, Sec-Fetch-Site, Sec-Fetch-Dest, Sec-Fetch-Mode, X-Requested-With/)
  t.match(read.headers['cache-control'], /private/)
  const shared = await get('/v1/prices')
  t.match(shared.headers['cache-control'], /public/)
  t.notOk('set-cookie' in shared.headers)
  t.notMatch(shared.headers.vary ?? '', /Cookie/i)
  const again = await get('/v1/users', { cookie: `${session}; XSRF-TOKEN=${tokenOf(read)}` })
  t.notOk('set-cookie' in again.headers)
  t.match(again.headers.vary, /Sec-Fetch-Dest/)
  const etag = String(read.headers.etag)
  const unchanged = await get('/v1/users', { 'if-none-match': etag })
  t.equal(unchanged.statusCode, 304)
  t.match(unchanged.headers.vary, /Sec-Fetch-Dest/, 'RFC 9110 §15.4.5')
  const web = await get('/v1/response')
  t.equal(web.body, '{"a":1}')
  t.match(web.headers, { vary: /^Accept, Cookie/, 'cache-control': 'max-age=5, private' })
  t.ok(tokenOf(web))
})

t.test('the cookie: __Host- and Secure over HTTPS, readable, of this site only', async (t) => {
  const { app } = await service(t)
  const get = (headers: object = {}) =>
    app.inject({ url: '/v1/users', headers: { ...own, cookie: session, ...headers } })
  t.match(cookieOf(await get()), /^XSRF-TOKEN=[\w-]+; Path=\/; SameSite=Strict$/)
  const secure = await get({ 'x-forwarded-proto': 'https' })
  t.match(cookieOf(secure), /^__Host-XSRF-TOKEN=[\w-]+; Path=\/; SameSite=Strict; Secure$/)
})

t.test('a route with config.xsrf: false, preflights and unknown paths are not checked', async (t) => {
  const { app } = await service(t, {}, undefined, {
    cors: { origin: ['https://app.example'], credentials: true },
  })
  const cookie = session
  t.equal(
    (await app.inject({ method: 'POST', url: '/hooks/pay', headers: { ...foreign, cookie } })).statusCode,
    200,
  )
  isProblem(t, injected(await app.inject({ method: 'POST', url: '/nothing', headers: { ...own, cookie } })), {
    status: 404,
    code: 'not-found',
  })
  const preflight = { origin: 'https://app.example', 'access-control-request-method': 'PUT' }
  const asked = await app.inject({ method: 'OPTIONS', url: '/v1/users/1', headers: { ...preflight, cookie } })
  t.equal(asked.statusCode, 204)
  const { exceptions } = app.conventions.report()
  const listed = exceptions.filter(({ plugin }) => plugin === 'xsrf')
  t.match(
    listed.find(({ route }) => route === 'POST /hooks/pay'),
    { rules: ['origin', 'token', 'requestedWith'], reason: 'config.xsrf is false' },
  )
  t.match(
    listed.find(({ route }) => route === 'GET /page'),
    { rules: ['requestedWith'], reason: 'hidden from the OpenAPI document: not part of the API' },
  )
})

t.test('origins: pages of a listed origin need a token, which a response gives them', async (t) => {
  const origin = 'https://app.example'
  const { app } = await service(t, { origins: [origin] }, undefined, {
    cors: { origin: [origin], credentials: true },
  })
  const fetched = { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' }
  const headers = { origin, 'sec-fetch-site': 'cross-site', ...fetched, cookie: session }
  isProblem(t, injected(await app.inject({ method: 'POST', url: '/v1/users', headers })), missing)
  const { body: token } = await app.inject({ url: '/token', headers })
  const served = await app.inject({
    method: 'POST',
    url: '/v1/users',
    headers: { ...headers, 'x-xsrf-token': token },
  })
  t.equal(served.statusCode, 200)
  t.equal(served.headers['access-control-allow-origin'], origin)
})

t.test('refusals precede hooks of the app, validation and the body', async (t) => {
  const { app, seen } = await service(t)
  const payload = { name: 1 }
  const headers = { ...own, cookie: session }
  isProblem(t, injected(await app.inject({ method: 'POST', url: '/v1/forms/1', headers, payload })), missing)
  t.strictSame(seen, [])
})

t.test('report changes nothing and counts; off does nothing', async (t) => {
  const { app } = await service(t, { mode: 'report' })
  const inject = (options: InjectOptions) =>
    app.inject({ ...options, headers: { ...options.headers, cookie: session } })
  const answers = [
    await inject({ method: 'POST', url: '/v1/users', headers: foreign }),
    await inject({ method: 'POST', url: '/v1/users', headers: own }),
    await inject({
      url: '/v1/users',
      headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'script' },
    }),
    await inject({ method: 'POST', url: '/v1/forms/1', headers: { ...own, ...form }, payload: 'name=a' }),
  ]
  for (const { statusCode, headers } of answers) {
    t.equal(statusCode, 200)
    t.notOk('set-cookie' in headers)
    t.notMatch(headers.vary ?? '', /Sec-Fetch/)
  }
  const { observations } = app.conventions.report()
  t.match(observations, [
    {
      plugin: 'xsrf',
      rule: 'origin',
      route: '/v1/users',
      count: 1,
      example: 'POST from https://evil.example',
    },
    { plugin: 'xsrf', rule: 'token', route: '/v1/users', count: 1 },
    { plugin: 'xsrf', rule: 'requestedWith', route: '/v1/users', count: 1, example: 'GET for script' },
    { plugin: 'xsrf', rule: 'token', route: '/v1/forms/:id', count: 1 },
  ])
  const withField = await inject({
    method: 'POST',
    url: '/v1/forms/1',
    headers: { ...own, ...form },
    payload: 'name=a&_csrf=x',
  })
  t.equal(withField.statusCode, 400, 'the field stays in the body')
  const { app: off } = await service(t, { mode: 'off' })
  t.equal((await off.inject({ method: 'POST', url: '/v1/users', headers: foreign })).statusCode, 200)
  t.equal((await off.inject({ url: '/token', headers: { cookie: session } })).statusCode, 200)
})

t.test('the OpenAPI document has the header and the 403', async (t) => {
  const { app } = await service(t)
  const { paths } = withoutReferences(app.swagger()) as unknown as {
    paths: Record<
      string,
      Record<string, { parameters?: { name: string; in: string; required?: boolean }[]; responses: object }>
    >
  }
  const write = paths['/v1/described']?.post
  const header = write?.parameters?.find(({ name }) => name === 'X-XSRF-TOKEN')
  t.match(header, { in: 'header', schema: { type: 'string' } })
  t.notOk(header?.required, 'other clients do not need it')
  t.match(write?.responses, { 403: { description: /no valid XSRF token/ } })
  const read = paths['/v1/described']?.get
  t.notOk(read?.parameters?.some(({ name }) => name === 'X-XSRF-TOKEN'))
  t.match(read?.responses, { 403: { description: /element of a page/ } })
})

t.test('bad options fail the registration, and do not show the secret', async (t) => {
  const good = { cookies: ['session'], secret }
  const rows = [
    [{}, /^xsrf\.cookies: expected at least one name/],
    [{ secret }, /^xsrf\.cookies: /],
    [{ cookies: [], secret }, /^xsrf\.cookies: /],
    [{ cookies: 'session', secret }, /^xsrf\.cookies: expected an array/],
    [{ cookies: ['a b'], secret }, /^xsrf\.cookies\[0\]: expected the name of a cookie/],
    [{ cookies: ['session'] }, /^xsrf\.secret: expected a text of at least 32 characters/],
    [{ cookies: ['session'], secret: 'short-secret' }, /^xsrf\.secret: .*received 'string'$/],
    [{ cookies: ['session'], secret: [] }, /^xsrf\.secret: expected at least one secret/],
    [{ cookies: ['session'], secret: [secret, 'short-secret'] }, /^xsrf\.secret\[1\]: .*received 'string'$/],
    [{ ...good, origins: ['https://app.example/'] }, /^xsrf\.origins\[0\]: expected an origin/],
    [{ ...good, exempt: [] }, /^xsrf\.exempt: there is no such option/],
  ] as const
  for (const [options, message] of rows) {
    const app = Fastify()
    const error = (await app.register(xsrf, options as unknown as XsrfOptions).then(
      () => t.fail('registered'),
      (thrown: Error) => thrown,
    )) as Error
    t.match(error.message, message)
    t.notMatch(error.message, /short-secret/)
  }
  const app = Fastify()
  await app.register(xsrf, good)
  t.throws(() => app.post('/v1/users', { config: { xsrf: true as unknown as false } }, async () => ({})), {
    message: /^POST \/v1\/users config\.xsrf: expected an object or false/,
  })
  const reading = Fastify()
  await reading.register(xsrf, good)
  reading.get('/login', { config: { xsrf: { login: true } } }, async () => ({}))
  await t.rejects(async () => reading.ready(), {
    code: 'FST_CONV_FINDINGS',
    message: /GET \/login.*xsrf\.login/s,
  })
})

t.test('over a socket: several Cookie fields, and header fields that appear twice', async (t) => {
  const { app, handled } = await service(t)
  const { port } = await serve(t, app)
  const bytes = requestBytes('POST', '/v1/users/1', { cookie: 'a=b' })
  const twice = bytes.replace(/cookie: a=b\r\n/i, 'Cookie: a=b\r\nCookie: session=abc\r\n')
  t.match(await exchange(port, twice), /^HTTP\/1\.1 403 /)
  const token = tokenOf(await app.inject({ url: '/v1/users', headers: { ...own, cookie: session } }))
  const sent = twice.replace('Cookie: a=b', `X-XSRF-TOKEN: ${token}\r\nX-XSRF-TOKEN: ${token}`)
  t.match(await exchange(port, sent), /^HTTP\/1\.1 403 /, 'two tokens are none')
  const sites = twice.replace('Cookie: a=b', 'Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site')
  t.match(await exchange(port, sites), /another origin/)
  t.strictSame(handled, ['GET /v1/users'])
})

/** The routes of a service whose cookie `session` authenticates. */
async function service(
  t: Test,
  options: Partial<XsrfOptions> = {},
  before: (app: FastifyInstance) => unknown = () => {},
  preset: ConventionsOptions = {},
): Promise<{ app: FastifyInstance; handled: string[]; seen: string[] }> {
  const app: FastifyInstance = Fastify({ trustProxy: true, forceCloseConnections: true })
  t.teardown(() => app.close())
  const handled: string[] = []
  const seen: string[] = []
  await before(app)
  app.addContentTypeParser(form['content-type'], { parseAs: 'string' }, (_request, body, done) =>
    done(null, parse(String(body))),
  )
  await app.register(conventions, {
    pathGuard: false,
    responseRules: false,
    ...preset,
    xsrf: { cookies: ['session'], secret, ...options },
  })
  await app.register(cookies)
  await app.register(swagger, { openapi: { openapi: '3.1.0' } })
  app.addHook('onRequest', async ({ method, url }) => void seen.push(`${method} ${url}`))
  app.addHook('preHandler', async ({ method, url }) => void handled.push(`${method} ${url}`))
  const page = { hide: true }
  for (const url of ['/v1/users', '/v1/users/:id']) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
      app.route({ method, url, handler: async () => ({}) })
  }
  const named = { type: 'object', additionalProperties: false, properties: { name: { type: 'string' } } }
  app.route({
    method: ['POST', 'PUT'],
    url: '/v1/forms/:id',
    schema: { body: named },
    // Otherwise Ajv removes what a body must not have.
    validatorCompiler: () => (body) =>
      Object.keys(body).every((name) => name === 'name') ? { value: body } : { error: new Error('strict') },
    handler: async ({ method, body }) => ({ method, body }),
  })
  app.delete('/v1/forms/:id', async ({ method, body }) => ({ method, body }))
  app.get('/form', { schema: page }, async (_request, reply) =>
    reply.type('text/html').send(`<input name="_csrf" value="${reply.generateXsrfToken()}">`),
  )
  app.get('/token', async (_request, reply) => reply.type('text/plain').send(reply.generateXsrfToken() ?? ''))
  const login = { config: { xsrf: { login: true } } }
  app.post('/login', login, async (_request, reply) =>
    reply.setCookie('session', 'new', { path: '/' }).send({}),
  )
  app.post('/login-by-header', login, async (_request, reply) =>
    reply.header('set-cookie', ['a=b', 'session=new; HttpOnly']).send({}),
  )
  app.post('/login-by-response', login, async () => {
    const headers = { 'set-cookie': 'session=new', 'content-type': 'application/json' }
    return new Response('{}', { headers })
  })
  app.post('/logout', async (_request, reply) => reply.clearCookie('session').send({}))
  app.post('/hooks/pay', { config: { xsrf: false } }, async () => ({}))
  app.get('/page', { schema: page }, async (_request, reply) => reply.type('text/html').send('<p>'))
  app.get('/files/*', async () => 'file')
  app.get('/v1/pictures/:id', { config: { xsrf: { requestedWith: false } } }, async () => 'picture')
  app.get('/hidden-json', { schema: page, config: { xsrf: { requestedWith: true } } }, async () => ({}))
  app.get(
    '/v1/prices',
    { config: { caching: { cacheControl: { public: true, maxAge: 60 } } } },
    async () => ({}),
  )
  app.get('/v1/response', async () => {
    const headers = { vary: 'Accept', 'cache-control': 'max-age=5', 'content-type': 'application/json' }
    return new Response('{"a":1}', { headers })
  })
  const described = { schema: { response: { 200: { type: 'object', properties: {} } } } }
  app.get('/v1/described', described, async () => ({}))
  app.post('/v1/described', described, async () => ({}))
  await app.ready()
  return { app, handled, seen }
}

function cookieOf({ headers }: LightMyRequestResponse): string {
  const lines = [headers['set-cookie'] ?? []].flat()
  return lines.find((line) => /token=/i.test(line)) ?? ''
}

function tokenOf(response: LightMyRequestResponse): string {
  return /(?:^|-)XSRF-TOKEN=([\w-]+)/.exec(cookieOf(response))?.[1] ?? ''
}
