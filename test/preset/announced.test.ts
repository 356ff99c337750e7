/**
 * What `report` announces: over one app, bare, in `report` and in `enforce` mode, requests as they come over the wire. In
 * `report` mode the bytes are those of the bare app, and each difference of `enforce` was observed, with its effect. With
 * `off` the bytes are those of the bare app, too.
 */
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { type ConventionsOptions, type Observation, ProblemError } from '../../src/index.js'
import { exchange, parseAnswers, type RawAnswer, requestBytes, withoutDate } from '../support/raw.js'
import { serve } from '../support/serve.js'

type Answer = Pick<RawAnswer, 'status' | 'headers' | 'body'>

/** The conventions that may add or change a header field. */
const pluginsOf: Readonly<Record<string, readonly string[]>> = {
  ratelimit: ['rateLimit'],
  'ratelimit-policy': ['rateLimit'],
  'cache-control': ['caching'],
  etag: ['caching'],
  'last-modified': ['caching'],
  expires: ['caching'],
  vary: ['caching', 'cors'],
  link: ['lists', 'versions'],
  deprecation: ['versions'],
  sunset: ['versions'],
  'content-location': ['selfAlias'],
}

/** What follows from the body. */
const framing = 'content-length transfer-encoding connection keep-alive date'.split(' ')

/** What Node.js answers itself, without a hook, unless `enforce` takes it over. */
const answeredByNode = { 'expects something else': 'docs/report.md says so' }

const origin = 'https://a.example'
const options: ConventionsOptions = {
  versions: { versions: { 1: {}, 2: { deprecated: '2026-01-01', sunset: '2027-01-01' } } },
  cors: { origin: [origin] },
}

const name = { type: 'string' }
const date = { type: 'string', format: 'date-time' }
const user = { type: 'object', properties: { id: { type: 'integer' }, name, updated_at: date } }
const account = { type: 'object', properties: { id: { type: 'integer', format: 'int64' }, name } }
const updated_at = '2026-11-19T08:00:00Z'

/** What a handler may throw. */
const thrown: readonly unknown[] = [
  ...['broken', null, undefined, 42, ['broken'], { statusCode: 404, message: 'gone' }],
  Object.assign(new Error('broken'), { statusCode: 502, code: 'BROKEN', headers: { 'x-a': '1' } }),
  new ProblemError('conflict', { status: 409, detail: 'twice', headers: { 'x-a': '1' } }),
]
const phases = ['onRequest', 'preValidation', 'preHandler', 'preSerialization', 'onSend']

/** Declares routes that keep the rules of the boot, and a few responses that do not keep those of requests. */
function addRoutes(app: FastifyInstance): void {
  const returns = (value: unknown) => async () => value
  const users = { type: 'object', properties: { users: { type: 'array', items: user } } }
  const ada = { id: 1, name: 'Ada', updated_at }
  app.get('/v1/users', { schema: { response: { 200: users } } }, returns({ users: [ada] }))
  app.get('/v1/users/:id', { schema: { response: { 200: user } } }, returns(ada))
  app.post('/v1/users', { schema: { body: user, response: { 201: user } } }, async (request, reply) =>
    reply.code(201).send(request.body),
  )
  app.put('/v1/users/:id', { schema: { body: user } }, async (request) => request.body)
  app.delete('/v1/users/:id', async (_request, reply) => reply.code(204).send())
  const big = { id: 2n ** 60n + 1n, name: 'Ada' }
  app.get('/v1/accounts/:id', { schema: { params: account, response: { 200: account } } }, returns(big))
  app.post<{ Body: { id?: unknown } }>('/v1/accounts', { schema: { body: account } }, async ({ body }) => ({
    kind: typeof body.id,
  }))
  app.post('/v1/echoes', async (request) => ({ echo: request.body ?? null }))
  const ofApp = { 'cache-control': 'public, max-age=60', vary: 'Accept-Language', etag: '"own"' }
  const sent: Readonly<Record<string, (reply: FastifyReply) => unknown>> = {
    names: () => ({ name: 'Ada' }),
    headers: (reply) => reply.headers(ofApp).send({ name: 'Ada' }),
    ages: (reply) => reply.header('cache-control', 'max-age=60').send({ name: 'Ada' }),
    leftovers: (reply) => reply.code(410).headers(ofApp).type('text/plain').send('gone'),
    moves: (reply) => reply.redirect('/v1/users', 302),
    faults: () => Promise.reject(new Error('broken')),
    conflicts: (reply) => reply.code(409).send({ message: 'twice' }),
    streams: (reply) => reply.code(404).send(Readable.from(['gone'])),
    voids: (reply) => reply.code(404).send(),
    refusals: (reply) => {
      reply.code(418)
      throw new Error('broken')
    },
    nothings: (reply) => reply.callNotFound(),
  }
  for (const [index, value] of thrown.entries())
    app.get(`/v1/thrown/${index}`, async () => Promise.reject(value))
  for (const phase of phases) {
    const hook = { [phase]: async () => Promise.reject(new Error('broken')) }
    app.get(`/v1/hooks/${phase.toLowerCase()}`, hook, returns({}))
  }
  const needs = { response: { 200: { ...user, required: ['email'] } } }
  app.get('/v1/gaps', { schema: needs }, returns(ada))
  for (const [name, send] of Object.entries(sent)) app.get(`/v1/${name}`, async (_, reply) => send(reply))
  const expires = 'Fri, 01 Oct 2027 00:00:00 GMT'
  const caching = { cacheControl: { maxAge: 60 }, expires, vary: ['accept-language'] }
  app.get('/v1/articles', { config: { caching } }, returns({ articles: [] }))
  const validators = returns({ etag: '"1"' }) as () => Promise<{ etag: string }>
  app.put('/v1/articles/:id', { config: { caching: { validators } } }, returns({ id: 1 }))
  app.get('/v1/lists', { config: { lists: {} } }, returns({ lists: [{ id: 1, created_at: updated_at }] }))
  app.get('/v2/users', returns({ users: [] }))
  app.get('/v1/quotas', { config: { rateLimit: { max: 1 } } }, returns({ name: 'Ada' }))
}

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
type Fields = Readonly<Record<string, string>>
const post = (path: string, body?: string, headers: Fields = json) =>
  requestBytes('POST', path, headers, body)
const put = (headers: Fields, path = '/v1/articles/1') =>
  requestBytes('PUT', path, { ...json, ...headers }, '{"id":1}')
const echo = (headers: Fields, body = '') =>
  post('/v1/echoes', body, { 'content-length': String(body.length), ...headers })
const gets = (path: string, headers: Fields = {}) => requestBytes('GET', path, headers)
const typed = (type: string, body = '{"a":1}') => echo({ 'content-type': type }, body)
const raw = (start: string, ...lines: readonly string[]) =>
  [`${start} HTTP/1.1`, ...lines, 'Connection: close', '', ''].join('\r\n')
const override = (method: string) => ({ 'x-http-method-override': method })
const ofUser = '{"name":"Ada"}'
const key = (value: string) => post('/v1/users', ofUser, { ...json, 'idempotency-key': value })

/** The requests, as they come over the wire, by what they are. */
const requests: Readonly<Record<string, string>> = {
  // What is good.
  item: gets('/v1/users/1'),
  'head of an item': requestBytes('HEAD', '/v1/users/1'),
  'without a schema': gets('/v1/names'),
  'headers of the app': gets('/v1/headers'),
  'headers of the app, with credentials': gets('/v1/ages', { authorization: 'Bearer x' }),
  'an error with caching headers': gets('/v1/leftovers'),
  redirect: gets('/v1/moves'),
  'a version that is deprecated': gets('/v2/users'),
  'caching of the route': gets('/v1/articles'),
  'page of a list': gets('/v1/lists?limit=1'),
  create: post('/v1/users', ofUser),
  // Errors.
  fault: gets('/v1/faults'),
  conflict: gets('/v1/conflicts'),
  ...Object.fromEntries(
    [
      ...'streams voids refusals nothings gaps'.split(' '),
      ...thrown.map((_, index) => `thrown/${index}`),
      ...phases.map((phase) => `hooks/${phase.toLowerCase()}`),
    ].map((path) => [path, gets(`/v1/${path}`)]),
  ),
  'unknown path': gets('/v1/nothing'),
  'a method without a route': requestBytes('DELETE', '/v1/users'),
  'a method that no route has': requestBytes('PROPFIND', '/v1/users'),
  'a method that Node.js does not know': requestBytes('NONSENSE', '/v1/users'),
  options: requestBytes('OPTIONS', '/v1/users'),
  trace: requestBytes('TRACE', '/v1/users'),
  // Targets.
  uppercase: gets('/v1/Users'),
  encoded: gets('/v1/%75sers'),
  'malformed escape': gets('/v1/%zz'),
  'a very long path': gets(`/v1/users/${'a'.repeat(5000)}`),
  'a very long query': gets(`/v1/users?q=${'a'.repeat(9000)}`),
  fields: gets('/v1/users?fields=name'),
  'unknown fields': gets('/v1/users?fields=nope'),
  // A list route is one in each mode.
  'a limit': gets('/v1/lists?limit=5'),
  // Header fields.
  'without Host': raw('GET /v1/users'),
  'two Hosts': raw('GET /v1/users', 'Host: a', 'Host: b'),
  'Accept of HTML': gets('/v1/users', { accept: 'text/html' }),
  'Accept of nothing': gets('/v1/users', { accept: '*/*;q=0' }),
  'Accept that is malformed': gets('/v1/users', { accept: 'json' }),
  'expects 100-continue': echo({ ...json, expect: '100-continue' }, '{"a":1}'),
  'expects something else': echo({ ...json, expect: '200-ok' }, '{"a":1}'),
  origin: gets('/v1/users', { origin }),
  'origin that is not allowed': gets('/v1/users', { origin: 'https://b.example' }),
  preflight: requestBytes('OPTIONS', '/v1/users', { origin, 'access-control-request-method': 'GET' }),
  // Preconditions.
  'If-None-Match of the tag of the app': gets('/v1/headers', { 'if-none-match': '"own"' }),
  'If-None-Match of anything': gets('/v1/users/1', { 'if-none-match': '*' }),
  'If-Modified-Since': gets('/v1/users/1', { 'if-modified-since': 'Thu, 19 Nov 2026 08:00:00 GMT' }),
  'If-Match that fails': put({ 'if-match': '"x"' }),
  'If-Match that holds': put({ 'if-match': '"1"' }),
  'write without a precondition': put({}),
  'If-Match without validators': put({ 'if-match': '"x"' }, '/v1/users/1'),
  // Bodies.
  'not UTF-8': echo(json, '{"a":"\xff"}'),
  'not UTF-8, with a schema': post('/v1/users', '{"name":"\xff"}', { ...json, 'content-length': '12' }),
  'charset that is unknown': typed('application/json; charset=x'),
  'coding that is unknown': echo({ ...json, 'content-encoding': 'x' }, '{"a":1}'),
  'gzip without gzip': echo({ ...json, 'content-encoding': 'gzip' }, '{"a":1}'),
  'empty body of JSON': post('/v1/echoes', undefined, { ...json, 'content-length': '0' }),
  'empty body, to delete': requestBytes('DELETE', '/v1/users/1', { ...json, 'content-length': '0' }),
  'empty chunked body': post('/v1/echoes', '0\r\n\r\n', { ...json, 'transfer-encoding': 'chunked' }),
  'without a type': echo({}, '{"a":1}'),
  'malformed type': typed('nonsense', 'x'),
  'type without a parser': typed('text/html', 'x'),
  'merge patch': typed('application/merge-patch+json'),
  'malformed JSON': echo(json, '{"a":'),
  'JSON with a prototype': echo(json, '{"__proto__":{}}'),
  'invalid by the schema': post('/v1/users', '{"id":"x"}'),
  'body that is too large': post('/v1/echoes', undefined, { ...json, 'content-length': '2000000' }),
  'unsafe integer, undeclared': echo(json, '{"id":9007199254740993}'),
  'unsafe integer, declared': post('/v1/accounts', '{"id":9007199254740993}'),
  'twin alone': post('/v1/accounts', '{"id_str":"9007199254740993"}'),
  'twins that differ': post('/v1/accounts', '{"id":7,"id_str":"8"}'),
  'integer beyond int64': post('/v1/accounts', '{"id":99999999999999999999}'),
  'integer of a path': gets('/v1/accounts/9007199254740993'),
  // Method override.
  'override by a header': post('/v1/users/1', undefined, { ...override('DELETE'), 'content-length': '0' }),
  'override that is invalid': post('/v1/users', '{}', { ...json, ...override('TRACE') }),
  'override by a form': post('/v1/users/1', '_method=DELETE', form),
  // Idempotency.
  'idempotency key': key('"k1"'),
  'idempotency key that is malformed': key('"'),
  // Quotas.
  'first request of a quota': gets('/v1/quotas'),
  'request beyond a quota': gets('/v1/quotas'),
}

t.test('each difference of enforce is announced by report, and report changes no byte', async (t) => {
  const [bare, off] = [await appWith(t, null), await appWith(t, 'off')]
  const [report, enforce] = [await appWith(t, 'report'), await appWith(t, 'enforce')]
  for (const [name, bytes] of Object.entries(requests)) {
    const before = await exchange(bare.port, bytes)
    const known = report.observed()
    t.equal(withoutDate(await exchange(report.port, bytes)), withoutDate(before), `${name}: no byte changes`)
    t.equal(withoutDate(await exchange(off.port, bytes)), withoutDate(before), `${name}: nor with mode off`)
    const observed = report.observed().filter((one) => !known.some((old) => same(old, one)))
    const after = await exchange(enforce.port, bytes)
    if (name in answeredByNode) continue
    t.strictSame(unannounced(answerOf(before), answerOf(after), observed), [], name)
  }
})

/** Returns the differences between two responses that no observation announces, and observations without a difference. */
function unannounced(before: Answer, after: Answer, observed: readonly Observation[]): string[] {
  const faults: string[] = []
  const statuses = observed.flatMap(({ status }) => status ?? [])
  const isChanged = observed.some(({ effect }) => effect === 'changed')
  const isRefused = after.status >= 400 && statuses.includes(after.status)
  // A change may be one of an error: 404 becomes 405.
  const isOtherError = isChanged && before.status >= 400
  if (after.status !== before.status && !isRefused && !isOtherError && !(isChanged && after.status < 400))
    faults.push(`status ${before.status}, then ${after.status}`)
  for (const status of statuses) {
    // Whether it holds is not evaluated.
    const isOpen = observed.some(({ rule }) => rule === 'precondition')
    if (after.status < 400 && !isOpen)
      faults.push(`a refusal with ${status} was announced, and it is ${after.status}`)
  }
  if (isRefused) return withObserved(faults, observed)
  if (after.body !== before.body && !isChanged) faults.push(`body ${before.body}, then ${after.body}`)
  const names = new Set([...Object.keys(before.headers), ...Object.keys(after.headers)])
  for (const name of names) {
    const [one, other] = [before.headers[name], after.headers[name]]
    if (one === other || framing.includes(name)) continue
    const effects = one === undefined ? ['header added', 'changed'] : ['changed']
    const plugins =
      pluginsOf[name] ?? (name.startsWith('access-control-') ? ['cors'] : ['securityHeaders', 'problems'])
    // The headers of another response belong to the change.
    const isOfBody = observed.some(({ plugin, effect }) => plugin === 'problems' && effect === 'changed')
    const isAnnounced = observed.some(
      ({ plugin, effect }) => plugins.includes(plugin) && effects.includes(effect),
    )
    const isOf304 = after.status === 304 && other === undefined && isChanged
    if (!isAnnounced && !isOfBody && !isOf304) faults.push(`${name}: ${one}, then ${other}`)
  }
  return withObserved(faults, observed)
}

function withObserved(faults: readonly string[], observed: readonly Observation[]): string[] {
  return faults.length === 0 ? [] : [...faults, `observed: ${observed.map(textOf).join('; ')}`]
}

const textOf = ({ plugin, rule, effect, status }: Observation) =>
  `${plugin}.${rule} ${effect} ${status ?? ''}`.trim()

const same = (one: Observation, other: Observation) =>
  textOf(one) === textOf(other) && one.route === other.route && one.count === other.count

async function appWith(t: Test, mode: 'report' | 'enforce' | 'off' | null) {
  const app: FastifyInstance = Fastify()
  if (mode !== null) await app.register(conventions, { ...options, mode })
  addRoutes(app)
  const { port } = await serve(t, app)
  return { port, observed: () => (mode === null ? [] : app.conventions.report().observations) }
}

const answerOf = (bytes: string): Answer => parseAnswers(bytes)[0] ?? { status: 0, headers: {}, body: '' }
