/** Operations beside the other plugins of the preset, and in the OpenAPI document. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import t, { type Test } from 'tap'
import { conventions, conventionsReport, maintenance, problems } from '../../../src/index.js'
import { operations } from '../../../src/plugins/operations/index.js'
import { manualClock } from '../../support/manual-clock.js'
import { withoutReferences } from '../../support/openapi.js'
import { headerOf, isProblem } from '../../support/problem.js'
import { handEngine, openProcess, type ProcessOptions } from './process.js'
import { lease, start as startOfClock } from './samples.js'

/** A process with the whole preset, whose operation creates something. */
async function preset(t: Test, options: ProcessOptions['preset'] = {}, own: ProcessOptions = {}) {
  const outcome = { resource: '/v1/payments/8', result: { payment_id: 9007199254740993n, note: 'a' } }
  const given = { preset: { ...options, identify: () => null }, isShared: false, ...own }
  const { end, ...process } = await openProcess(t, given)
  return { ...process, end: () => end(outcome) }
}

t.test('the whole preset boots without findings and warnings, also with a path of its own', async (t) => {
  for (const path of ['/v1/operations', '/v2/background-jobs']) {
    const { app, lines, start, end, ask } = await preset(t, {}, { path })
    const location = await start()
    t.ok(location.startsWith(`${path}/`))
    for (const status of [200, 303]) {
      t.equal((await ask({ url: location })).status, status)
      t.equal((await ask({ url: `${location}/status` })).status, 200)
      await end()
    }
    const warnings = lines.filter(({ level }) => level >= 40)
    const { findings } = app.conventions.report()
    t.strictSame({ warnings, findings }, { warnings: [], findings: [] })
  }
})

t.test('rateLimit: polls count; a 429 of the poll limit is not that of the rate limit', async (t) => {
  const { ask, start } = await preset(t, { rateLimit: { max: 5 } }, { polls: 2 })
  const url = await start()
  const seen = []
  for (let poll = 0; poll < 5; poll += 1) {
    const answer = await ask({ url })
    seen.push(`${answer.status} ${answer.body.includes('polled too often')}`)
    t.match(headerOf(answer, 'retry-after'), /^([1-9]|[1-5]\d|60)$/)
    if (poll < 4) t.equal(headerOf(answer, 'cache-control'), 'no-store')
  }
  t.strictSame(seen, ['200 false', '200 false', '429 true', '429 true', '429 false'])
})

t.test('caching: a poll has no tag, is not stored, and never is a 304', async (t) => {
  const { ask, post, start, end } = await preset(t)
  const location = await start()
  const since = new Date(Date.now() + 1e9).toUTCString()
  for (const _ of ['in progress', 'ended']) {
    for (const url of [location, `${location}/status`]) {
      const answer = await ask({ url, headers: { 'if-none-match': '*', 'if-modified-since': since } })
      t.not(answer.status, 304)
      t.equal(headerOf(answer, 'cache-control'), 'no-store')
      for (const name of ['etag', 'expires']) t.equal(headerOf(answer, name), undefined, name)
    }
    await end()
  }
  t.equal(headerOf(await post(), 'cache-control'), 'no-store')
})

t.test('fields: a poll can be narrowed to what is asked for', async (t) => {
  const { ask, start, end } = await preset(t)
  const location = await start()
  const select = (fields: string) => ask({ url: `${location}/status?fields=${fields}` })
  const narrow = await select('status')
  t.equal(narrow.body, '{"status":"In progress"}')
  t.match(headerOf(narrow, 'retry-after'), /^\d+$/)
  isProblem(t, await select('owner'), { status: 400, code: 'fields-invalid' })
  await end()
  t.equal((await select('resourceLocation')).body, '{"resourceLocation":"/v1/payments/8"}')
})

t.test('formats: a status document is JSON, whatever format the client accepts', async (t) => {
  const prepare = (app: FastifyInstance) => {
    const config = { formats: ['xml'] } as const
    app.post('/v1/orders', { config }, async (_, reply) => reply.startOperation('work'))
    app.get('/v1/invoices/7', { config }, async (_, reply) => reply.notReady(5))
    app.post('/v1/bills', { config: { operations: { starts: 'work' } } }, async (_, reply) =>
      reply.startOperation('work'),
    )
  }
  const { ask } = await openProcess(t, { preset: { formats: {} }, works: false, prepare })
  for (const request of [{ method: 'POST', url: '/v1/orders' }, { url: '/v1/invoices/7' }] as const) {
    const answer = await ask({ ...request, headers: { accept: 'application/xml' } })
    t.match(answer, { status: 202, headers: { 'content-type': /^application\/json/, vary: /accept/i } })
    t.match(JSON.parse(answer.body), { status: 'In progress' })
  }
  const refused = await ask({ method: 'POST', url: '/v1/bills', headers: { accept: 'application/xml' } })
  t.match(
    JSON.parse(refused.body),
    { code: 'not-acceptable', available: ['application/json'] },
    'nothing starts',
  )
})

t.test('report mode and a serializer of the app: operations work, and send a BigInt', async (t) => {
  const compilers = (app: FastifyInstance) =>
    app.setSerializerCompiler(serializerCompiler).setValidatorCompiler(validatorCompiler)
  for (const options of [{ preset: { mode: 'report' } }, { prepare: compilers }] as const) {
    const work = () => ({ result: 9007199254740993n })
    const { ask, post } = await openProcess(t, { work, isShared: false, ...options })
    const waited = await post({ prefer: 'wait=5' })
    const url = `/v1/operations/${JSON.parse(waited.body).id}`
    for (const { status, body } of [waited, await ask({ url }), await ask({ url: `${url}/status` })]) {
      t.equal(status, 200)
      t.match(body, '"result":9007199254740993')
    }
  }
})

t.test('where callers are not known, the report says who can see an operation', async (t) => {
  for (const [options, told, comesLater] of [
    [{}, { problem: /^all callers who know the id/ }],
    [{}, { problem: /^there is no list of operations/, instead: /^bearer before/ }, true],
    [{ identify: () => 'ann' }, null],
  ] as const) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(problems)
    await app.register(operations, { drain: 0, ...options })
    app.operations.define('work', async () => {})
    // As `bearer` does.
    if (comesLater) app.decorateRequest('caller', null)
    await app.ready()
    const finding = { rule: 'identify', route: 'GET /v1/operations/:id', mode: 'report', ...told }
    t.match(conventionsReport(app)?.findings, told === null ? { length: 0 } : [finding])
    t.equal((await app.inject('/v1/operations')).statusCode, told === null ? 200 : 404, 'the list')
  }
})

t.test('registered before its neighbours it writes what they set up', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, { drain: 0 })
  await app.register(conventions, { operations: false, problems: { typeBase: 'https://example.com/' } })
  app.operations.define('work', () => Promise.reject(new Error('no')))
  app.post('/v1/payments', async (_, reply) => reply.startOperation('work'))
  const answer = await app.inject({ method: 'POST', url: '/v1/payments', headers: { prefer: 'wait=5' } })
  t.match(answer.json(), { error: { type: 'https://example.com/internal-server-error' } })
})

t.test('OpenAPI has the answers of a start, and the routes of operations', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
  await app.register(conventions, { operations: { identify: () => 7 }, formats: {} })
  const fee = { type: 'integer', format: 'int64' }
  const result = { type: 'object', properties: { fee } }
  app.operations.define('work', { cancellable: true, result, onePer: 'id' }, async () => {})
  const config = { operations: { starts: 'work' } }
  const response = { 200: { type: 'object' }, 404: { type: 'null' } }
  const start = async (_: unknown, reply: FastifyReply) => reply.startOperation('work')
  app.post('/v1/payments/:id/retry', { config, schema: { response } }, start)
  app.post('/v1/orders/:id/retry', { config: { ...config, formats: ['xml'] } }, start)
  app.post('/v1/users', async () => ({}))
  await app.ready()
  const { paths = {} } = withoutReferences(app.swagger())
  const rel = { type: 'string', enum: ['cancel'] }
  const link = { required: ['rel', 'method', 'href'], properties: { rel, method: { enum: ['DELETE'] } } }
  const error = { required: ['type', 'title', 'status', 'detail', 'code', 'message'] }
  const schema = {
    properties: { status: {}, link, resourceLocation: {}, result: { properties: { fee } }, error },
  }
  const headers = { Location: { schema: { type: 'string' } }, 'Operation-Location': {}, 'Retry-After': {} }
  const accepted = { headers, content: { 'application/json': { schema } } }
  const responsesOf = (path: string) => paths[path]?.post?.responses
  const own = responsesOf('/v1/payments/{id}/retry')
  t.match(own, { 200: { content: {} }, 202: accepted, 404: {}, 303: undefined }, 'what it says itself stays')
  const orders = responsesOf('/v1/orders/{id}/retry')
  const ended = { 200: { description: /within the time/ }, 303: { headers: { Location: {} } } }
  t.match(orders, { ...ended, 202: accepted, 406: {} })
  t.notMatch(JSON.stringify(orders?.[202]), 'application/xml')
  t.match(JSON.stringify(orders?.[409]), '"operation-in-progress"')
  t.notOk(responsesOf('/v1/users')?.['202'])

  const routes = [
    ['/v1/operations/{id}', 'get', 'readOperation', ['200', '303', '404', '410', '429']],
    ['/v1/operations/{id}/status', 'get', 'readOperationStatus', ['200', '404', '410', '429']],
    ['/v1/operations/{id}', 'delete', 'cancelOperation', ['204', '404', '409', '410']],
    ['/v1/operations', 'get', 'listOperations', ['200', '400', '503']],
  ] as const
  for (const [path, method, operationId, statuses] of routes) {
    const responses = Object.fromEntries(statuses.map((status) => [status, {}]))
    t.match(paths[path]?.[method], { operationId, responses, tags: ['operations'] })
  }
  const polled = paths['/v1/operations/{id}']?.get?.responses
  t.match(polled?.['429'], { headers: { 'Retry-After': {} } })
  const problem = { properties: { error: { properties: { code: { type: 'string' } } } } }
  t.match(polled?.['200'], { content: { 'application/json': { schema: problem } } })
  const { parameters = [], responses } = paths['/v1/operations']?.get ?? {}
  const named = (parameters as { name: string; schema: object }[]).map(({ name, schema }) => [name, schema])
  const integer = { type: 'integer', minimum: 1, default: 50 }
  const time = { type: 'string', format: 'date-time' }
  t.match(Object.fromEntries(named), { limit: integer, before_time: time, before_id: {}, fields: {} })
  const page = { properties: { operations: { type: 'array' } } }
  t.match(responses?.['200'], { headers: { Link: {} }, content: { 'application/json': { schema: page } } })
})

/** A process with `maintenance`, which begins before the process is ready if it has a mode. */
async function maintained(t: Test, options: ProcessOptions = {}, mode: 'enforce' | 'report' | null = null) {
  const clock = manualClock(startOfClock)
  const { now, schedule } = clock
  const prepare = async (app: FastifyInstance) => {
    await app.register(maintenance, { now, schedule, ...(mode && { mode }) })
    if (mode !== null)
      app.addHook('onReady', async () => void (await app.maintenance.enable({ retryAfter: 60 })))
  }
  const process = await openProcess(t, { clock, prepare, ...options })
  const { maintenance: state } = process.app
  const enable = () => state.enable({ retryAfter: 60 }).then(() => clock.advance(0))
  return { ...process, enable, disable: () => state.disable().then(() => clock.advance(0)) }
}

t.test('no run begins while there is maintenance; those that run go on; others begin later', async (t) => {
  const process = await maintained(t, { works: false })
  const { app, clock, memory, contexts, begin, record, enable, disable } = process
  const first = await begin()
  await enable()
  await disable()
  await clock.advance(3 * lease)
  t.equal(contexts.length, 0, 'a process that does not work does not begin to')
  await enable()
  await app.operations.work()
  await clock.advance(0)
  t.equal(contexts.length, 0)
  await disable()
  t.equal(contexts.length, 1)
  await enable()
  const second = await begin()
  await process.end()
  t.match(await record(first), { status: 'Succeeded' })
  const other = await openProcess(t, { clock, memory })
  await clock.advance(2 * lease)
  t.equal(contexts.length, 1)
  t.match(other.contexts, [{ operationId: second }], 'others get what is due')
})

t.test('an app that gets ready in maintenance begins no run, except in report mode', async (t) => {
  for (const mode of ['enforce', 'report'] as const) {
    const { clock, contexts, begin, disable } = await maintained(t, { isShared: false }, mode)
    await begin()
    await clock.advance(60_000)
    t.equal(contexts.length, mode === 'report' ? 1 : 0)
    await disable()
    t.equal(contexts.length, 1)
  }
})

t.test('an engine that cannot pause is in the log', async (t) => {
  const engine = handEngine({ pause: async () => Promise.reject(new Error('no connection')) })
  const { enable, lines } = await maintained(t, { engine })
  await enable()
  const told = lines.filter(({ level }) => level === 50)
  t.match(told, [{ msg: 'operations: work cannot pause', err: { message: 'no connection' } }])
})
