/** The probes find seeded defects, and none in an app that keeps the conventions. */
import cors from '@fastify/cors'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import t from 'tap'
import conventions, { serverOptions } from '../../src/index.js'
import { assertConventions, type ProbeRule, probeConventions } from '../../src/testing/index.js'

const [id, updated_at] = [
  { type: 'integer', format: 'int64' },
  { type: 'string', format: 'date-time' },
]
const item = { type: 'object', properties: { id, name: { type: 'string' }, updated_at } }
const list = { type: 'object', properties: { users: { type: 'array', items: item } } }
const rows = [5n, 3n, 1n].map((offset) => ({
  id: 9_007_199_254_740_992n + offset,
  name: `User ${offset}`,
  updated_at: '2026-01-01T00:00:00Z',
}))

const validators = async () => ({ etag: '"1"' })

/** A service that keeps the conventions. */
async function keptApp(): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  const json = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, json)
  await app.register(conventions)
  const config = { lists: { total: false, member: 'users' } }
  for (const [path, count] of [['/v1/users', 3] as const, ['/v1/admins/users', 1] as const])
    app.get(path, { schema: { response: { 200: list } }, config }, async ({ page }, reply) =>
      reply.list(rows.slice(0, Math.min(count, page.fetch))),
    )
  app.get(
    '/v1/users/:id',
    { schema: { response: { 200: item } }, config: { caching: { validators } } },
    async () => rows[0],
  )
  for (const method of ['POST', 'PUT', 'PATCH'])
    app.route({
      method,
      url: method === 'POST' ? '/v1/users' : '/v1/users/:id',
      schema: { body: { type: 'object' } },
      config: method === 'POST' ? {} : { caching: { validators } },
      handler: async (_request, reply) => reply.code(204).send(),
    })
  app.delete('/v1/users/:id', { config: { caching: { validators } } }, async (_request, reply) =>
    reply.code(204).send(),
  )
  return app
}

interface Sent {
  status: number
  headers: Record<string, string | undefined>
  body: string
}

type Asked = Pick<FastifyRequest, 'method' | 'url' | 'headers'>

/** Changes a response. */
type Defect = (sent: Sent, request: Asked) => void

/** An app in front of another one that changes its responses, as a proxy does. */
async function appBehind(defect: Defect): Promise<FastifyInstance> {
  const kept = await keptApp()
  await kept.ready()
  const app = Fastify({
    exposeHeadRoutes: false,
    frameworkErrors: (_error, request, reply) => answer(request, reply),
  })
  app.decorate('maintenance', kept.maintenance as never)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  const url: Record<string, string[]> = {
    '/v1/users': ['GET', 'HEAD', 'POST'],
    '/v1/users/:id': ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'],
  }
  for (const [path, method] of Object.entries(url)) app.route({ method, url: path, handler: answer })
  app.setNotFoundHandler(answer)

  async function answer({ method, url, headers, body }: FastifyRequest, reply: FastifyReply) {
    const { 'content-length': _, ...own } = headers
    const payload = typeof body === 'string' ? { payload: body } : {}
    const request = { method: method as 'GET', url, headers: own as Record<string, string>, ...payload }
    const answered = await kept.inject(request)
    const { 'content-length': length, ...fields } = answered.headers
    const { statusCode, body: text } = answered
    const sent: Sent = { status: statusCode, headers: fields as Sent['headers'], body: text }
    defect(sent, { method, url, headers })
    reply.code(sent.status).headers(sent.headers)
    return reply.send(sent.body === '' ? undefined : sent.body)
  }
  return app
}

type When = (sent: Sent, request: Asked) => boolean
type Change = (sent: Sent) => void

const always = () => true
const problem: When = ({ headers }) => headers['content-type']?.includes('problem') === true
const answered =
  (status: number, method = ''): When =>
  (sent, request) =>
    sent.status === status && request.method.endsWith(method)
const asked =
  (target: RegExp): When =>
  (_sent, { method, url }) =>
    target.test(`${method} ${url}`)
const field =
  (name: string, text: RegExp): When =>
  (_sent, { headers }) =>
    text.test(String(headers[name] ?? '(none)'))
const status =
  (to: number, headers: Sent['headers'] = {}): Change =>
  (sent) =>
    Object.assign(sent, { status: to, headers: { ...sent.headers, ...headers } })
const without =
  (name: string): Change =>
  ({ headers }) =>
    delete headers[name]
const header =
  (name: string, value: string): Change =>
  ({ headers }) =>
    Object.assign(headers, { [name]: value })
const body =
  (text: RegExp, by: string): Change =>
  (sent) =>
    Object.assign(sent, { body: sent.body.replace(text, by) })
const unquoted: Change = ({ headers }) => Object.assign(headers, { etag: headers.etag?.replaceAll('"', '') })
const trailing: Change = ({ headers }) => headers.etag && Object.assign(headers, { etag: `${headers.etag}x` })
const withoutHead: Change = ({ headers }) =>
  Object.assign(headers, headers.allow && { allow: headers.allow.replace(/, HEAD|HEAD, /, '') })

const unknown = asked(/ \/no-such/)
const unavailable: When = (...of) => of[0].status === 503 && unknown(...of)
const date = 'Fri, 20 Nov 2026 08:00:30 GMT'
const stack = '{"stack":"Error\\n    at file.js:1",'

type SeededDefect = readonly [what: string, rule: ProbeRule, when: When, change: Change, received?: RegExp]

const defects: readonly SeededDefect[] = [
  ['an error is HTML', 'problems', problem, header('content-type', 'text/html')],
  ['an error is not a problem document', 'problems', problem, header('content-type', 'application/json')],
  ['a GET fails without a problem', 'problems', asked(/^GET \/v1\/users$/), status(500)],
  ['a GET is a 400 without a problem', 'problems', asked(/^GET \/v1\/users$/), status(400)],
  ['a problem has no code', 'problems', problem, body(/"code"/, '"error"')],
  ['a problem has another status', 'problems', problem, body(/"status":\d+/, '"status":500')],
  ['an error has a stack trace', 'problems', problem, body(/\{/, stack)],
  ['caches store an error', 'problems', problem, without('cache-control')],
  ['an unknown path is 200', 'problems', unknown, status(200)],
  ['405 has no Allow', 'methods', answered(405), without('allow')],
  ['Allow lacks a method', 'methods', always, withoutHead],
  ['a path in uppercase is served', 'pathGuard', asked(/ .*[A-Z]/), status(200)],
  ['an encoded path leads away', 'pathGuard', asked(/%[67]/), status(301, { location: '/v1/users' })],
  ['there is no ETag', 'caching', always, without('etag'), /^etag: none$/],
  ['an ETag has no quotes', 'caching', always, unquoted, /^etag: [^"]+$/],
  ['an ETag has more after its quote', 'caching', always, trailing, /^etag: ".+"x$/],
  ['304 lacks Cache-Control', 'caching', answered(304), without('cache-control')],
  ['304 lacks Expires', 'caching', answered(200, 'GET'), header('expires', date), /^expires: none$/],
  ['304 has a Content-Type', 'caching', answered(304), header('content-type', 'application/json')],
  ['If-Match is ignored for DELETE', 'caching', answered(412, 'DELETE'), status(204)],
  ['If-Match is a 415 for DELETE', 'caching', answered(412, 'DELETE'), status(415)],
  ['If-Match is ignored for PATCH', 'caching', answered(412, 'PATCH'), status(204)],
  ['If-Match is ignored for PUT', 'caching', answered(412, 'PUT'), status(204)],
  ['ISO 8601 is read as an HTTP date', 'caching', field('if-modified-since', /\d/), status(304)],
  ['HEAD is 204', 'head', answered(200, 'HEAD'), status(204)],
  ['HEAD has another ETag', 'head', asked(/^HEAD /), header('etag', '"other"')],
  ['HEAD has another Vary', 'head', asked(/^HEAD /), header('vary', 'other')],
  ['HEAD has another Cache-Control', 'head', asked(/^HEAD /), header('cache-control', 'max-age=1')],
  ['a POST reads a broken body', 'bodies', asked(/^POST /), status(204)],
  ['a list is an array', 'responseRules', asked(/^GET \/v1\/users$/), body(/^\{"users".*/s, '[]')],
  ['an invalid limit is served', 'lists', asked(/limit=many/), status(200)],
  ['a page has more items than its limit', 'lists', asked(/limit=1$/), body(/\[/, '[{"id":1},')],
  ['a page has no Link', 'lists', asked(/limit=1$/), without('link')],
  ['no limit is accepted, but another error', 'lists', asked(/limit=/), status(500)],
  ['maintenance has no Retry-After', 'maintenance', always, without('retry-after'), /^retry-after: none$/],
  ['Retry-After has a unit', 'maintenance', answered(503), header('retry-after', '5 minutes')],
  ['maintenance leaves unknown paths 404', 'maintenance', unavailable, status(404)],
]

t.test('an app with the preset keeps all clauses', async (t) => {
  const app = await keptApp()
  t.teardown(() => app.close())
  const report = await assertConventions(app, { writes: true })
  t.strictSame(report.broken, [])
  t.strictSame(report.notProbed, [])
  t.ok(report.verdicts.length > 80, String(report.verdicts.length))
})

t.test('a route that the document does not show keeps what is not about the shape of an API', async (t) => {
  const app = Fastify(serverOptions())
  t.teardown(() => app.close())
  await app.register(conventions)
  app.get('/openapi.json', { schema: { hide: true } as object }, async () => ({
    openapi: '3.1.0',
    info: { title: 'Shop' },
    paths: {},
  }))
  const { broken, verdicts } = await probeConventions(app, { writes: true })
  t.strictSame(broken, [])
  const probed = new Set(verdicts.filter(({ url }) => url === '/openapi.json').map(({ rule }) => rule))
  t.strictSame([...probed].sort(), ['caching', 'head', 'methods', 'problems', 'securityHeaders'])
})

t.test('a list without pages, at `/` below a prefix, beside @fastify/cors, keeps all clauses', async (t) => {
  for (const forbidden of [false, true]) {
    const app = Fastify({ ...serverOptions(), ajv: { customOptions: { removeAdditional: false } } })
    await app.register(cors, { origin: ['https://app.example'] })
    await app.register(conventions)
    const querystring = { type: 'object', additionalProperties: !forbidden }
    app.register(
      async (users) =>
        users.get('/', { schema: { querystring, response: { 200: list } } }, async () => ({ users: rows })),
      { prefix: '/v1/users' },
    )
    const { notProbed } = await assertConventions(app)
    t.strictSame(notProbed, ['/v1/users?limit', '/v1/users/?limit', '*'])
    const exceptions = [{ url: '/v1/users*', except: ['lists'], reason: 'short' }] as const
    t.strictSame((await assertConventions(app, { exceptions })).notProbed, ['*'])
    await app.close()
  }
})

t.test('each seeded defect is found', async (t) => {
  for (const [what, rule, when, change, received] of defects) {
    const app = await appBehind((sent, request) => void (when(sent, request) && change(sent)))
    const { broken } = await probeConventions(app, { writes: true })
    const found = broken.filter(
      (verdict) => received === undefined || received.test(String(verdict.received)),
    )
    const rules = new Set(found.map((verdict) => verdict.rule))
    t.ok(rules.has(rule), `${what}: ${[...rules]}`)
    await app.close()
  }
})

t.test('an app in front that changes nothing, or the form of a field, keeps all clauses', async (t) => {
  for (const value of [undefined, '5', '120', date]) {
    const app = await appBehind(({ status, headers }) => {
      if (value === undefined) return
      if (headers['retry-after'] !== undefined) headers['retry-after'] = value
      if (headers.allow !== undefined) headers.allow = headers.allow.replace(/ /g, '')
      if (headers.link !== undefined) headers.link = headers.link.replaceAll('"', '')
      if (status === 304) headers.expires = date
    })
    const { broken } = await probeConventions(app, { writes: true })
    t.strictSame(broken, [], String(value))
    await app.close()
  }
})

t.test('an exception takes a route out, or with `except` single rules of it', async (t) => {
  const app = await keptApp()
  t.teardown(() => app.close())
  const probe = async (...exceptions: { url: string; except?: ProbeRule[]; reason: string }[]) => {
    const { verdicts } = await probeConventions(app, { exceptions })
    return new Set(verdicts.map(({ rule, url }) => `${rule} ${url}`))
  }
  const all = await probe()
  const url = '/v1/users/:id'
  const reason = 'of another team'
  t.ok(all.has(`caching ${url}`) && all.has(`methods ${url}`), [...all].join())
  const withoutRule = await probe({ url, except: ['caching'], reason })
  const ofRule = [...all].filter((one) => !withoutRule.has(one))
  t.strictSame(ofRule, [`caching ${url}`])
  const withoutRoute = await probe({ url, reason })
  const ofRoute = [...all].filter((one) => !withoutRoute.has(one))
  const expected = [...all].filter((one) => one.endsWith(` ${url}`))
  t.strictSame(ofRoute, expected)
})

t.test('routes are read with their constraints, and only where their parameters are known', async (t) => {
  const tenant = {
    name: 'tenant',
    validate: () => true,
    storage: () => new Map<string, never>() as never,
    deriveConstraint: () => 'b',
  }
  const app = Fastify({ routerOptions: { constraints: { tenant } } })
  t.teardown(() => app.close())
  const ofNames = ['/users/:id/a', '/users/:name/b', '/users/:key/c']
  const paths = ['/', '/users', ...ofNames, '/files/*', '/v1/:a-:b', '/shops/:id']
  const lists: Record<string, object> = {
    '/orders': { items: [], orders: [{ id_str: '8', id: 9 }] },
    '/teams': { teams: [{ team_id_str: '6', id_str: '7' }] },
    '/gadgets': { gadgets: [{ id_str: '3', id: 4 }] },
    '/things': { things: [{ id: 2 }] },
    '/shops': { shops: [{ name: 'one without an id' }] },
    '/nothing': { nothing: [] },
  }
  const ids = ['/teams/:team_id', '/gadgets/:gadget_id', '/things/:thing']
  const below = ['/orders/:id', '/orders/:id/items/:item', ...ids]
  for (const path of [...paths, ...Object.keys(lists), ...below])
    app.get(path, async () => lists[path] ?? { id: 5 })
  app.get('/two', { constraints: { version: '2.0.0' } }, async () => ({ id: 5, id_str: '5' }))
  app.get('/tenant', { constraints: { tenant: 'a' } }, async () => ({ id: 5 }))
  app.get('/host', { constraints: { host: 'a.example' } }, async () => ({ id: 5 }))
  app.get('/text', async () => 'text')
  app.post('/calls', async () => ({}))
  app.decorate('maintenance', { isPlanned: true } as never)
  const params = (name: string, url: string) => (url.startsWith('/users') ? `a/${name}` : undefined)
  const { verdicts, notProbed } = await probeConventions(app, { params })
  const read = verdicts.filter(({ rule }) => rule === 'integerTwins').map(({ request }) => request)
  const ofLists = '/orders /orders/8 /teams /teams/6 /gadgets /gadgets/3 /things /things/2'.split(' ')
  const plain = ['/', '/nothing', '/shops', '/users', ...ofLists].map((path) => `GET ${path}`)
  const constrained = ['GET /host, host: a.example', 'GET /two, accept-version: 2.0.0']
  const ofUsers = ['a', 'b', 'c'].map((last) => `GET /users/a%2Fid/${last}`)
  t.strictSame(read.sort(), [...plain, ...constrained, ...ofUsers].sort())
  const unpaged = Object.keys(lists).map((path) => `${path}?limit`)
  const left = ['/files/*', '/orders/:id/items/:item', '/shops/:id', '/v1/:a-:b', ...unpaged]
  t.strictSame([...notProbed].sort(), left.sort())
  const rulesOf = (path: string) => new Set(verdicts.flatMap(({ url, rule }) => (url === path ? rule : [])))
  t.strictSame([...rulesOf('/calls')].sort(), ['methods', 'problems'])
  t.strictSame([...rulesOf('/text')].sort(), ['methods', 'pathGuard', 'problems'])
  t.ok(rulesOf('/users/:id/b').has('integerTwins'), 'a parameter with several names has the first one')
  t.notOk(rulesOf('/two').has('fields'), 'there is nothing to select of one member and its twin')
})

t.test('integers without the twin that they need', async (t) => {
  const without = 'id: 9007199254740993 without a twin'
  const others = '"none":[],"none_str":"x","a":[{}],"a_str":"x","b":[null],"c":9007199254740991,"d":1.5'
  for (const [json, received] of [
    ['{"id":9007199254740993}', without],
    ['{"id":-9007199254740992.0}', 'id: -9007199254740992 without a twin'],
    ['{"a":{"id":9007199254740993}}', without],
    ['{"a":[5,[{"id":9007199254740993}]]}', without],
    ['{"ids":[1,9007199254740993]}', 'ids: 1,9007199254740993 without a twin'],
    ['{"id":5,"id_str":"6"}', 'id: 5 with the twin 6'],
    ['{"ids":[1,{}],"ids_str":"x","more":[null,5],"more_str":["6"]}', 'more: ,5 with the twin 6'],
    ['{"ids":[5],"idsStr":["6"]}', 'ids: 5 with the twin 6'],
    [`{"id":5,"id_str":"5",${others}}`, null],
  ] as const) {
    const app = Fastify()
    app.get('/x', ({ headers }, reply) =>
      reply.type('application/json').send(headers.authorization === 'mine' ? json : '{}'),
    )
    const { verdicts } = await probeConventions(app, { headers: { authorization: 'mine' } })
    const verdict = verdicts.find(({ rule }) => rule === 'integerTwins')
    t.match(verdict, { received }, json)
    await app.close()
  }
})

/** Of an app without conventions, without the lines about problems of its routes. */
const bareReport = `27 of 40 clauses are broken
problems * | request: GET /no-such-path-of-a-probe | expected: a problem document | received: cache-control: undefined
problems * | request: HEAD /no-such-path-of-a-probe | expected: a problem document | received: cache-control: undefined
problems * | request: GET /%zz | expected: a problem document | received: cache-control: undefined
securityHeaders * | request: GET /no-such-path-of-a-probe | expected: X-Content-Type-Options: nosniff | received: x-content-type-options: none
methods /1 | request: DELETE /1 | expected: Allow with GET | received: allow: none
methods /1 | request: OPTIONS /1 | expected: status 204 | received: status 404
methods /v1/user-list | request: DELETE /v1/user-list | expected: Allow with GET, HEAD, PUT | received: allow: none
methods /v1/user-list | request: OPTIONS /v1/user-list | expected: status 204 | received: status 404
pathGuard /v1/user-list | request: GET /v1/%75ser-list | expected: status 404 or 400 | received: status 200
securityHeaders /v1/user-list | request: GET /v1/user-list | expected: X-Content-Type-Options: nosniff | received: x-content-type-options: none
head /v1/user-list | request: HEAD /v1/user-list | expected: the header fields of the GET, and no body | received: content-type: undefined
caching /v1/user-list | request: GET /v1/user-list | expected: Cache-Control | received: none
caching /v1/user-list | request: GET /v1/user-list, if-none-match: "1" | expected: status 304 | received: status 200
caching /v1/user-list | request: GET /v1/user-list, if-none-match: * | expected: 304 with the fields of RFC 9110 §15.4.5 and no content | received: content-location: /
caching /v1/user-list | request: GET /v1/user-list, if-none-match: W/"1" | expected: status 304 | received: status 200
caching /v1/user-list | request: GET /v1/user-list, if-none-match: "no-such-tag", "1" | expected: status 304 | received: status 200
caching /v1/user-list | request: GET /v1/user-list, if-match: "no-such-tag" | expected: status 412 | received: status 200
fields /v1/user-list | request: GET /v1/user-list?fields=id | expected: id alone | received: name, at too
fields /v1/user-list | request: GET /v1/user-list?fields=no_such_field | expected: status 400 | received: status 200
bodies /v1/user-list | request: PUT /v1/user-list, content-type: application/json | expected: status 400 or 415 | received: status 201
bodies /v1/user-list | request: PUT /v1/user-list, content-type: text/x-no-such-type | expected: status 415 | received: status 201
caching /v1/user-list | request: PUT /v1/user-list, if-match: "no-such-tag", content-type: application/json | expected: status 412 or 400 or 415 or 422 | received: status 201
not probed, because \`limit\` has no effect: /v1/user-list?limit
not probed, because no item is known: /users/:id`

t.test('the error of an assertion says what was sent, what is expected, and what has come', async (t) => {
  const app = Fastify({ exposeHeadRoutes: false })
  t.teardown(() => app.close())
  const users = [1, 2].map((id) => ({ id, name: 'Ada', at: null }))
  const fields = { etag: '"1"', vary: 'origin', 'content-location': '/v1/users' }
  const answer = async ({ headers }: FastifyRequest, reply: FastifyReply) =>
    headers['if-none-match'] === '*'
      ? reply
          .headers({ ...fields, 'content-location': '/' })
          .code(304)
          .send()
      : reply.headers(fields).send({ userList: users, next: 2 })
  app.get('/v1/user-list', answer)
  app.head('/v1/user-list', async (_request, reply) => reply.headers(fields).send())
  app.put('/v1/user-list', { onRequest: async (_request, reply) => reply.code(201).send() }, answer)
  app.get('/1', async (_request, reply) => reply.code(301).header('location', '/v1/users').send())
  app.get('/users/:id', async () => ({}))
  app.setNotFoundHandler(({ method }, reply) => reply.code(method === 'DELETE' ? 405 : 404).send())
  const error = await assertConventions(app, { writes: true }).catch((error: Error) => error)
  t.match(error, { name: 'AssertionError' })
  const lines = String((error as Error).message)
    .replaceAll('\n  ', ' | ')
    .split('\n')
  t.equal(lines.filter((line) => !line.startsWith('problems /')).join('\n'), bareReport)
  const headers = { a: 1, b: 'c' } as unknown as Record<string, string>
  const message = /^probeConventions.headers: expected an object of texts/
  await t.rejects(probeConventions(app, { headers }), { message })
})
