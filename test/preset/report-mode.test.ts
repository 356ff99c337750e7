import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type RouteHandlerMethod } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { ProblemError } from '../../src/index.js'
import { keepLogs, levels } from '../support/logs.js'
import { exchange, requestBytes } from '../support/raw.js'
import { serve } from '../support/serve.js'

const json = { 'content-type': 'application/json' }
const named = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }

/** Values that a service may throw or send as errors, under the path that does. */
const thrown: Readonly<Record<string, unknown>> = {
  error: new Error('broken'),
  string: 'broken',
  null: null,
  undefined: undefined,
  number: 42,
  object: { statusCode: 404, message: 'gone' },
  array: ['broken'],
  gateway: Object.assign(new Error('broken'), { statusCode: 502, code: 'BROKEN', headers: { 'x-a': '1' } }),
  problem: new ProblemError('conflict', { status: 409, detail: 'twice', headers: { 'x-a': '1' } }),
}

/** Responses that handlers write themselves, under the path that does. */
const written: Readonly<Record<string, RouteHandlerMethod>> = {
  json: async (_request, reply) => reply.code(404).send({ message: 'gone' }),
  text: async (_request, reply) => reply.code(404).send('gone'),
  html: async (_request, reply) => reply.code(404).type('text/html').send('<h1>Gone</h1>'),
  empty: async (_request, reply) => reply.code(404).send(),
  stream: async (_request, reply) => reply.code(404).send(Readable.from(['gone'])),
  late: async (_request, reply) => {
    reply.code(418)
    throw new Error('broken')
  },
  unserialized: async () => ({}),
  missing: async (_request, reply) => reply.callNotFound(),
}

const phases = ['onRequest', 'preValidation', 'preHandler', 'preSerialization', 'onSend'] as const

const requests: readonly string[] = [
  ...[
    ...['/', '/nothing', '/V1/Nothing', '/v1/%55sers', '/%zz', `/v1/users/${'a'.repeat(200)}`],
    ...['/v1/Users', '/v1/users/AbC', '/v1/users/a%20b?name=A%20b', '/v1/get_all_users'],
    ...Object.keys(thrown).map((name) => `/v1/thrown/${name}`),
    ...Object.keys(written).map((name) => `/v1/written/${name}`),
    ...phases.map((name) => `/v1/hooks/${name}`),
    ...['', '?fields=id', '?fields=nothing', '?limit=x'].map((query) => `/v1/payments/7${query}`),
    ...['', '?before_id=x', '?fields=id'].map((query) => `/v1/payments${query}`),
  ].flatMap((target) => [requestBytes('GET', target), requestBytes('HEAD', target)]),
  ...['text/html', '*/*;q=0'].map((accept) => requestBytes('GET', '/v1/Users', { accept })),
  ...['DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'].map((method) => requestBytes(method, '/v1/Users')),
  ...['{"name":1}', '{"name":', '{"__proto__":{}}', '{}', '"text"'].map((body) =>
    requestBytes('POST', '/v1/orders', json, body),
  ),
  ...['text/plain', 'text/html', 'nonsense'].map((type) =>
    requestBytes('PATCH', '/v1/orders', { 'content-type': type }, 'x'),
  ),
  ...['0', '2000000'].map((length) =>
    requestBytes('POST', '/v1/orders', { ...json, 'content-length': length }),
  ),
  requestBytes('GET', 'http://localhost/v1/Users'),
  requestBytes('OPTIONS', '*'),
  'GET /v1/Users HTTP/1.1\r\nConnection: close\r\n\r\n',
  'GET /v1/Users HTTP/1.0\r\n\r\n',
  'NONSENSE\r\n\r\n',
]

for (const mode of ['report', 'off'] as const) {
  t.test(`mode ${mode}: not one byte of any response changes`, async (t) => {
    const bare = await twin(t, null)
    const conventional = await twin(t, mode)

    for (const request of requests) {
      const expected = await exchange(bare.port, request)
      const received = await exchange(conventional.port, request)
      t.equal(withoutDate(received), withoutDate(expected), request.slice(0, request.indexOf('\r\n')))
    }
  })
}

t.test('refusals and changes are counted per rule and route, with the first example', async (t) => {
  const { app } = await twin(t, 'report')
  for (const url of ['/v1/Users', '/v1/Users?name=B', '/V1/x', '/V2/x', '/v1/users/AbC', '/v1/users/A%20b']) {
    await app.inject(url)
  }
  await app.inject({ url: '/v1/Users', headers: { accept: 'text/html' } })
  await app.inject('/v1/written/json')
  await app.inject('/v1/thrown/error')

  const seen = app.conventions.report().observations.map((one) => {
    return `${one.plugin}.${one.rule} ${one.route}: ${one.count}, first ${one.example}`
  })
  for (const expected of [
    'pathGuard.uppercase GET /v1/Users: 3, first /v1/Users',
    'pathGuard.uppercase *: 2, first /V1/x: 404 anyway',
    'pathGuard.uppercase GET /v1/users/:id: 2, first /v1/users/AbC',
    'pathGuard.encoding GET /v1/users/:id: 1, first /v1/users/A%20b',
    'problems.accept GET /v1/Users: 1, first Accept takes none of application/json',
    'problems.body GET /v1/written/json: 1, first 404 without a problem document',
    'problems.body GET /v1/thrown/error: 1, first 500 without a problem document',
  ])
    t.ok(seen.includes(expected), expected)
})

t.test('each rule is logged once, with the request id; the report has the id too', async (t) => {
  const logs = keepLogs('warn')
  const { app } = await twin(t, 'report', logs.logger)
  logs.lines.length = 0
  for (const url of ['/v1/Users', '/v1/Users', '/v1/users/AbC']) await app.inject(url)

  const seen = logs.lines.filter(({ convention }) => convention === 'pathGuard.uppercase')
  t.equal(seen.length, 1)
  t.match(seen[0], {
    level: levels.warn,
    msg: 'convention not kept',
    module: 'fastify-conventions',
    route: 'GET /v1/Users',
    effect: 'refused',
    status: 404,
    example: '/v1/Users',
    reqId: 'req-1',
  })
  t.equal(app.conventions.report().observations[0]?.requestId, 'req-1')
})

t.test('an app without a logger gets no lines: its test that mocks app.log counts its own', async (t) => {
  const app = Fastify()
  const lines: string[] = []
  // Fastify writes lines of level info to `app.log`, and nobody reads them.
  for (const method of ['debug', 'warn', 'error'] as const) {
    app.log[method] = (...line: unknown[]) => void lines.push(String(line.at(-1)))
  }
  await app.register(conventions, { mode: 'report', selfAlias: { collections: ['none'] } })
  addRoutes(app)
  app.get('/v1/logs', async () => {
    app.log.warn('of the app')
    return {}
  })
  for (const url of ['/v1/logs', '/v1/Users', '/v1/payments']) await app.inject(url)
  t.not(app.conventions.report().observations.length, 0)
  t.strictSame(lines, ['of the app'])
})

t.test('no value of a body is in the report or in the log', async (t) => {
  const secret = 'hunter2'
  const logs = keepLogs('debug')
  const { app } = await twin(t, 'report', logs.logger)
  for (const payload of [{ name: { secret } }, { name: secret, statusCode: 422 }, `{"name":"${secret}`]) {
    await app.inject({ method: 'POST', url: '/v1/orders', headers: json, payload })
  }

  t.ok(app.conventions.report().observations.length > 0)
  t.notMatch(JSON.stringify(app.conventions.report()), secret)
  t.notMatch(JSON.stringify(logs.lines.filter(({ convention }) => convention !== undefined)), secret)
})

t.test('routes that break rules are reported at boot, and do not fail it', async (t) => {
  const logs = keepLogs('warn')
  const { app } = await twin(t, 'report', logs.logger)

  const { findings } = app.conventions.report()
  const broken = findings.filter(({ route }) => route === 'GET /v1/get_all_users')
  t.same(
    broken.map(({ rule, mode }) => `${rule} ${mode}`),
    ['underscore report', 'words report'],
  )
  t.match(logs.lines[0], {
    module: 'fastify-conventions',
    convention: `${findings[0]?.plugin}.${findings[0]?.rule}`,
    effect: 'boot stopped',
    route: findings[0]?.route,
    msg: /^conventions: not kept in \d+ routes?$/,
  })
  const rules = new Set(findings.map(({ plugin, rule }) => `${plugin}.${rule}`))
  t.equal(logs.lines.length, rules.size, 'a line for each rule')
})

t.test('a snapshot of the report does not change later', async (t) => {
  const { app } = await twin(t, 'report')
  await app.inject('/v1/Users')
  const before = app.conventions.report()
  await app.inject('/v1/Users')

  t.equal(before.observations[0]?.count, 1)
  t.equal(app.conventions.report().observations[0]?.count, 2)
})

async function twin(
  t: Test,
  mode: 'report' | 'off' | null,
  logger?: ReturnType<typeof keepLogs>['logger'],
): Promise<{ readonly app: FastifyInstance; readonly port: number }> {
  const app = Fastify(logger === undefined ? {} : { logger })
  if (mode !== null) await app.register(conventions, { mode })
  addRoutes(app)
  const { port } = await serve(t, app)
  return { app, port }
}

function addRoutes(app: FastifyInstance): void {
  const nothing = async () => ({})
  for (const [name, value] of Object.entries(thrown))
    app.get(`/v1/thrown/${name}`, async () => Promise.reject(value))
  for (const phase of phases)
    app.get(`/v1/hooks/${phase}`, { [phase]: async () => Promise.reject(new Error('broken')) }, nothing)
  for (const [name, handler] of Object.entries(written)) {
    const options = name === 'unserialized' ? { schema: { response: { 200: named } } } : {}
    app.get(`/v1/written/${name}`, options, handler)
  }
  app.get('/v1/Users', { schema: { response: { 200: { type: 'object' } } } }, async () => ({ users: [] }))
  app.get('/v1/users/:id', async (request) => request.params)
  app.get('/v1/get_all_users', nothing)
  const properties = { id: { type: 'integer', format: 'int64' }, note: { type: 'string' } }
  const payment = { response: { 200: { type: 'object', properties } } }
  app.get('/v1/payments/:id', { schema: payment }, async () => ({ id: 2n ** 60n, note: 'a' }))
  app.get('/v1/payments', async () => [{ id: 2 ** 60, amount: 1, Currency: 'jpy', made: 'today' }])
  app.post('/v1/orders', { schema: { body: named } }, async (request, reply) => {
    const { statusCode = 200 } = request.body as { readonly statusCode?: number }
    return reply.code(statusCode).send(request.body)
  })
  app.patch('/v1/orders', { schema: { body: named } }, nothing)
}

function withoutDate(bytes: string): string {
  return bytes.replace(/^date: .*\r\n/im, '')
}
