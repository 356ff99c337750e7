/** Operations beside the other plugins of the preset, and in the OpenAPI document. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { type ConventionsOptions, conventions, serverOptions } from '../../../src/index.js'
import { operations } from '../../../src/plugins/operations/index.js'
import { keepLogs, type Logs } from '../../support/logs.js'
import { headerOf, injected, isProblem } from '../../support/problem.js'
import { sure } from './samples.js'

interface Service {
  readonly app: FastifyInstance
  readonly logs: Logs
  ask(request: InjectOptions): Promise<ReturnType<typeof injected>>
  /** Starts work that waits until it is let go; its path. */
  start(): Promise<string>
  /** Lets the work that waits end, and waits until it has. */
  letGo(path: string): Promise<void>
}

const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

/** The whole preset, one operation that waits, and a route that starts it. */
async function preset(
  t: Test,
  options: ConventionsOptions = {},
  path = '/v1/operations',
  root = '/v1',
): Promise<Service> {
  const logs = keepLogs('info')
  const app = Fastify({ ...serverOptions(), logger: logs.logger })
  t.teardown(() => app.close())
  await app.register(conventions, {
    ...options,
    identify: () => null,
    operations: { path, drain: 0, ...(options.operations || {}) },
  })
  const waiting: (() => void)[] = []
  app.operations.define(
    'payments.retry',
    { cancellable: true },
    ({ signal }) =>
      new Promise<{ resource: string; result: unknown }>((resolve, reject) => {
        waiting.push(() =>
          resolve({ resource: `${root}/payments/8`, result: { payment_id: 9007199254740993n, note: 'a' } }),
        )
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  )
  app.post(
    `${root}/payments/:id/retry`,
    { config: { operations: { starts: 'payments.retry' } } },
    async (_, reply) => reply.startOperation('payments.retry'),
  )
  const ask = async (request: InjectOptions) => injected(await app.inject(request))
  return {
    app,
    logs,
    ask,
    async start() {
      const answer = await ask({ method: 'POST', url: `${root}/payments/7/retry` })
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.body}`)
      return sure(headerOf(answer, 'location'))
    },
    async letGo(location) {
      for (let waited = 0; waited < 1_000; waited += 1) {
        for (const end of waiting.splice(0)) end()
        const document = sure(await app.operations.find(location.slice(-32)))
        if (document.status !== 'In progress') return
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      throw new Error('it does not end')
    },
  }
}

t.test(
  'the whole preset: the app boots without findings and warnings, also with a path of its own',
  async (t) => {
    for (const [path, root] of [
      ['/v1/operations', '/v1'],
      ['/v2/jobs', '/v2'],
      ['/v1/background-tasks', '/v1'],
    ] as const) {
      const { app, logs, start, letGo, ask } = await preset(t, {}, path, root)
      await t.resolves(async () => app.ready(), path)
      const location = await start()
      t.ok(location.startsWith(`${path}/`))
      for (const url of [location, `${location}/status`]) t.equal((await ask({ url })).status, 200)
      await letGo(location)
      t.equal((await ask({ url: location })).status, 303)
      t.equal((await ask({ url: `${location}/status` })).status, 200)
      const waited = ask({ method: 'POST', url: `${root}/payments/7/retry`, headers: { prefer: 'wait=5' } })
      await new Promise((resolve) => setTimeout(resolve, 20))
      await letGo(location)
      const ended = ask({ method: 'POST', url: `${root}/payments/7/retry`, headers: { prefer: 'wait=5' } })
      await new Promise((resolve) => setTimeout(resolve, 20))
      for (let turn = 0; turn < 20; turn += 1) await letGo(location)
      t.equal((await waited).status + (await ended).status, 606)
      t.strictSame(
        logs.lines.filter(({ level }) => level >= 40),
        [],
      )
      const { findings, exceptions } = app.conventions.report()
      t.strictSame(findings, [])
      t.strictSame(
        exceptions.filter(({ unused }) => unused),
        [],
        'no exception is without use',
      )
    }
  },
)

t.test('cors: a page of another origin may read all that it needs', async (t) => {
  const { ask, start } = await preset(t, { cors: { origin: ['https://app.example'] } })
  const location = await start()
  const headers = { origin: 'https://app.example' }
  for (const request of [
    { method: 'POST', url: '/v1/payments/7/retry' },
    { url: location },
    { url: '/v1/operations/none' },
  ] as const) {
    const answer = await ask({ ...request, headers })
    t.equal(headerOf(answer, 'access-control-allow-origin'), 'https://app.example')
    const exposed = sure(headerOf(answer, 'access-control-expose-headers')).toLowerCase()
    for (const name of ['location', 'operation-location', 'retry-after', 'preference-applied'])
      t.match(exposed, name)
  }
  const preflight = await ask({
    method: 'OPTIONS',
    url: location,
    headers: { ...headers, 'access-control-request-method': 'DELETE' },
  })
  t.equal(preflight.status, 204)
  t.match(headerOf(preflight, 'access-control-allow-methods'), /DELETE/)
})

t.test('methodOverride: who can only POST cancels by it', async (t) => {
  const { ask, start } = await preset(t)
  const location = await start()
  const bare = await ask({ method: 'POST', url: location })
  isProblem(t, bare, { status: 405, code: 'method-not-allowed' })
  const cancelled = await ask({
    method: 'POST',
    url: location,
    headers: { 'x-http-method-override': 'DELETE' },
  })
  t.equal(cancelled.status, 204)
  t.notOk('link' in JSON.parse((await ask({ url: location })).body))
})

t.test('maintenance: polls are 503 with Retry-After, what runs goes on to its end', async (t) => {
  const { app, ask, start, letGo } = await preset(t)
  const location = await start()
  await app.maintenance.enable({ retryAfter: 30 })
  for (const request of [
    { url: location },
    { url: `${location}/status` },
    { method: 'DELETE', url: location },
  ] as const) {
    const answer = await ask(request)
    isProblem(t, answer, { status: 503, code: 'maintenance' })
    t.equal(headerOf(answer, 'retry-after'), '30')
  }
  await letGo(location)
  await app.maintenance.disable()
  t.equal((await ask({ url: location })).status, 303)
})

t.test(
  'rateLimit: polls count for the caller; a 429 of the poll limit is not that of the rate limit',
  async (t) => {
    const { ask, start } = await preset(t, { rateLimit: { max: 5 }, operations: { polls: 2 } })
    const location = await start()
    const answers = []
    for (let poll = 0; poll < 5; poll += 1) answers.push(await ask({ url: location }))
    t.strictSame(
      answers.map(({ status }) => status),
      [200, 200, 429, 429, 429],
    )
    t.match(JSON.parse(sure(answers[2]).body).detail, /polled too often/)
    t.notMatch(JSON.parse(sure(answers[4]).body).detail, /polled too often/)
    for (const answer of answers) t.ok(Number(headerOf(answer, 'retry-after')) >= 1)
  },
)

t.test('caching: a poll says when it changed, has no tag, is not stored, and never is a 304', async (t) => {
  const { ask, start, letGo } = await preset(t)
  const location = await start()
  const look = async () => {
    for (const url of [location, `${location}/status`]) {
      const conditional = {
        'if-none-match': '*',
        'if-modified-since': new Date(Date.now() + 1e9).toUTCString(),
      }
      for (const headers of [{}, conditional]) {
        const answer = await ask({ url, headers })
        t.not(answer.status, 304)
        t.equal(headerOf(answer, 'cache-control'), 'no-store')
        for (const name of ['etag', 'expires']) t.equal(headerOf(answer, name), undefined, name)
      }
    }
  }
  await look()
  await letGo(location)
  await look()
  const started = await ask({ method: 'POST', url: '/v1/payments/7/retry' })
  t.equal(headerOf(started, 'cache-control'), 'no-store')
})

t.test('fields: a poll can be narrowed to what is asked for', async (t) => {
  const { ask, start, letGo } = await preset(t)
  const location = await start()
  const narrow = await ask({ url: `${location}/status?fields=status` })
  t.strictSame(JSON.parse(narrow.body), { status: 'In progress' })
  t.ok(headerOf(narrow, 'retry-after'))
  isProblem(t, await ask({ url: `${location}/status?fields=owner` }), { status: 400, code: 'fields-invalid' })
  await letGo(location)
  t.strictSame(JSON.parse((await ask({ url: `${location}/status?fields=status,resourceLocation` })).body), {
    status: 'Succeeded',
    resourceLocation: '/v1/payments/8',
  })
})

t.test('integerTwins: a result has its large integers with their twins, polled or waited for', async (t) => {
  const { ask, start, letGo } = await preset(t)
  const location = await start()
  await letGo(location)
  const expected = '"result":{"payment_id":9007199254740993,"payment_id_str":"9007199254740993","note":"a"}'
  for (const url of [location, `${location}/status`]) {
    const answer = await ask({ url })
    t.match(answer.body, expected)
    t.match(headerOf(answer, 'content-type'), /^application\/json/)
  }
})

for (const [name, integerTwins] of [
  ['left out', false],
  ['in report', { mode: 'report' }],
  ['off', { mode: 'off' }],
] as const) {
  t.test(`integerTwins ${name}: a result is exact all the same, without twins`, async (t) => {
    const { ask, start, letGo } = await preset(t, { integerTwins })
    const location = await start()
    await letGo(location)
    for (const url of [location, `${location}/status`]) {
      t.match((await ask({ url })).body, '"result":{"payment_id":9007199254740993,"note":"a"}')
    }
  })
}

t.test('problems: typeBase is that of the failures too', async (t) => {
  const { app, ask, start } = await preset(t, { problems: { typeBase: 'https://example.com/problems/' } })
  const location = await start()
  await ask({ method: 'DELETE', url: location })
  await new Promise((resolve) => setTimeout(resolve, 20))
  const type = 'https://example.com/problems/operation-cancelled'
  t.match(JSON.parse((await ask({ url: location })).body), { error: { type } })
  t.match(await app.operations.find(location.slice(-32)), { error: { type } })
})

t.test('versions: operations under a version are like all else under it', async (t) => {
  const { ask, start } = await preset(t, { versions: { versions: { 1: { deprecated: '2026-01-01' } } } })
  const location = await start()
  for (const url of [location, `${location}/status`, '/v1/operations/none']) {
    t.equal(headerOf(await ask({ url }), 'deprecation'), '@1767225600')
  }
})

t.test('report mode: not one byte of other routes changes, and operations work', async (t) => {
  const routes = (app: FastifyInstance) => {
    app.get('/v1/users', async () => [{ ID: 2 ** 53, sex: 'x' }])
    app.post('/v1/createUser', async (_, reply) => reply.code(201).send({ userName: 'a' }))
  }
  const bare = Fastify()
  routes(bare)
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(conventions, { mode: 'report', operations: { drain: 0 } })
  app.operations.define('work', async () => ({ result: 9007199254740993n }))
  app.post('/v1/work', async (_, reply) => reply.startOperation('work'))
  routes(app)
  for (const request of [
    { url: '/v1/users' },
    { url: '/v1/users?fields=a', headers: { prefer: 'wait=3' } },
    { method: 'POST', url: '/v1/createUser' },
    { url: '/v1/none' },
    { method: 'DELETE', url: '/v1/users' },
  ] as const) {
    const [with_, without] = [await app.inject(request), await bare.inject(request)]
    t.equal(with_.payload, without.payload)
    const undated = ({ date: _, ...headers }: typeof with_.headers) => headers
    t.strictSame(undated(with_.headers), undated(without.headers))
  }
  const waited = await app.inject({ method: 'POST', url: '/v1/work', headers: { prefer: 'wait=5' } })
  t.equal(waited.statusCode, 200)
  t.match(waited.payload, '"result":9007199254740993')
  const { id } = JSON.parse(waited.payload) as { readonly id: string }
  t.match((await app.inject(`/v1/operations/${id}`)).payload, '"result":9007199254740993')
})

t.test('an app with operations of its own boots with the preset, as long as it defines none', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(conventions)
  app.get('/v1/operations/:id', async () => ({ of: 'the app' }))
  app.get('/v1/operations', async () => ({ operations: [] }))
  await t.resolves(async () => app.ready())
  t.strictSame((await app.inject('/v1/operations/7')).json(), { of: 'the app' })
})

t.test('registered before its neighbours it writes what they set up', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, { drain: 0 })
  await app.register(conventions, { operations: false, problems: { typeBase: 'https://example.com/' } })
  app.operations.define('work', async () => {
    throw new Error('no')
  })
  app.post('/v1/payments', async (_, reply) => reply.startOperation('work'))
  const answer = await app.inject({ method: 'POST', url: '/v1/payments', headers: { prefer: 'wait=5' } })
  t.match(answer.json(), { error: { type: 'https://example.com/internal-server-error' } })
})

t.test(
  'OpenAPI: what starts an operation shows its 202 with headers; the routes of operations are there',
  async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
    await app.register(conventions)
    app.operations.define('work', { cancellable: true }, async () => {})
    const config = { operations: { starts: 'work' } }
    app.post(
      '/v1/payments/:id/retry',
      { config, schema: { response: { 200: { type: 'object', properties: { id: { type: 'string' } } } } } },
      async (_, reply) => reply.startOperation('work'),
    )
    app.post('/v1/orders/:id/retry', { config }, async (_, reply) => reply.startOperation('work'))
    app.post('/v1/users', async () => ({}))
    await app.ready()
    const { paths } = JSON.parse(JSON.stringify(app.swagger())) as {
      readonly paths: Record<
        string,
        Record<
          string,
          {
            operationId?: string
            responses: Record<string, { headers?: object; content?: Record<string, { schema: object }> }>
          }
        >
      >
    }
    for (const path of ['/v1/payments/{id}/retry', '/v1/orders/{id}/retry']) {
      const accepted = sure(paths[path]?.post?.responses['202'])
      for (const name of ['Location', 'Operation-Location', 'Retry-After'])
        t.ok(name in (accepted.headers ?? {}), `${path} ${name}`)
      t.match(accepted.content?.['application/json']?.schema, {
        properties: { status: {}, link: {}, resourceLocation: {} },
      })
    }
    t.ok(paths['/v1/payments/{id}/retry']?.post?.responses['200'], 'what it says itself stays')
    t.notOk(paths['/v1/users']?.post?.responses['202'])
    const routes = [
      ['/v1/operations/{id}', 'get', 'readOperation', ['200', '303', '404', '410', '429']],
      ['/v1/operations/{id}/status', 'get', 'readOperationStatus', ['200', '404', '410', '429']],
      ['/v1/operations/{id}', 'delete', 'cancelOperation', ['204', '404', '409', '410']],
    ] as const
    for (const [path, method, operationId, statuses] of routes) {
      const route = sure(paths[path]?.[method])
      t.equal(route.operationId, operationId)
      for (const status of statuses) t.ok(route.responses[status], `${operationId} ${status}`)
    }
  },
)
