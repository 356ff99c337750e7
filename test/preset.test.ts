import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import conventions, {
  type ConventionsOptions,
  lists,
  ProblemError,
  problems,
  responseRules,
  serverOptions,
} from '../src/index.js'
import { restyledKey } from '../src/words/words.js'
import { injected, isProblem } from './support/problem.js'

t.test('the preset sets up all plugins; each key has the options of its plugin', async (t) => {
  const typeBase = 'https://errors.example/'
  const app = await appWith({
    problems: { typeBase },
    pathGuard: { statusCode: 400 },
    lists: { defaultLimit: 3 },
  })
  app.get('/v1/users', { config: { lists: {} } }, async ({ page }) => ({ limit: page.limit }))
  isProblem(t, injected(await app.inject('/V1')), { typeBase, status: 400, code: 'path-uppercase' })
  t.strictSame((await app.inject('/v1/users')).json(), { limit: 3 })
})

t.test('a list has its name in the key style of its context, with its plural words', async (t) => {
  const app = Fastify()
  await app.register(lists)
  const list = async (_request: unknown, reply: FastifyReply) => reply.list([{ id: 1 }])
  const config = { lists: {} }
  app.register(async (child) => {
    await child.register(responseRules, { keyStyle: 'camelCase' })
    child.get('/v1/purchase-orders', { config }, list)
  })
  const preset = await appWith({ responseRules: { keyStyle: 'camelCase' } })
  preset.get('/v1/line-items', { config }, list)
  const items = [3, 2].map((id) => ({ id, createdAt: `2026-11-2${id}T08:00:00Z` }))
  preset.get('/v1/rows', { config }, async (_request, reply) => reply.list(items))
  const { headers } = await preset.inject('/v1/rows?limit=1&before_time=2026-11-25T08:00:00Z')
  t.match(headers.link, /before_time=2026-11-23T08/, 'the time is createdAt')
  t.strictSame((await preset.inject('/v1/line-items')).json(), { lineItems: [{ id: 1 }] }, 'of the preset')
  for (const name of ['sale_items', 'content']) app.get(`/v1/${name.replace('_', '-')}`, { config }, list)
  for (const name of ['purchaseOrders', 'sale_items', 'content']) {
    const path = `/v1/${name.replace(/_|(?=O)/, '-').toLowerCase()}`
    t.strictSame((await app.inject(path)).json(), { [name]: [{ id: 1 }] }, path)
  }
})

t.test('every error of the preset has no-store, wherever it is sent, and no validators', async (t) => {
  const app = await appWith({ rateLimit: { max: 1000 }, operations: {} })
  app.addHook('onRequest', async ({ headers }) => {
    if (headers['x-caller'] === 'none') throw new ProblemError('unauthorized', { status: 401, title: 'Who?' })
  })
  app.addHook('preHandler', async ({ headers }) => {
    if (headers['x-caller'] === 'other') throw new ProblemError('forbidden', { status: 403, title: 'No' })
  })
  app.operations.define('users.check', {}, async () => {})
  const user = { type: 'object', properties: { name: { type: 'string' } } }
  const config = { caching: { validators: () => ({ version: 7 }) } }
  app.get('/v1/users/:id', { config, schema: { response: { 200: user } } }, () => ({ name: 'a' }))
  app.post('/v1/users', { schema: { body: user }, bodyLimit: 50 }, (_, reply) => reply.code(201).send({}))
  app.put('/v1/users/:id', { config, schema: { body: user } }, () => ({ name: 'a' }))
  const json = { 'content-type': 'application/json' }
  const [none, other] = [{ 'x-caller': 'none' }, { 'x-caller': 'other' }]
  type Row = readonly [status: number, request: string, headers?: Record<string, string>, payload?: string]
  const operation = `/v1/operations/${'0'.repeat(32)}`
  const rows: readonly Row[] = [
    ...[operation, `${operation}/status`].flatMap((url): readonly Row[] => [
      [404, `GET ${url}`],
      [404, `HEAD ${url}`],
      [401, `GET ${url}`, none],
      [403, `GET ${url}`, other],
      [406, `GET ${url}`, { accept: 'image/png' }],
      [400, `GET ${url}?fields=nope`],
      [405, `PATCH ${url}`],
    ]),
    [404, `DELETE ${operation}`],
    [401, `OPTIONS ${operation}`, none],
    [404, 'OPTIONS /v1/nothing'],
    [404, 'GET /v1/nothing'],
    [404, 'GET /v1/Users'],
    [405, 'PATCH /v1/users'],
    [406, 'GET /v1/users/1', { accept: 'image/png' }],
    [400, 'GET /v1/users/1?fields=nope'],
    [412, 'GET /v1/users/1', { 'if-match': '"6"' }],
    [412, 'PUT /v1/users/1', { ...json, 'if-match': '"6"' }, '{"name":"b"}'],
    [400, 'POST /v1/users', json, '{'],
    [400, 'POST /v1/users', json, '{"name":{}}'],
    [413, 'POST /v1/users', json, JSON.stringify({ name: 'x'.repeat(100) })],
    [415, 'POST /v1/users', { 'content-type': 'text/plain' }, 'x'],
    [400, 'POST /v1/users', { ...json, 'x-http-method-override': 'NOPE' }, '{}'],
    [401, 'POST /v1/users', { ...json, ...none }, '{}'],
  ]
  for (const [status, request, headers = {}, payload] of rows) {
    const [method, url] = request.split(' ') as ['GET', string]
    const answer = await app.inject({ method, url, headers, ...(payload !== undefined && { payload }) })
    const about = `${request} ${JSON.stringify(headers)}`
    t.strictSame([answer.statusCode, answer.headers['cache-control']], [status, 'no-store'], about)
    for (const name of ['etag', 'last-modified', 'expires'])
      t.notOk(name in answer.headers, `${about}: ${name}`)
  }
})

t.test('every member that the package adds to a body has the key style of the app', async (t) => {
  for (const keyStyle of ['snake_case', 'camelCase'] as const) {
    const app = await appWith({ responseRules: { keyStyle }, rateLimit: { max: 12 } })
    app.operations.define('users.check', { cancellable: true }, async ({ input }) => {
      if (input === 'fail') throw new Error('no')
      return input === 'create' ? { resource: '/v1/users/1' } : undefined
    })
    const body = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }
    app.post('/v1/users', { schema: { body } }, () => ({}))
    app.get('/v1/users', { config: { lists: {} } }, (_, reply) => reply.list([{ id: 1 }], 1))
    app.post<{ Params: { kind: string } }>('/v1/checks/:kind', (request, reply) =>
      reply.startOperation('users.check', request.params.kind),
    )
    const bodies: object[] = []
    const ask = async (method: 'GET' | 'POST', url: string, headers: Record<string, string> = {}) => {
      const answer = await app.inject({ method, url, headers })
      bodies.push(answer.json())
      return answer
    }
    for (const kind of ['create', 'fail', 'nothing']) {
      const started = await ask('POST', `/v1/checks/${kind}`)
      t.equal(started.statusCode, 202)
      await app.inject({ method: 'POST', url: `/v1/checks/${kind}`, headers: { prefer: 'wait=5' } })
      const polled = await ask('GET', `${started.headers.location}/status`)
      t.not(polled.json().status, 'In progress')
      t.ok(polled.json()[keyStyle === 'camelCase' ? 'finishedAt' : 'finished_at'], 'written by the schema')
    }
    await ask('GET', '/v1/users')
    await ask('GET', '/v1/nothing')
    const post = await app.inject({ method: 'POST', url: '/v1/users', payload: {} })
    bodies.push(post.json())
    const limited = await ask('GET', '/v1/users')
    t.strictSame([post.json().code, limited.json().code], ['validation', 'quota-exceeded'])
    const strange = new Set(bodies.flatMap(keysOf).filter((key) => restyledKey(key, keyStyle) !== null))
    // Azure's clients of long-running operations read it under this name alone.
    t.strictSame([...strange], keyStyle === 'camelCase' ? [] : ['resourceLocation'], keyStyle)
  }
})

t.test('false leaves a plugin out; an undefined option counts as not set', async (t) => {
  const without = await appWith({ problems: false, pathGuard: false, lists: false })
  without.get('/V1', async () => ({}))
  t.equal((await without.inject('/V1')).statusCode, 200)
  t.match((await without.inject('/nothing')).json(), { statusCode: 404, error: 'Not Found' })
  t.notOk(without.hasRequestDecorator('page'))
  const own = await appWith({ problems: false })
  await own.register(problems)
  t.ok(own.hasRequestDecorator('page'), 'what is left out can be registered alone')

  const app = await appWith({ mode: undefined, lists: undefined, problems: undefined } as object)
  t.ok(app.hasRequestDecorator('page'))
  isProblem(t, injected(await app.inject('/nothing')), { status: 404, code: 'not-found' })
})

t.test('an invalid option throws, with its name, the expected and the received value', async (t) => {
  const names = 'by, defaultLimit, earlierRoutes, id, idFormat, maxLimit, mode, time, toJsonSchema, total'
  const unknown = 'there is no such option; expected one of'
  for (const [options, error, message] of [
    [
      { mode: 'on' },
      'INVALID',
      /^conventions\.mode: expected one of 'enforce', 'report', 'off', received 'on'/,
    ],
    [{ identify: 'me' }, 'INVALID', /conventions\.identify: expected a function of the request/],
    [{ caching: [] }, 'INVALID', 'conventions.caching: expected an object or false, received []'],
    [{ lists: { limit: 5 } }, 'UNKNOWN', `lists.limit: ${unknown} ${names}`],
    [{ pathguard: {} }, 'UNKNOWN', new RegExp(`^conventions\\.pathguard: ${unknown} .*pathGuard, problems`)],
  ] as const) {
    const refused = { code: `FST_CONV_OPTION_${error}`, message }
    await t.rejects(async () => Fastify().register(conventions, options as object), refused)
  }
})

t.test('the first request of a route compiles nothing: ready() has done it', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(conventions)
  const [id, name] = [{ type: 'integer', format: 'int64' }, { type: 'string' }]
  const user = { type: 'object', properties: { id, name } }
  const list = { type: 'object', properties: { users: { type: 'array', items: user } } }
  const ada = { id: 9007199254740993n, name: 'Ada' }
  app.get('/v1/users/:id', { schema: { response: { 200: user } } }, async () => ada)
  app.get('/v1/users', { schema: { response: { 200: list } } }, async () => ({ users: [ada] }))
  const schema = { body: { ...user, required: ['name'] } }
  app.post('/v1/users', { schema }, async (_request, reply) => reply.code(201).send({}))
  await app.ready()
  const compiled: unknown[] = []
  t.intercept(globalThis, 'Function', {
    value: new Proxy(Function, {
      construct(target, sources) {
        compiled.push(sources.at(-1))
        return Reflect.construct(target, sources)
      },
    }),
  })
  const post = { method: 'POST', url: '/v1/users' } as const
  const gets = ['/v1/users/1', '/v1/users', '/nothing'].map((url) => ({ url }))
  for (const request of [...gets, { ...post, payload: { id: 1, name: 'Ada' } }, { ...post, payload: {} }]) {
    await app.inject(request)
    t.same(compiled.splice(0), [], JSON.stringify(request))
  }
})

async function appWith(options: ConventionsOptions): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(conventions, options)
  return app
}

function keysOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(Array.isArray(value) ? [] : [key]),
    ...keysOf(inner),
  ])
}
