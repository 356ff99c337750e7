// Own process: a timer keeps it alive
/** Operations by themselves: input and handlers of every kind, requests that wait, stores that fail, closing. */
import { setTimeout as pause } from 'node:timers/promises'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyServerOptions, type InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { ProblemError, problems, serverOptions } from '../../../src/index.js'
import { pollLimit } from '../../../src/plugins/operations/hooks.js'
import {
  inProcessEngine,
  memoryOperationStore,
  type OperationContext,
  type OperationJob,
  OperationQueueFullError,
  type OperationsOptions,
  operations,
} from '../../../src/plugins/operations/index.js'
import { keepLogs, type Logs } from '../../support/logs.js'
import { manualClock } from '../../support/manual-clock.js'
import { withoutReferences } from '../../support/openapi.js'
import { headerOf, injected, isProblem } from '../../support/problem.js'
import { openConnection, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'
import { start as startOfClock, sure } from './samples.js'
import { unruly } from './unruly-store.js'

// Timers of the package do not keep the process alive, and `inject` has no socket that would.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

type Handle = (context: OperationContext) => unknown

const never = () => new Promise<never>(() => {})
const untilAborted = ({ signal }: OperationContext) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
const all = Number.MAX_SAFE_INTEGER
const byHeader: OperationsOptions['identify'] = ({ headers }) => (headers['x-caller'] as string) ?? null
const unavailable = { status: 503, code: 'operations-unavailable' }

async function bare(t: Test, options: OperationsOptions = {}): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, { drain: 0, unwind: 0, ...options })
  return app
}

/** An app with one operation, `work`, and the route `POST /v1/work` that starts it with the body. */
async function service(
  t: Test,
  handle: Handle,
  options: OperationsOptions = {},
  logs?: Logs,
): Promise<FastifyInstance> {
  const app = Fastify({ ...serverOptions(), ...(logs && { logger: logs.logger }) } as FastifyServerOptions)
  t.teardown(() => app.close())
  await app.register(problems)
  await app.register(operations, { drain: 0, unwind: 0, ...options })
  app.operations.define(
    'work',
    { cancellable: true },
    async (context) => (await handle(context)) as undefined,
  )
  app.post('/v1/work', async (request, reply) => reply.startOperation('work', request.body))
  // With a shared store, work begins when the app listens.
  app.addHook('onReady', () => app.operations.work())
  return app
}

const ask = async (app: FastifyInstance, request: InjectOptions) => injected(await app.inject(request))
const post = (app: FastifyInstance, headers: Record<string, string> = {}, url = '/v1/work') =>
  ask(app, { method: 'POST', url, headers })

async function start(app: FastifyInstance, headers?: Record<string, string>, url?: string): Promise<string> {
  const answer = await post(app, headers, url)
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.body}`)
  return sure(headerOf(answer, 'location'))
}

const ended = (app: FastifyInstance, path: string) =>
  until(
    async () => sure(await app.operations.find(path.slice(-32))),
    ({ status }) => status !== 'In progress',
    10_000,
    5,
  )

const met = (isMet: () => boolean) => until(async () => isMet(), Boolean, 10_000, 5)

t.test('an input that is too long, or that is not JSON, is refused and starts nothing', async (t) => {
  const inputs: unknown[] = []
  const app = await service(t, ({ input }) => void inputs.push(input), { maxLength: 100 })
  const answer = await ask(app, { method: 'POST', url: '/v1/work', payload: { text: 'x'.repeat(200) } })
  isProblem(t, answer, { status: 413, code: 'content-too-large', detail: /longer than 100 characters/ })
  const circle: Record<string, unknown> = {}
  circle.self = circle
  // A fault of the app is not a 413.
  for (const input of [Symbol('x'), () => 1, circle])
    await t.rejects(app.operations.start('work', input), { name: 'TypeError' })
  for (const depth of [5_000, 100_000]) {
    const deep = JSON.parse('['.repeat(depth) + ']'.repeat(depth))
    for (const input of ['x'.repeat(99), deep, { deep, id: 2n ** 60n }])
      await t.rejects(app.operations.start('work', input), { code: 'content-too-large', statusCode: 413 })
  }
  await t.rejects(app.operations.start('unknown', 1), { code: 'FST_CONV_OPERATION_UNKNOWN' })
  const given = { id: 9007199254740993n, at: new Date(0), text: '\u0000 \ud800 ü' }
  await ended(app, (await app.operations.start('work', given)).id)
  t.strictSame(inputs, [{ ...given, at: '1970-01-01T00:00:00.000Z' }], 'others come with all digits')
  const ofPrototype = JSON.parse('{"__proto__":{"a":1}}')
  for (const input of [undefined, null, 0, '', [], 2n ** 60n, ofPrototype, 'x'.repeat(98)]) {
    await ended(app, (await app.operations.start('work', input)).id)
    t.strictSame(inputs.pop(), input)
  }
})

t.test('whatever a handler throws, the client is told what it may know', async (t) => {
  const hidden = { code: 'internal-server-error', status: 500, detail: /cause is in the log/ }
  const circle: unknown[] = []
  circle.push(circle)
  const issue = { in: 'body', pointer: '/a', message: 'too little' } as const
  const problem = (errors: unknown) => new ProblemError('too-bad', { status: 422, errors: errors as never })
  const secretly = () => {
    throw new Error('secret')
  }
  const rows: readonly (readonly [thrown: unknown, error: object])[] = [
    [new Error('secret'), hidden],
    ...['secret', null, undefined, { secret: true }].map((thrown) => [thrown, hidden] as const),
    [
      Object.assign(new Error('not that one'), { statusCode: 404 }),
      { code: 'not-found', status: 404, detail: 'not that one' },
    ],
    [new ProblemError('paid', { status: 409, detail: 'd'.repeat(5_000) }), { code: 'paid', message: /^d/ }],
    [
      new ProblemError('down', { status: 502, detail: 'secret', errors: [issue] }),
      { ...hidden, code: 'down', status: 502 },
    ],
    [problem([issue]), { errors: [issue] }],
    [problem([{ ...issue, message: 1n }]), { code: 'too-bad', errors: [{ pointer: '/a' }] }],
    // Of the many, as many as any problem has.
    [problem(Array.from({ length: 9_999 }, () => issue)), { code: 'too-bad', errors: { length: 50 } }],
    // What cannot be stored or read.
    [problem(circle), { code: 'too-bad' }],
    [Object.assign(new Error('secret'), { headers: { b: [Symbol('secret')] } }), hidden],
    [Object.defineProperty({}, 'code', { get: secretly }), {}],
    [new Proxy({}, { get: secretly }), hidden],
  ]
  let thrown: unknown
  const logs = keepLogs('info')
  const app = await service(t, () => Promise.reject(thrown), {}, logs)
  for (const [value, error] of rows) {
    thrown = value
    const path = await start(app)
    t.match(await ended(app, path), { status: 'Failed', error })
    const { status, body } = await ask(app, { url: path })
    t.equal(status, 200)
    t.notMatch(body, /secret|too little.*internal/)
    t.ok(body.length < 5_000, `${body.length} characters`)
  }
  const told = logs.lines.filter(({ msg }) => msg === "operations: 'work' failed")
  t.match(told[0], { err: { message: 'secret' } })
  t.equal(told.length, rows.length, 'an error that cannot be read has a line, too')
})

t.test('an owner that is not an id is a 500, and is refused by start()', async (t) => {
  for (const owner of [{ id: 7 }, '', Number.NaN, 1.5, true] as unknown as string[]) {
    const app = await service(t, never, { identify: () => owner })
    isProblem(t, await post(app), { status: 500, code: 'internal-server-error' })
    await t.rejects(app.operations.start('work', 1, { owner }), /is not an id/)
  }
})

t.test('who may not be told whether there is an operation is not told by an error either', async (t) => {
  const app = await service(t, never, {
    identify: ({ headers }) => {
      if (headers['x-caller'] === undefined) throw new ProblemError('unauthorized')
      return 'ann'
    },
  })
  const path = await start(app, { 'x-caller': 'ann' })
  const unauthorized = { status: 401, code: 'unauthorized' }
  for (const url of [path, `/v1/operations/${'0'.repeat(32)}`, '/v1/operations/x']) {
    isProblem(t, await ask(app, { url }), unauthorized, url)
  }
  isProblem(t, await post(app), unauthorized)
})

t.test('operations are started, found and cancelled apart from any request', async (t) => {
  const app = await service(t, untilAborted, { identify: byHeader })
  await app.ready()
  const { id } = await app.operations.start('work', 1, { owner: 7 })
  const { id: internal } = await app.operations.start('work')
  const seen = []
  for (const of of [id, internal])
    for (const headers of [{ 'x-caller': '7' }, {}])
      seen.push((await ask(app, { url: `/v1/operations/${of}`, headers })).status)
  t.strictSame(seen, [200, 404, 404, 404], 'by its owner; by nobody, if it has none')
  t.match(await app.operations.find(id), { id, link: { href: `/v1/operations/${id}` } })
  t.equal(await app.operations.find('x'), null)
  t.equal(await app.operations.cancel('x'), null)
  t.notOk('link' in sure(await app.operations.cancel(id)))
})

t.test('a request waits no longer than it takes, whenever the work ends', async (t) => {
  const { now, schedule } = manualClock(startOfClock)
  let turns = 0
  const work = async () => {
    for (let turn = 0; turn < turns; turn += 1) await null
  }
  const app = await service(t, work, { now, schedule })
  for (; turns < 60; turns += 1)
    t.equal((await post(app, { prefer: 'wait=10' })).status, 200, `${turns} turns`)
  t.equal(now(), Date.parse(startOfClock), 'no time went by')
})

t.test('a request that waits is answered as soon as its operation is cancelled', async (t) => {
  const { now, schedule, waiting } = manualClock(startOfClock)
  const store = memoryOperationStore()
  const app = await service(t, never, { store, engine: inProcessEngine({ concurrency: 1 }), now, schedule })
  await start(app)
  const asked = post(app, { prefer: 'wait=9' })
  await met(() => waiting(9_000) === 1)
  const queued = (await store.takeDue(all, all, 10)).find(({ run }) => run === 0)
  await app.operations.cancel(sure(queued).id)
  t.match(JSON.parse((await asked).body), { status: 'Failed', error: { code: 'operation-cancelled' } })
  t.equal(waiting(9_000), 0)
})

t.test('a cancellation waits ten seconds for the run to stop: then it may still succeed', async (t) => {
  const { now, schedule, advance, waiting } = manualClock(startOfClock)
  const app = await service(t, never, { now, schedule })
  const url = await start(app)
  await advance(0)
  // Sweeps have such a timer, too.
  const others = waiting(10_000)
  const cancelled = ask(app, { method: 'DELETE', url })
  await met(() => waiting(10_000) > others)
  await advance(10_000)
  const detail = /has not stopped yet: it may still succeed/
  isProblem(t, await cancelled, { status: 409, code: 'operation-not-cancellable', detail })
})

t.test('a client that goes away while it waits leaves nothing behind; the operation goes on', async (t) => {
  const { now, schedule, waiting } = manualClock(startOfClock)
  let begun = 0
  const work = () => {
    begun += 1
    return never()
  }
  const app = await service(t, work, { now, schedule })
  const { port } = await serve(t, app)
  const before = waiting()
  const connections = []
  for (let count = 0; count < 20; count += 1) {
    const connection = await openConnection(port)
    connection.send(requestBytes('POST', '/v1/work', { prefer: 'wait=7' }))
    connections.push(connection)
  }
  await met(() => waiting(7_000) === 20)
  t.equal(begun, 10, 'as many as run at the same time by default')
  for (const { socket } of connections) socket.destroy()
  await met(() => waiting(7_000) === 0)
  t.equal(waiting(), before + 20, 'each run has a timer for its time and one for its signs of life')
})

t.test('a full queue and a full store: 503, when to come back, and nothing was started', async (t) => {
  const held: (() => void)[] = []
  const work = () => new Promise<void>((resolve) => void held.push(resolve))
  const apps = [
    await service(t, work, { engine: inProcessEngine({ concurrency: 1, maxQueued: 1 }) }),
    await service(t, work, { store: memoryOperationStore({ maxOperations: 2 }) }),
  ]
  for (const app of apps) {
    for (let count = 0; count < 2; count += 1) await start(app)
    const refused = await post(app, { prefer: 'wait=3' })
    isProblem(t, refused, { status: 503, code: 'operations-full', detail: /nothing was started/ })
    t.equal(headerOf(refused, 'retry-after'), '5')
    t.notOk(headerOf(refused, 'location'))
  }
  await met(() => held.length === 3)
  for (const end of held) end()
  await met(() => held.length === 4)
  for (const app of apps) t.match(await start(app), /operations/, 'there is room again')
})

t.test('who starts and cancels over and over fills no queue', async (t) => {
  const app = await service(t, never, { engine: inProcessEngine({ concurrency: 1, maxQueued: 2 }) })
  await start(app)
  for (let count = 0; count < 20; count += 1) {
    t.equal((await ask(app, { method: 'DELETE', url: await start(app) })).status, 204)
  }
})

t.test('a caller who starts more than their share gets 429, and the others are served', async (t) => {
  const app = await service(t, untilAborted, {
    identify: byHeader,
    engine: inProcessEngine({ concurrency: 1, maxQueued: 20 }),
  })
  await start(app, { 'x-caller': 'eve' })
  // All callers who are not known have one share; what runs is no part of one.
  for (const caller of [{ 'x-caller': 'ada' }, {}, { 'x-caller': 'eve' }] as Record<string, string>[]) {
    for (let count = 0; count < 2; count += 1) await start(app, caller)
    const refused = await post(app, caller)
    isProblem(t, refused, { status: 429, code: 'quota-exceeded', detail: /your operations/ })
    t.match(headerOf(refused, 'retry-after'), /^[1-9]\d*$/)
  }
  await start(app, { 'x-caller': 'bob' })
})

t.test('an engine that cannot be reached: 503, no record, and one line of the log', async (t) => {
  const logs = keepLogs('info')
  const store = memoryOperationStore()
  const inner = inProcessEngine()
  let isBroken = true
  const enqueue = (job: OperationJob) => {
    if (isBroken) throw new TypeError('no such queue')
    return inner.enqueue(job)
  }
  const app = await service(
    t,
    () => {},
    { engine: { ...inner, enqueue: async (job) => enqueue(job) }, store },
    logs,
  )
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const refused = await post(app)
    isProblem(t, refused, { ...unavailable, detail: /may or may not/ })
    t.equal(headerOf(refused, 'retry-after'), '5')
    t.notMatch(refused.body, /queue/)
  }
  t.strictSame(await store.takeDue(all, all, 1), [], 'the record was taken away again')
  isBroken = false
  await start(app)
  const told = logs.lines.filter(({ part }) => part === 'starts')
  t.match(told, [{ level: 50, err: { message: 'no such queue' } }, { level: 30 }], 'and one when it is over')
  t.equal(told.length, 2)
})

t.test('a store that cannot be reached: 503, and one line of the log', async (t) => {
  const logs = keepLogs('info')
  const store = unruly(memoryOperationStore())
  const app = await service(t, () => {}, { store, identify: () => 'ann' }, logs)
  const path = await start(app)
  await ended(app, path)
  store.moods.get = 'fails'
  t.match(
    await start(app, { prefer: 'wait=1' }),
    /^\/v1\/operations\/[0-9a-f]{32}$/,
    'it cannot be waited for',
  )
  store.mood = 'fails'
  for (const [method, url] of [
    ['POST', '/v1/work'],
    ['GET', path],
    ['GET', `${path}/status`],
    ['DELETE', path],
    ['GET', '/v1/operations'],
  ] as const) {
    const answer = await ask(app, { method, url })
    isProblem(t, answer, unavailable, `${method} ${url}`)
    t.equal(headerOf(answer, 'retry-after'), '5')
    t.notMatch(answer.body, /ECONNREFUSED/)
  }
  const told = logs.lines.filter(({ part, level }) => part === 'store' && level === 50)
  t.match(told, [{ err: { message: /ECONNREFUSED/ } }])
  t.equal(told.length, 1)
})

t.test('a full queue, of another build of the package, or where the start cannot be undone', async (t) => {
  const memory = memoryOperationStore()
  const away = async () => Promise.reject(new Error('away'))
  // Another copy has another class; the name is the same.
  const ofOther = Object.assign(new Error('full'), { name: 'OperationQueueFullError' })
  const own = new OperationQueueFullError('full')
  const unknown = { ...unavailable, detail: /may or may not run/ }
  for (const [full, remove, problem] of [
    [ofOther, memory.remove, { status: 503, code: 'operations-full' }],
    [own, async () => false, unknown],
    [own, away, unknown],
  ] as const) {
    const engine = { ...inProcessEngine(), enqueue: async () => Promise.reject(full) }
    const app = await service(t, () => {}, { engine, store: { ...memory, remove } })
    isProblem(t, await post(app), problem)
  }
})

t.test('a store that is away for long fills no log', async (t) => {
  const { now, schedule, advance } = manualClock(startOfClock)
  const logs = keepLogs('info')
  const store = unruly(memoryOperationStore())
  const app = await service(t, never, { store, now, schedule }, logs)
  await app.ready()
  for (let count = 0; count < 10; count += 1) await app.operations.start('work')
  await advance(1_000)
  logs.lines.length = 0
  store.mood = 'fails'
  await advance(3_000_000)
  const told = logs.lines.filter(({ level }) => level >= 40)
  t.ok(told.length > 0 && told.length <= 5, `${told.length} lines in 50 minutes`)
  t.match(told[0], { err: {}, part: /./ })
  store.mood = 'well'
  await advance(60_000)
  t.ok(logs.lines.some(({ msg }) => msg === 'operations: the fault is over'))

  // One part that fails while another works fills it neither.
  const { id } = await app.operations.start('work')
  const { replace } = store
  store.replace = async (previous, next) => {
    if (next.id === id) throw new Error('an invalid record')
    return replace(previous, next)
  }
  logs.lines.length = 0
  await advance(600_000)
  const mixed = logs.lines.filter(({ msg }) => /cannot|is over/.test(msg ?? ''))
  t.ok(mixed.length > 0 && mixed.length <= 40, `${mixed.length} lines in ten minutes`)
})

t.test('a close lets runs end for `drain`, aborts, waits for `unwind`, and fails what is left', async (t) => {
  const { now, schedule, advance, waiting } = manualClock(startOfClock)
  const store = memoryOperationStore()
  const begun: { readonly signal: AbortSignal; end(): void }[] = []
  const work = ({ signal }: OperationContext) =>
    new Promise<void>((resolve) => void begun.push({ signal, end: resolve }))
  const engine = inProcessEngine({ concurrency: 2 })
  const app = await service(t, work, { store, engine, drain: '5s', unwind: '10s', now, schedule })
  await app.ready()
  const ids: string[] = []
  for (let count = 0; count < 3; count += 1) ids.push((await app.operations.start('work')).id)
  await advance(0)
  const closed = app.close()
  await met(() => waiting(5_000) === 1)
  await advance(4_999)
  begun[0]?.end()
  await advance(0)
  t.notOk(begun[1]?.signal.aborted)
  t.equal(await Promise.race([closed.then(() => 'closed'), pause(20, 'it waits')]), 'it waits')
  await advance(1)
  t.ok(begun[1]?.signal.aborted)
  t.equal(waiting(10_000), 1, 'the handler has the time `unwind` to stop')
  await advance(10_000)
  await closed
  t.equal(begun.length, 2, 'the waiting operation was not begun')
  const interrupted = { status: 'Failed', error: { code: 'operation-interrupted' } }
  t.match(await Promise.all(ids.map(store.get)), [{ status: 'Succeeded' }, interrupted, interrupted])
  t.equal(waiting(), 0, 'no timer is left')
})

t.test('closing does not wait for those who wait', async (t) => {
  const app = await service(t, never)
  const { port } = await serve(t, app)
  const connection = await openConnection(port)
  connection.send(requestBytes('POST', '/v1/work', { prefer: 'wait=3600' }))
  await pause(100)
  const begun = Date.now()
  await app.close()
  t.match(await connection.ended(), /^HTTP\/1\.1 202 /)
  t.ok(Date.now() - begun < 5_000)
})

t.test('two requests at once that start the same for a resource: 202 and 409', async (t) => {
  const app = await service(t, never)
  await app.register(swagger, { openapi: { openapi: '3.1.0' } })
  const ends: (() => void)[] = []
  const work = () => new Promise<void>((resolve) => void ends.push(resolve))
  app.operations.define('orders.pay', { onePer: 'id' }, work)
  const config = { operations: { starts: 'orders.pay' } }
  app.post('/v1/orders/:id/pay', { config }, async ({ params }, reply) =>
    reply.startOperation('orders.pay', params),
  )
  const pay = (id: number) => post(app, {}, `/v1/orders/${id}/pay`)
  const answers = await Promise.all([pay(7), pay(7), pay(8)])
  t.strictSame(answers.map(({ status }) => status).sort(), [202, 202, 409])
  const again = await pay(7)
  isProblem(t, again, { status: 409, code: 'operation-in-progress', detail: /no operation was started/ })
  for (const end of ends) end()
  for (const answer of answers)
    if (answer.status === 202) await ended(app, sure(headerOf(answer, 'location')))
  t.equal(ends.length, 2)
  t.equal((await pay(7)).status, 202, 'it has ended')
  const responses = withoutReferences(app.swagger()).paths?.['/v1/orders/{id}/pay']?.post?.responses
  t.match(JSON.stringify(responses?.[409]), /"operation-in-progress"/, 'the document has the 409')
})

t.test('a route names what it starts: an unknown one is found when the app gets ready', async (t) => {
  const app = await bare(t)
  app.operations.define('work', never)
  for (const wrong of [true, 'work', { starts: 7 }, { start: 'work' }]) {
    const config = { operations: wrong as false }
    const message = /POST \/v1\/work config\.operations/
    t.throws(() => app.post('/v1/work', { config }, async () => ({})), { message })
  }
  app.post('/v1/other', { config: { operations: { starts: 'wrok' } } }, async () => ({}))
  await t.rejects(async () => app.ready(), {
    code: 'FST_CONV_OPERATION_UNKNOWN',
    message: /'wrok'; the defined operations are: work/,
  })
})

t.test('with a shared store, operations run as soon as the app listens', async (t) => {
  const app = await bare(t, { store: unruly(memoryOperationStore()) })
  app.operations.define('work', async () => {})
  await app.ready()
  const { id } = await app.operations.start('work')
  await pause(20)
  t.match(await app.operations.find(id), { status: 'In progress' })
  await serve(t, app)
  t.match(await ended(app, id), { status: 'Succeeded' })
})

t.test('HEAD answers as GET does, without a body', async (t) => {
  const app = await service(t, () => ({ resource: '/v1/payments/8' }))
  const url = await start(app)
  await ended(app, url)
  const [head, get] = [await ask(app, { method: 'HEAD', url }), await ask(app, { url })]
  t.strictSame([head.status, head.body], [303, ''])
  for (const name of ['content-length', 'location']) t.equal(headerOf(head, name), headerOf(get, name))
})

t.test('below a prefix the URLs have it; one with parameters is refused, since it has no URL', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const api = async (api: FastifyInstance) => {
    await api.register(operations, { path: '/v2/jobs', drain: 0, unwind: 0 })
    api.operations.define('work', { cancellable: true }, untilAborted)
    api.post('/v2/work', async (_, reply) => reply.startOperation('work'))
  }
  await app.register(api, { prefix: '/api' })
  t.notOk(app.hasDecorator('operations'), 'what is beside it has none')
  const answer = await post(app, {}, '/api/v2/work')
  const path = sure(headerOf(answer, 'location'))
  t.match(path, /^\/api\/v2\/jobs\/[0-9a-f]{32}$/)
  t.match(JSON.parse(answer.body), { link: { href: path } })
  t.equal((await ask(app, { url: sure(headerOf(answer, 'operation-location')) })).status, 200)
  t.equal((await ask(app, { method: 'DELETE', url: path })).status, 204)

  const tenant = Fastify()
  t.teardown(() => tenant.close())
  tenant.register(api, { prefix: '/:tenant' })
  await t.rejects(async () => tenant.ready(), { code: 'FST_CONV_OPTION_INVALID', message: /\/:tenant/ })
})

t.test('a child defines operations of the context above it', async (t) => {
  const app = await bare(t)
  app.register(
    async (child) => {
      child.operations.define('work', async () => ({ result: 'done' }))
      child.post('/work', async (_, reply) => reply.startOperation('work'))
    },
    { prefix: '/v1/below' },
  )
  const document = JSON.parse((await post(app, { prefer: 'wait=5' }, '/v1/below/work')).body)
  t.match(document, { result: 'done' })
  t.equal((await ask(app, { url: `/v1/operations/${document.id}` })).status, 200)
})

t.test('an app that defines no operation has no routes, no timers and touches no store', async (t) => {
  const { now, schedule, waiting } = manualClock(startOfClock)
  const store = unruly(memoryOperationStore())
  const app = await bare(t, { store, now, schedule })
  const { define } = app.operations as unknown as { define(...given: readonly unknown[]): void }
  for (const given of [[], ['work'], ['work', {}, 7], ['work', 'cancellable', never]])
    t.throws(() => define(...given), { code: 'FST_CONV_OPTION_INVALID', message: /operations\.define\(/ })
  app.get('/v1/operations/:id', async () => ({ of: 'the app' }))
  app.post('/v1/work', async (_, reply) => reply.startOperation('work'))
  t.equal((await ask(app, { url: '/v1/operations/7' })).body, '{"of":"the app"}')
  t.equal((await post(app)).status, 500)
  await app.close()
  t.equal(waiting(), 0)
  t.strictSame(store.calls, {})
})

t.test('not ready: whole seconds, progress of every kind', async (t) => {
  const app = await service(t, never)
  type Given = readonly [seconds: number, progress?: number]
  let given: Given = [3]
  app.get('/v1/file', async (_, reply) => reply.notReady(...given))
  const headers = { 'retry-after': '3', 'cache-control': 'no-store' }
  const accepted = (more = '') => ({ status: 202, headers, body: `{"status":"In progress"${more}}` })
  const rows: readonly (readonly [given: Given, answer: object])[] = [
    [[3], accepted()],
    [[3, 0.5], accepted(',"progress":0.5')],
    [[3, 50], accepted(',"progress":1')],
    [[3, Number.NaN], accepted()],
    ...[0, 1.5, Number.NaN].map((seconds) => [[seconds], { status: 500 }] as const),
  ]
  for (const [next, answer] of rows) {
    given = next
    t.match(await ask(app, { url: '/v1/file' }), answer)
  }
})

t.test('a start that fails lets go of what it had taken', async (t) => {
  const released: string[] = []
  const engine = {
    ...inProcessEngine(),
    start: async () => Promise.reject(new Error('run its migration')),
    close: async () => void released.push('engine'),
  }
  const app = await service(t, never, { engine })
  await t.rejects(async () => app.ready(), /run its migration/)
  await app.close()
  t.strictSame(released, ['engine'])
})

t.test('a start with the same Idempotency-Key of the same caller is the first one', async (t) => {
  const runs: string[] = []
  const work = ({ operationId }: OperationContext) => {
    runs.push(operationId)
    return never()
  }
  const app = await service(t, work, { identify: byHeader })
  const key = { 'idempotency-key': 'a' }
  const ann = { 'x-caller': 'ann' }
  const first = await start(app, { ...key, ...ann })
  t.equal(await start(app, { ...key, ...ann }), first)
  const others = [{ ...key, 'x-caller': 'bob' }, { ...ann, 'idempotency-key': 'b' }, ann, ann, key, key]
  const paths = [first]
  for (const headers of others as Record<string, string>[]) paths.push(await start(app, headers))
  t.strictSame(
    runs,
    paths.map((path) => path.slice(-32)),
  )
  t.equal(new Set(runs).size, 7, 'another caller, another key, none, and callers who are not known')
})

t.test('a start whose process died before it was queued is queued by the same start again', async (t) => {
  const engine = inProcessEngine()
  let isDown = true
  const enqueue = (job: OperationJob) =>
    isDown ? Promise.reject(new Error('the process dies')) : engine.enqueue(job)
  const store = { ...memoryOperationStore(), remove: async () => false }
  const app = await service(t, () => {}, { store, engine: { ...engine, enqueue }, identify: () => 'ann' })
  const key = { 'idempotency-key': 'a' }
  t.equal((await post(app, key)).status, 503)
  isDown = false
  t.match(await ended(app, await start(app, key)), { status: 'Succeeded' })
})

t.test('polls of one operation are limited in a window; beyond it, a client has to wait', async (t) => {
  const limit = pollLimit(3)
  const counted = [0, 1_000, 2_000, 3_000, 59_999].map((now) => limit('a', now))
  t.strictSame(counted, [null, null, null, 57_000, 1])
  t.equal(limit('b', 3_000), null, 'each operation has its own window')
  t.equal(limit('a', 60_000), null, 'polls beyond the limit do not prolong the window')
})

t.test('the polls of the 10,000 operations that were polled last are counted', async (t) => {
  const limit = pollLimit(1)
  for (let index = 0; index < 10_000; index += 1) limit(`operation ${index}`, 0)
  t.equal(limit('operation 0', 1), 59_999)
  limit('one more', 0)
  t.equal(limit('operation 0', 1), 59_999)
  t.equal(limit('operation 1', 1), null)
})
