import { parse } from 'node:querystring'
import cookies from '@fastify/cookie'
import multipart from '@fastify/multipart'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type InjectOptions, type LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { type ConventionsOptions, type XsrfOptions, xsrf } from '../../../src/index.js'
import { testIssuer } from '../../../src/testing/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { documentOf } from '../../support/openapi.js'
import { injected, isProblem } from '../../support/problem.js'
import { exchange, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

type Method = NonNullable<InjectOptions['method']>
type Fields = Readonly<Record<string, string>>

const secret = 'a secret of at least 32 characters'
const session = 'session=abc'
const own = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' }
const foreign = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'empty', origin: 'https://evil.example' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const asksForToken = 'Send the XSRF token of this session in X-XSRF-TOKEN'
const missing = { status: 403, code: 'xsrf-token-invalid', detail: asksForToken }
const wrong = { ...missing, detail: /^The XSRF token is not of this session\. Send/ }
const elsewhere = { ...missing, detail: 'The request is from a page of another origin' }

t.test('a page reads the token from the cookie, and sends it', async (t) => {
  const { send, handled, seen } = await service(t)
  isProblem(t, injected(await send('POST', '/v1/forms/1', {}, { name: 1 })), missing)
  t.strictSame(seen, [], 'a refusal precedes hooks of the app, validation and the body')
  const token = tokenOf(await send('GET', '/v1/users'))
  for (const method of ['POST', 'DELETE'] as const) {
    const cookie = `${session}; XSRF-TOKEN=${token}`
    const headers = { cookie, 'x-xsrf-token': token }
    const response = await send(method, '/v1/users/1', headers)
    t.equal(response.statusCode, 200, method)
    t.notOk('set-cookie' in response.headers, 'the page has it')
    const changed = { ...headers, 'x-xsrf-token': `${token}x` }
    isProblem(t, injected(await send(method, '/v1/users/1', { cookie })), missing)
    isProblem(t, injected(await send(method, '/v1/users/1', changed)), wrong)
    isProblem(t, injected(await send(method, '/v1/users/1', { ...headers, ...foreign })), elsewhere)
  }
  t.strictSame(handled, ['GET /v1/users', 'POST /v1/users/1', 'DELETE /v1/users/1'])
})

t.test('requests without the cookie need nothing', async (t) => {
  const { send } = await service(t)
  for (const cookie of ['', 'other=1', 'session=', 'XSRF-TOKEN=x', 'xsession=1']) {
    const { statusCode, headers } = await send('POST', '/v1/users/1', { ...foreign, cookie })
    t.strictSame([statusCode, 'set-cookie' in headers], [200, false], cookie)
    t.notMatch(headers.vary ?? '', /sec-fetch/i)
  }
  t.equal((await send('GET', '/token', { cookie: '' })).body, '', 'and get no token')
})

t.test('routes that were declared before the plugin need a token, too', async (t) => {
  const app = Fastify()
  app.addContentTypeParser(form['content-type'], (_request, _payload, done) => done(null, {}))
  app.route({ method: ['GET', 'POST'], url: '/early', schema: { hide: true } as object, handler: () => ({}) })
  await app.register(xsrf, { cookies: ['session'], secret })
  const ask = async (method: Method, headers: Fields) =>
    (await app.inject({ method, url: '/early', headers: { ...headers, cookie: session } })).statusCode
  t.equal(await ask('POST', own), 403)
  t.equal(await ask('POST', { ...own, ...form }), 403)
  t.equal(await ask('GET', foreign), 200, 'it may be a page')
})

t.test('a token that bearer has verified replaces that of xsrf; a caller of the app does not', async (t) => {
  const issuer = await testIssuer()
  const good = `Bearer ${await issuer.token()}`
  const config = { bearer: { optional: true } }
  const appWith = (more: ConventionsOptions, route = {}) => {
    const app = Fastify()
    app.decorateRequest('caller', null)
    // Registered before the conventions, so these run first.
    app.addHook('onRequest', async (request) => {
      request.caller = { subject: '1', scopes: [], claims: {} }
      // A backend for a frontend makes a token of its cookie.
      if (request.headers.cookie?.includes('translated')) request.headers.authorization = good
    })
    app.register(conventions, { ...more, xsrf: { cookies: ['session'], secret } })
    app.register(async (child) => {
      child.post('/v1/users', route, async () => ({}))
    })
    return app
  }
  const [reading, unread] = [appWith({ bearer: issuer.options }, { config }), appWith({})]
  for (const [app, more, authorization, status, about] of [
    [reading, '', good, 200, 'verified'],
    [reading, '', undefined, 403, 'none'],
    [reading, '', 'Bearer bad', 401, 'not verified'],
    [reading, '', 'Basic Z29vZDpnb29k', 403, 'browsers send it'],
    [reading, '; a=translated', undefined, 403, 'not sent by the client'],
    [reading, '; a=translated', 'Bearer bad', 403, 'another one was sent'],
    [unread, '', good, 403, 'no bearer'],
  ] as const) {
    const headers = { cookie: session + more, ...(authorization !== undefined && { authorization }) }
    const { statusCode } = await app.inject({ method: 'POST', url: '/v1/users', headers })
    t.equal(statusCode, status, about)
  }
})

t.test('X-Forwarded-Host counts only from a proxy that Fastify trusts', async (t) => {
  for (const [trustProxy, status] of [
    [true, 200],
    [false, 403],
  ] as const) {
    const app = await withPlugins(Fastify({ trustProxy }), [xsrf, { cookies: ['session'], secret }])
    app.post('/v1/login', { config: { xsrf: { login: true } } }, async () => ({}))
    const headers = { host: 'api.example', origin: 'https://a.example', 'x-forwarded-host': 'a.example' }
    const { statusCode } = await app.inject({ method: 'POST', url: '/v1/login', headers })
    t.equal(statusCode, status, `trustProxy: ${trustProxy}`)
  }
})

t.test('the token is refused in another session, and a new one comes with the refusal', async (t) => {
  const { send } = await service(t)
  const token = tokenOf(await send('GET', '/v1/users'))
  const cookie = `session=other; XSRF-TOKEN=${token}`
  const refused = await send('POST', '/v1/users', { cookie, 'x-xsrf-token': token })
  isProblem(t, injected(refused), wrong)
  const next = tokenOf(refused)
  const retried = { cookie: `session=other; XSRF-TOKEN=${next}`, 'x-xsrf-token': next }
  t.equal((await send('POST', '/v1/users', retried)).statusCode, 200)
  const tossed = { ...retried, cookie: `session=evil; ${retried.cookie}` }
  isProblem(t, injected(await send('POST', '/v1/users', tossed)), wrong)
})

t.test('login: the response that begins a session has its token; logout has none', async (t) => {
  const { send } = await service(t)
  const old = tokenOf(await send('GET', '/v1/users'))
  for (const login of ['/login', '/login-by-header', '/login-by-response']) {
    for (const before of [{ cookie: '' }, { cookie: `${session}; XSRF-TOKEN=${old}`, 'x-xsrf-token': old }]) {
      const begun = await send('POST', login, before)
      t.match(begun.headers['cache-control'], /private|no-store/, login)
      const headers = { cookie: 'session=new', 'x-xsrf-token': tokenOf(begun) }
      t.equal((await send('POST', '/v1/users', headers)).statusCode, 200, login)
      const cookie = `session=new; XSRF-TOKEN=${tokenOf(begun)}`
      const ended = await send('POST', '/logout', { ...headers, cookie })
      t.equal(ended.statusCode, 200)
      t.notMatch(String(ended.headers['set-cookie']), /XSRF-TOKEN/)
    }
  }
})

t.test('login: another page cannot log its visitors in; a stale cookie does not prevent it', async (t) => {
  const { app, send, handled } = await service(t)
  for (const cookie of ['', session])
    isProblem(t, injected(await send('POST', '/login', { ...foreign, cookie })), elsewhere)
  isProblem(t, injected(await app.inject({ method: 'POST', url: '/login', headers: foreign })), elsewhere)
  t.strictSame(handled, [])
  t.equal((await send('POST', '/login')).statusCode, 200)
  t.equal((await send('POST', '/login', form, 'name=a')).statusCode, 200, 'a form without a token')
  t.equal((await app.inject({ method: 'POST', url: '/login' })).statusCode, 200, 'no browser')
})

t.test('forms send the token in a field, which validation does not see', async (t) => {
  const { send } = await service(t)
  const page = await send('GET', '/form', { 'sec-fetch-dest': 'document' })
  const token = /value="([\w-]+)"/.exec(page.body)?.[1] ?? ''
  t.equal(tokenOf(page), token, 'the page and the cookie have the same token')
  t.equal([page.headers['set-cookie']].flat().length, 1)
  const post = (payload: string, headers: Fields = {}) =>
    send('POST', '/v1/forms/1', { ...form, origin: 'null', ...headers }, payload)
  const served = { method: 'POST', body: { name: 'a' } }
  for (const [payload, headers] of [
    [`name=a&_csrf=${token}`, {}],
    ['name=a', { 'x-xsrf-token': token }],
    ['name=a&_csrf=', { cookie: 'a=b' }],
  ] as const)
    t.strictSame((await post(payload, headers)).json(), served, payload)
  t.strictSame((await post(`_csrf=${token}`)).json(), { method: 'POST', body: {} })
  for (const [payload, headers, problem] of [
    ['name=a', {}, missing],
    ['name=a&_csrf=x', {}, wrong],
    [`_csrf=${token}&_csrf=${token}`, {}, wrong],
    [`_csrf=${token}`, foreign, elsewhere],
    [`name=a&_csrf=${token}`, { 'x-xsrf-token': 'x' }, wrong],
    [`{"_csrf":"${token}"}`, { 'content-type': 'application/json' }, missing],
    [`_csrf=${token}`, { 'content-type': 'text/plain' }, missing],
  ] as const)
    isProblem(t, injected(await post(payload, headers)), problem, payload)
})

t.test('forms that override the method send the token in a field too', async (t) => {
  const { send } = await service(t)
  const token = tokenOf(await send('GET', '/v1/users'))
  const post = (payload: string, headers: Fields = {}) =>
    send('POST', '/v1/forms/1', { ...form, ...headers }, payload)
  for (const [payload, served] of [
    ['_method=PUT&name=a', { method: 'PUT', body: { name: 'a' } }],
    ['_method=DELETE', { method: 'DELETE' }],
    ['_method=DELETE&name=a', { method: 'DELETE', body: { name: 'a' } }],
  ] as const)
    t.strictSame((await post(`${payload}&_csrf=${token}`)).json(), served, payload)
  for (const method of ['PUT', 'DELETE'])
    isProblem(t, injected(await post(`_method=${method}&name=a`)), missing)
  const { statusCode } = await post(`_method=DELETE&_csrf=${token}`, foreign)
  t.equal(statusCode, 400, 'methodOverride refuses it before')
  const byHeader = { 'x-http-method-override': 'DELETE', 'content-type': 'text/plain' }
  isProblem(t, injected(await post('', byHeader)), missing)
})

t.test('multipart forms need a token like other forms', async (t) => {
  const part = (name: string, value: string, more = '') =>
    `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
  for (const attachFieldsToBody of ['keyValues', true, false] as const) {
    const { send } = await service(t, {}, (app) => app.register(multipart, { attachFieldsToBody }))
    const about = String(attachFieldsToBody)
    const token = tokenOf(await send('GET', '/v1/users'))
    const type = { 'content-type': 'multipart/form-data; boundary=b' }
    const post = (fields: string, headers: Fields = {}) =>
      send('POST', '/v1/users', { ...type, ...headers }, `${part('name', 'a')}${fields}--b--\r\n`)
    t.equal((await post('', { 'x-xsrf-token': token })).statusCode, 200, about)
    // A form that the handler reads has no token that could be checked before.
    const isParsed = attachFieldsToBody !== false
    if (isParsed) t.equal((await post(part('_csrf', token))).statusCode, 200, about)
    for (const [fields, headers, problem] of [
      ['', {}, missing],
      ['', { 'content-type': 'multipart/related; boundary=b' }, missing],
      [part('_csrf', token), foreign, elsewhere],
      [part('_csrf', 'x'), {}, isParsed ? wrong : missing],
      [part('_csrf', token) + part('_csrf', token), {}, isParsed ? wrong : missing],
      [part('_csrf', token, '; filename="f"'), {}, isParsed ? wrong : missing],
    ] as const)
      isProblem(t, injected(await post(fields, headers)), problem, `${about}: ${fields}`)
  }
})

t.test('reads by a cookie are refused to elements of other pages', async (t) => {
  const { app } = await service(t)
  const get = (url: string, headers: Fields, of = app) =>
    of.inject({ url, headers: { cookie: session, ...headers } })
  const script = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'script' }
  for (const url of ['/v1/users', '/v1/users/1', '/hidden-json']) {
    const refused = await get(url, script)
    isProblem(t, injected(refused), { status: 403, code: 'requested-with-missing' }, url)
    t.equal(refused.headers['cache-control'], 'no-store')
  }
  for (const [url, headers, about] of [
    ['/v1/users', { 'x-requested-with': 'fetch' }, 'X-Requested-With'],
    ['/v1/users', { ...script, cookie: 'a=b' }, 'no cookie'],
    ['/page', script, 'hidden from the OpenAPI document: may be a page'],
    ['/files/a.png', script, 'a wildcard'],
    ['/v1/pictures/1', script, 'config.xsrf.requestedWith is false'],
  ] as const)
    t.equal((await get(url, headers)).statusCode, 200, about)
  const { app: lenient } = await service(t, { requestedWith: false })
  t.equal((await get('/v1/users', script, lenient)).statusCode, 200)
  const excepted = lenient.conventions.report().exceptions.filter(({ plugin }) => plugin === 'xsrf')
  t.equal(excepted.map(({ route }) => route).join(), 'POST /hooks/pay')
})

t.test('caches: reads vary, refusals are not stored, public responses set no cookie', async (t) => {
  const { send } = await service(t)
  const get = (url: string, headers: Fields = {}) => send('GET', url, headers)
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
  const token = { cookie: `${session}; XSRF-TOKEN=${tokenOf(read)}`, 'x-xsrf-token': tokenOf(read) }
  for (const other of [await get('/v1/pictures/1'), await send('POST', '/v1/users', token)])
    t.notMatch(other.headers.vary ?? '', /Sec-Fetch/, 'what is not checked as a read does not vary')
  const unchanged = await get('/v1/users', { 'if-none-match': String(read.headers.etag) })
  t.equal(unchanged.statusCode, 304)
  t.match(unchanged.headers.vary, /Sec-Fetch-Dest/, 'RFC 9110 §15.4.5')
  const web = await get('/v1/response')
  t.equal(web.body, '{"a":1}')
  t.match(web.headers, { vary: /^Accept, Cookie/, 'cache-control': 'max-age=5, private' })
  t.ok(tokenOf(web))
})

t.test('the cookie: __Host- and Secure over HTTPS, readable, of this site only', async (t) => {
  const { send } = await service(t)
  t.match(cookieOf(await send('GET', '/v1/users')), /^XSRF-TOKEN=[\w-]+; Path=\/; SameSite=Strict$/)
  const secure = await send('GET', '/v1/users', { 'x-forwarded-proto': 'https' })
  t.match(cookieOf(secure), /^__Host-XSRF-TOKEN=[\w-]+; Path=\/; SameSite=Strict; Secure$/)
})

t.test('a route with config.xsrf: false, preflights and unknown paths are not checked', async (t) => {
  const cors = { origin: ['https://app.example'], credentials: true }
  const { app, send } = await service(t, {}, undefined, { cors })
  t.equal((await send('POST', '/hooks/pay', foreign)).statusCode, 200)
  isProblem(t, injected(await send('POST', '/nothing')), { status: 404, code: 'not-found' })
  const preflight = { origin: 'https://app.example', 'access-control-request-method': 'PUT' }
  t.equal((await send('OPTIONS', '/v1/users/1', preflight)).statusCode, 204)
  const listed = app.conventions.report().exceptions.filter(({ plugin }) => plugin === 'xsrf')
  for (const [name, rules, reason] of [
    ['POST /hooks/pay', ['origin', 'token', 'requestedWith'], 'config.xsrf is false'],
    ['GET /page', ['requestedWith'], 'hidden from the OpenAPI document: not part of the API'],
    ['GET /v1/pictures/:id', ['requestedWith'], 'config.xsrf.requestedWith is false'],
  ] as const)
    t.match(listed.find(({ route }) => route === name) ?? {}, { rules, reason })
})

t.test('origins: pages of a listed origin need a token, which a response gives them', async (t) => {
  const origin = 'https://app.example'
  const cors = { origin: [origin], credentials: true }
  const { send } = await service(t, { origins: [origin] }, undefined, { cors })
  const headers = { origin, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }
  isProblem(t, injected(await send('POST', '/v1/users', headers)), missing)
  const { body: token } = await send('GET', '/token', headers)
  const served = await send('POST', '/v1/users', { ...headers, 'x-xsrf-token': token })
  t.equal(served.statusCode, 200)
  t.equal(served.headers['access-control-allow-origin'], origin)
})

t.test('report changes nothing and counts; off does nothing', async (t) => {
  const { app, send } = await service(t, { mode: 'report' })
  const script = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'script' }
  for (const { statusCode, headers } of [
    await send('POST', '/v1/users', foreign),
    await send('POST', '/v1/users'),
    await send('GET', '/v1/users', script),
    await send('POST', '/v1/forms/1', form, 'name=a'),
    await send('POST', '/v1/users/1', { 'sec-fetch-site': 'same-site' }),
  ]) {
    t.equal(statusCode, 200)
    t.notOk('set-cookie' in headers)
    t.notMatch(headers.vary ?? '', /Sec-Fetch/)
  }
  t.match(app.conventions.report().observations, [
    { rule: 'origin', route: '/v1/users', count: 1, example: 'POST from https://evil.example' },
    { rule: 'token', route: '/v1/users', count: 1 },
    { rule: 'requestedWith', route: '/v1/users', count: 1, example: 'GET for script' },
    { rule: 'token', route: '/v1/forms/:id', count: 1 },
    { rule: 'origin', route: '/v1/users/:id', count: 1, example: 'POST from same-site' },
  ])
  const withField = await send('POST', '/v1/forms/1', form, 'name=a&_csrf=x')
  t.equal(withField.statusCode, 400, 'the field stays in the body')
  const { send: sendOff } = await service(t, { mode: 'off' })
  t.equal((await sendOff('POST', '/v1/users', foreign)).statusCode, 200)
  t.equal((await sendOff('GET', '/token')).statusCode, 200)
})

t.test('the OpenAPI document has the headers and the 403, where they are enforced', async (t) => {
  const pathsWith = async (options: Partial<XsrfOptions>) => {
    const { app } = await service(t, options, (app) => app.register(swagger, { openapi: {} }))
    return (await documentOf(app)).paths ?? {}
  }
  const [enforced, reported] = [await pathsWith({}), await pathsWith({ mode: 'report' })]
  for (const [method, path, description, names] of [
    ['post', '/v1/described', /^(?!.*element of a page).*no valid XSRF token/s, ['X-XSRF-TOKEN']],
    ['get', '/v1/described', /^(?!.*XSRF token).*element of a page/s, ['X-Requested-With']],
    ['post', '/login', /^(?!.*XSRF token).*page of another origin/s, []],
    ['get', '/v1/pictures/{id}', null, []],
  ] as const) {
    const { parameters = [], responses } = enforced[path]?.[method] ?? {}
    const found = parameters.filter(({ name }) => /^X-(?:XSRF|Req)/.test(String(name)))
    const told = found.map(({ name, schema, required = false }) => [name, Object(schema).type, required])
    // Other clients do not need it.
    const optional = names.map((name) => [name, 'string', false])
    t.strictSame(told, optional, path)
    t.match(responses?.[403] ?? null, description === null ? null : { description }, `${method} ${path}`)
    t.notOk(reported[path]?.[method]?.responses?.[403], `${method} ${path}: report`)
  }
})

t.test('bad options fail the registration, and do not show the secret', async (t) => {
  const good = { cookies: ['session'], secret }
  for (const [options, message] of [
    [{ secret }, /^xsrf\.cookies: expected at least one name/],
    [{ cookies: ['session'], secret: [] }, /^xsrf\.secret: expected at least one secret/],
    [{ cookies: ['a b'], secret }, /^xsrf\.cookies\[0\]: expected the name of a cookie/],
    [{ cookies: ['session'] }, /^xsrf\.secret: expected a text of at least 32 characters.*'undefined'$/],
    [{ cookies: ['session'], secret: 'short-secret' }, /^xsrf\.secret: .*received 'string'$/],
    [{ cookies: ['session'], secret: [secret, 'short-secret'] }, /^xsrf\.secret\[1\]: .*received 'string'$/],
    [{ ...good, origins: ['https://app.example/'] }, /^xsrf\.origins\[0\]: expected an origin/],
  ] as const) {
    const register = async () => Fastify().register(xsrf, options as unknown as XsrfOptions)
    const error = await register().then(String, String)
    t.match(error.replace(/^.*?: /, ''), message)
    t.notMatch(error, 'short-secret')
  }
  const reading = await appOf([xsrf, { ...good, secret: 'x'.repeat(32), mode: 'report' }])
  reading.get('/login', { config: { xsrf: { login: true } } }, async () => ({}))
  await reading.ready()
  t.match(reading.conventions.report().findings, [{ rule: 'login', route: 'GET /login', mode: 'report' }])
})

t.test('over a socket: several Cookie fields, and header fields that appear twice', async (t) => {
  const { app, send, handled } = await service(t)
  const { port } = await serve(t, app)
  const bytes = requestBytes('POST', '/v1/users/1', { cookie: 'a=b' })
  const twice = bytes.replace(/cookie: a=b\r\n/i, 'Cookie: a=b\r\nCookie: session=abc\r\n')
  t.match(await exchange(port, twice), /^HTTP\/1\.1 403 /)
  const token = tokenOf(await send('GET', '/v1/users'))
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
) {
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
  app.addHook('onRequest', async ({ method, url }) => void seen.push(`${method} ${url}`))
  app.addHook('preHandler', async ({ method, url }) => void handled.push(`${method} ${url}`))
  const page = { hide: true }
  for (const method of ['GET', 'POST', 'DELETE'])
    for (const url of ['/v1/users', '/v1/users/:id']) app.route({ method, url, handler: async () => ({}) })
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
  app.post('/login', login, async (_, reply) => reply.setCookie('session', 'new', { path: '/' }).send({}))
  const lines = ['a=b', 'session=new; HttpOnly']
  app.post('/login-by-header', login, async (_, reply) => reply.header('set-cookie', lines).send({}))
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
  const shared = { config: { caching: { cacheControl: { public: true, maxAge: 60 } } } }
  app.get('/v1/prices', shared, async () => ({}))
  app.get('/v1/response', async () => {
    const headers = { vary: 'Accept', 'cache-control': 'max-age=5', 'content-type': 'application/json' }
    return new Response('{"a":1}', { headers })
  })
  const schema = { response: { 200: { type: 'object', properties: {} } } }
  for (const method of ['GET', 'POST'])
    app.route({ method, url: '/v1/described', schema, handler: async () => ({}) })
  await app.ready()
  /** Sends a request of the own page, with the cookie. */
  const send = (method: Method, url: string, headers: Fields = {}, payload?: string | object) => {
    const request = { method, url, headers: { ...own, cookie: session, ...headers } }
    return app.inject(payload === undefined ? request : { ...request, payload })
  }
  return { app, handled, seen, send }
}

function cookieOf({ headers }: LightMyRequestResponse): string {
  const lines = [headers['set-cookie'] ?? []].flat()
  return lines.find((line) => /token=/i.test(line)) ?? ''
}

function tokenOf(response: LightMyRequestResponse): string {
  return /(?:^|-)XSRF-TOKEN=([\w-]+)/.exec(cookieOf(response))?.[1] ?? ''
}
