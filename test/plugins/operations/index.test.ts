/** Operations by themselves: input and handlers of every kind, requests that wait, stores that fail, closing. */
import { setTimeout as pause } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { ProblemError } from '../../../src/index.js'
import { pollLimit } from '../../../src/plugins/operations/hooks.js'
import {
  inProcessEngine,
  memoryOperationStore,
  type OperationContext,
  OperationQueueFullError,
  type OperationsOptions,
  operations,
} from '../../../src/plugins/operations/index.js'
import { manualClock } from '../../support/manual-clock.js'
import { headerOf, injected, isProblem } from '../../support/problem.js'
import { openConnection, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'
import { handEngine, openProcess, unruly } from './process.js'
import { protocolRows } from './protocol-rows.js'
import { start as startOfClock, sure } from './samples.js'

const never = () => new Promise<never>(() => {})
const untilAborted = ({ signal }: OperationContext) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
const all = Number.MAX_SAFE_INTEGER
const byHeader: OperationsOptions['identify'] = ({ headers }) => (headers['x-caller'] as string) ?? null
const unavailable = { status: 503, code: 'operations-unavailable' }

async function bare(t: Test, options: OperationsOptions = {}) {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, { drain: 0, unwind: 0, ...options })
  return app
}

const met = (isMet: () => boolean) => until(async () => isMet(), Boolean, 10_000, 5)

t.test('the rows of the protocol over sockets, in one process', async (t) =>
  protocolRows(t, { openStore: () => memoryOperationStore(), openEngine: () => inProcessEngine() }),
)

t.test('an input that is too long, or that is not JSON, is refused and starts nothing', async (t) => {
  const inputs: unknown[] = []
  const work = ({ input }: OperationContext) => void inputs.push(input)
  const { ask, begin, ended } = await openProcess(t, { work, maxLength: 100 })
  const answer = await ask({ method: 'POST', url: '/v1/works', payload: { text: 'x'.repeat(200) } })
  isProblem(t, answer, { status: 413, code: 'content-too-large', detail: /longer than 100 characters/ })
  const circle: Record<string, unknown> = {}
  circle.self = circle
  // A fault of the app is not a 413.
  for (const input of [Symbol('x'), () => 1, circle]) await t.rejects(begin({}, input), { name: 'TypeError' })
  for (const depth of [5_000, 100_000]) {
    const deep = JSON.parse('['.repeat(depth) + ']'.repeat(depth))
    for (const input of ['x'.repeat(99), deep, { deep, id: 2n ** 60n }])
      await t.rejects(begin({}, input), { code: 'content-too-large', statusCode: 413 })
  }
  const given = { id: 9007199254740993n, at: new Date(0), text: '\u0000 \ud800 ü' }
  await ended(await begin({}, given))
  t.strictSame(inputs, [{ ...given, at: '1970-01-01T00:00:00.000Z' }], 'others come with all digits')
  const ofPrototype = JSON.parse('{"__proto__":{"a":1}}')
  for (const input of [undefined, null, '', 2n ** 60n, ofPrototype, 'x'.repeat(98)]) {
    await ended(await begin({}, input))
    t.strictSame(inputs.pop(), input)
  }
})

t.test('whatever a handler throws, the client is told what it may know', async (t) => {
  const hidden = { code: 'internal-server-error', status: 500, detail: /cause is in the log/ }
  const circle: unknown[] = []
  circle.push(circle)
  const issue = { in: 'body', pointer: '/a', message: 'too little' } as const
  const problem = (errors: unknown) => new ProblemError('too-bad', { status: 422, errors: errors as never })
  const down = new ProblemError('down', { status: 502, detail: 'secret', errors: [issue] })
  const broken = new ProblemError('broken', { status: 500, detail: 'secret', errors: [issue] })
  const secretly = () => {
    throw new Error('secret')
  }
  const rows: readonly (readonly [thrown: unknown, error: object])[] = [
    [new Error('secret'), hidden],
    ...['secret', undefined, { secret: true }].map((thrown) => [thrown, hidden] as const),
    [Object.assign(new Error('not that one'), { statusCode: 404 }), { status: 404, detail: 'not that one' }],
    [new ProblemError('paid', { status: 409, detail: 'd'.repeat(5_000) }), { code: 'paid', message: /^d/ }],
    [down, { ...hidden, code: 'down', status: 502 }],
    [broken, { ...hidden, code: 'broken', errors: undefined }],
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
  const { ask, start, ended, lines } = await openProcess(t, { work: () => Promise.reject(thrown) })
  for (const [value, error] of rows) {
    thrown = value
    const path = await start()
    t.match(await ended(path), { status: 'Failed', error, finished_at: /^\d{4}-.*Z$/ })
    const { status, body } = await ask({ url: path })
    t.equal(status, 200)
    t.notMatch(body, /secret|too little.*internal/)
    t.ok(body.length < 5_000, `${body.length} characters`)
  }
  const told = lines.filter(({ msg }) => msg === "operations: 'work' failed")
  t.match(told[0], { err: { message: 'secret' } })
  const levelOf = (code: string) => told.find(({ err }) => Reflect.get(Object(err), 'code') === code)?.level
  t.strictSame(['paid', 'broken'].map(levelOf), [30, 50])
  t.equal(told.length, rows.length, 'an error that cannot be read has a line, too')
})

t.test('an owner that is not an id is a 500, and is refused by start()', async (t) => {
  for (const owner of [{ id: 7 }, '', Number.NaN, 1.5, true] as unknown as string[]) {
    const { begin, post } = await openProcess(t, { identify: () => owner })
    isProblem(t, await post(), { status: 500, code: 'internal-server-error' })
    await t.rejects(begin({ owner }), /is not an id/)
  }
})

t.test('who may not be told whether there is an operation is not told by an error either', async (t) => {
  const identify: OperationsOptions['identify'] = ({ headers }) => {
    if (headers['x-caller'] === undefined) throw new ProblemError('unauthorized')
    return 'ann'
  }
  const { ask, post, start } = await openProcess(t, { identify })
  const path = await start({ 'x-caller': 'ann' })
  const unauthorized = { status: 401, code: 'unauthorized' }
  for (const url of [path, `/v1/operations/${'0'.repeat(32)}`, '/v1/operations/x']) {
    isProblem(t, await ask({ url }), unauthorized, url)
  }
  isProblem(t, await post(), unauthorized)
})

t.test('operations are started, found and cancelled apart from any request', async (t) => {
  const { app, ask, begin } = await openProcess(t, { work: untilAborted, identify: byHeader })
  const id = await begin({ owner: 7 })
  const seen = []
  for (const of of [id, await begin()])
    for (const headers of [{ 'x-caller': '7' }, {}])
      seen.push((await ask({ url: `/v1/operations/${of}`, headers })).status)
  t.strictSame(seen, [200, 404, 404, 404], 'by its owner; by nobody, if it has none')
  t.match(await app.operations.find(id), { id, link: { href: `/v1/operations/${id}` } })
  t.equal(await app.operations.find('x'), null)
  t.equal(await app.operations.cancel('x'), null)
  t.notOk('link' in sure(await app.operations.cancel(id)))
})

t.test('a request waits no longer than it takes, whenever the work ends', async (t) => {
  let turns = 0
  const work = async () => {
    for (let turn = 0; turn < turns; turn += 1) await null
  }
  const { post } = await openProcess(t, { work })
  // The clock stands still.
  for (; turns < 60; turns += 1) t.equal((await post({ prefer: 'wait=10' })).status, 200, `${turns} turns`)
})

t.test('a cancellation waits ten seconds for the run to stop: then it may still succeed', async (t) => {
  const { ask, start, clock } = await openProcess(t)
  const url = await start()
  const cancelled = ask({ method: 'DELETE', url })
  await clock.advance(0)
  await clock.advance(9_999)
  t.equal(await Promise.race([cancelled, pause(20, 'it waits')]), 'it waits')
  await clock.advance(1)
  const detail = /has not stopped yet: it may still succeed/
  isProblem(t, await cancelled, { status: 409, code: 'operation-not-cancellable', detail })
})

t.test('a client that goes away while it waits leaves nothing behind; the operation goes on', async (t) => {
  const { app, clock, contexts } = await openProcess(t, { isShared: false })
  const { waiting } = clock
  const { port } = await serve(t, app)
  const before = waiting()
  const connections = await Promise.all(Array.from({ length: 20 }, () => openConnection(port)))
  for (const { send } of connections) send(requestBytes('POST', '/v1/works', { prefer: 'wait=7' }))
  await met(() => waiting(7_000) === 20)
  t.equal(contexts.length, 10, 'as many as run at the same time by default')
  for (const { socket } of connections) socket.destroy()
  await met(() => waiting(7_000) === 0)
  t.equal(waiting(), before + 20, 'each run has a timer for its time and one for its signs of life')
})

t.test('a full queue and a full store: nothing is started until there is room again', async (t) => {
  const engine = inProcessEngine({ concurrency: 1, maxQueued: 1 })
  for (const options of [{ engine }, { memory: memoryOperationStore({ maxOperations: 2 }) }]) {
    const { post, start, end } = await openProcess(t, { ...options, isShared: false })
    for (let count = 0; count < 2; count += 1) await start()
    const refused = await post({ prefer: 'wait=3' })
    isProblem(t, refused, { status: 503, code: 'operations-full', detail: /nothing was started/ })
    t.equal(headerOf(refused, 'retry-after'), '5')
    t.notOk(headerOf(refused, 'location'))
    await end()
    await start()
  }
})

t.test('who starts and cancels over and over fills no queue', async (t) => {
  const { ask, start } = await openProcess(t, { engine: inProcessEngine({ concurrency: 1, maxQueued: 2 }) })
  await start()
  for (let count = 0; count < 3; count += 1)
    t.equal((await ask({ method: 'DELETE', url: await start() })).status, 204)
})

t.test('a caller who starts more than their share gets 429, and the others are served', async (t) => {
  const engine = inProcessEngine({ concurrency: 1, maxQueued: 20 })
  const { post, start } = await openProcess(t, { identify: byHeader, engine })
  await start({ 'x-caller': 'eve' })
  // All callers who are not known have one share; what runs is no part of one.
  for (const caller of [{ 'x-caller': 'ada' }, {}, { 'x-caller': 'eve' }] as Record<string, string>[]) {
    for (let count = 0; count < 2; count += 1) await start(caller)
    const refused = await post(caller)
    isProblem(t, refused, { status: 429, code: 'quota-exceeded', detail: /your operations/ })
    t.match(headerOf(refused, 'retry-after'), /^[1-9]\d*$/)
  }
  await start({ 'x-caller': 'bob' })
})

t.test('a start that the engine does not take: 503, and one line of the log', async (t) => {
  const full = new OperationQueueFullError('the queue is full')
  // Another copy of the package has another class; the name is the same.
  const ofOther = Object.assign(new Error('the queue is full'), { name: 'OperationQueueFullError' })
  const refused = { status: 503, code: 'operations-full', detail: /nothing was started/ }
  const unknown = { ...unavailable, detail: /may or may not run/ }
  for (const [cause, remove, problem] of [
    [ofOther, null, refused],
    [new TypeError('no such queue'), null, unknown],
    [full, async () => false, unknown],
    [full, async () => Promise.reject(new Error('away')), unknown],
  ] as const) {
    const engine = handEngine({ enqueue: async () => Promise.reject(cause) })
    const { post, start, store, memory, lines, events } = await openProcess(t, { engine })
    if (remove !== null) store.remove = remove
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const answer = await post()
      isProblem(t, answer, problem)
      t.equal(headerOf(answer, 'retry-after'), '5')
      t.notMatch(answer.body, /queue/)
    }
    const stays = remove === null ? 0 : 3
    t.equal((await memory.takeDue(all, all, 9)).length, stays, 'the record is taken away again, if it can be')
    t.equal(events().length, stays, 'a start has an event if its record stays')
    engine.enqueue = async () => {}
    await start()
    const told = lines.filter(({ part }) => part === 'starts')
    t.match(told, [{ level: 50, err: { message: cause.message } }, { level: 30 }], 'and one when it is over')
    t.equal(told.length, 2)
  }
})

t.test('a store that cannot be reached: 503, and one line of the log', async (t) => {
  const options = { work: () => {}, identify: () => 'ann', isShared: false }
  const { ask, start, ended, store, lines, clock, faultsOf } = await openProcess(t, options)
  const path = await start()
  await ended(path)
  store.moods.get = 'fails'
  const waiting = start({ prefer: 'wait=1' })
  await clock.advance(0)
  await clock.advance(1_000)
  t.match(await waiting, /^\/v1\/operations\/[0-9a-f]{32}$/, 'it cannot be waited for')
  store.mood = 'fails'
  const asked = [
    { method: 'POST', url: '/v1/works' },
    { method: 'DELETE', url: path },
  ] as const
  for (const request of [...asked, { url: path }, { url: `${path}/status` }, { url: '/v1/operations' }]) {
    const answer = await ask(request)
    isProblem(t, answer, unavailable, request.url)
    t.equal(headerOf(answer, 'retry-after'), '5')
    t.notMatch(answer.body, /ECONNREFUSED/)
  }
  const told = lines.filter(({ part, level }) => part === 'store' && level === 50)
  t.match(told, [{ err: { message: /ECONNREFUSED/ } }])
  t.equal(told.length, 1)
  Object.assign(store, { mood: 'well', moods: {} })
  t.equal((await ask({ url: path })).status, 200)
  t.match(faultsOf('store').at(-1), /the fault is over/)
})

t.test('a store that is away for long, or fails for one operation, fills no log', async (t) => {
  const { clock, store, lines, begin } = await openProcess(t)
  const id = await begin()
  for (let count = 0; count < 10; count += 1) await begin()
  await clock.advance(1_000)
  store.mood = 'fails'
  await clock.advance(600_000)
  const told = lines.filter(({ level }) => level >= 40)
  t.ok(told.length > 0 && told.length <= 5, `${told.length} lines in ten minutes`)
  store.mood = 'well'
  await clock.advance(60_000)
  t.ok(lines.some(({ msg }) => msg === 'operations: the fault is over'))
  lines.length = 0
  const { replace } = store
  store.replace = async (previous, next) => {
    if (next.id === id) throw new Error('an invalid record')
    return replace(previous, next)
  }
  await clock.advance(600_000)
  const mixed = lines.filter(({ part }) => part !== undefined)
  t.ok(mixed.length > 0 && mixed.length <= 60, `${mixed.length} lines in ten minutes`)
})

t.test('closing does not wait for those who wait', async (t) => {
  const { app, clock } = await openProcess(t)
  const { port } = await serve(t, app)
  const connection = await openConnection(port)
  connection.send(requestBytes('POST', '/v1/works', { prefer: 'wait=7' }))
  await met(() => clock.waiting(7_000) === 1)
  await app.close()
  t.match(await connection.ended(), /^HTTP\/1\.1 202 /)
})

t.test('a route names what it starts: an unknown one is found when the app gets ready', async (t) => {
  const app = await bare(t)
  app.operations.define('work', never)
  for (const wrong of [true, 'work', { starts: 7 }, { start: 'work' }]) {
    const config = { operations: wrong as false }
    const message = /POST \/v1\/work config\.operations/
    t.throws(() => app.post('/v1/work', { config }, async () => ({})), { message })
  }
  const config = { operations: { starts: 'wrok' } }
  app.post('/v1/other', { config }, async () => ({}))
  app.route({ method: ['GET', 'PUT'], url: '/v1/safe', config: config as object, handler: async () => ({}) })
  const unknown = { code: 'FST_CONV_OPERATION_UNKNOWN', message: /'wrok'; the defined operations are: work/ }
  await t.rejects(async () => app.ready(), unknown)
  t.match(app.conventions.report().findings, [{ rule: 'method', route: 'GET, PUT /v1/safe', effect: 'none' }])
})

t.test('with a shared store, operations run as soon as the app listens', async (t) => {
  const { app, begin, record, ended, clock } = await openProcess(t, { work: () => {}, works: false })
  const id = await begin()
  await clock.advance(0)
  t.match(await record(id), { status: 'In progress', run: 0 })
  await serve(t, app)
  t.match(await ended(id), { status: 'Succeeded' })
})

t.test('below a prefix the URLs have it; one with parameters is refused, since it has no URL', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const ask = async (method: 'GET' | 'POST' | 'DELETE', url = '') =>
    injected(await app.inject({ method, url }))
  const api = async (api: FastifyInstance) => {
    await api.register(operations, { path: '/v2/jobs', drain: 0, unwind: 0 })
    // What a context below defines is an operation of this one.
    api.register(
      async (child) => {
        child.operations.define('work', { cancellable: true }, untilAborted)
        child.post('/work', async (_, reply) => reply.startOperation('work'))
      },
      { prefix: '/v2/below' },
    )
  }
  await app.register(api, { prefix: '/api' })
  t.notOk(app.hasDecorator('operations'), 'what is beside it has none')
  const answer = await ask('POST', '/api/v2/below/work')
  const path = sure(headerOf(answer, 'location'))
  t.match(path, /^\/api\/v2\/jobs\/[0-9a-f]{32}$/)
  t.match(JSON.parse(answer.body), { link: { href: path } })
  t.equal((await ask('GET', headerOf(answer, 'operation-location'))).status, 200)
  t.equal((await ask('DELETE', path)).status, 204)

  const tenant = Fastify()
  t.teardown(() => tenant.close())
  tenant.register(api, { prefix: '/:tenant' })
  await t.rejects(async () => tenant.ready(), { code: 'FST_CONV_OPTION_INVALID', message: /\/:tenant/ })
})

t.test('below a prefix with a version, the version is not in the path of operations again', async (t) => {
  for (const [prefix, path, options = {}] of [
    ['/api/v1', '/api/v1/operations'],
    ['/v2/admin', '/v2/admin/operations'],
    ['/v1x', '/v1x/v1/operations'],
    ['/v1', '/v1/v1/operations', { path: '/v1/operations' }],
  ] as const) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(
      async (api) => {
        await api.register(operations, options)
        api.operations.define('work', async () => {})
      },
      { prefix },
    )
    t.ok(app.hasRoute({ method: 'GET', url: `${path}/:id` }), path)
  }
})

t.test('an app that defines no operation has no routes, no timers and touches no store', async (t) => {
  const { now, schedule, waiting } = manualClock(startOfClock)
  const store = unruly(memoryOperationStore())
  const app = await bare(t, { store, now, schedule })
  app.get('/v1/operations/:id', async () => ({ of: 'the app' }))
  app.post('/v1/work', async (_, reply) => reply.startOperation('work'))
  t.equal((await app.inject('/v1/operations/7')).payload, '{"of":"the app"}')
  t.equal((await app.inject({ method: 'POST', url: '/v1/work' })).statusCode, 500)
  await app.close()
  t.equal(waiting(), 0)
  t.strictSame(store.calls, {})
})

t.test('not ready: whole seconds, and a progress that is made one from 0 to 1', async (t) => {
  const app = await bare(t)
  app.get('/v1/file', async ({ query }, reply) => {
    const { seconds, progress } = query as Record<string, string>
    return reply.notReady(Number(seconds), ...(progress === undefined ? [] : [Number(progress)]))
  })
  const headers = { 'retry-after': '3', 'cache-control': 'no-store' }
  for (const [query, more] of [
    ['seconds=3', ''],
    ['seconds=3&progress=50', ',"progress":1'],
  ]) {
    const body = `{"status":"In progress"${more}}`
    t.match(injected(await app.inject(`/v1/file?${query}`)), { status: 202, headers, body })
  }
  for (const seconds of ['0', '1.5', 'NaN'])
    t.equal((await app.inject(`/v1/file?seconds=${seconds}`)).statusCode, 500)
})

t.test('a start that fails lets go of what it had taken', async (t) => {
  let closes = 0
  const start = async () => Promise.reject(new Error('run its migration'))
  const engine = handEngine({ isShared: false, start, close: async () => void closes++ })
  const app = await bare(t, { engine })
  app.operations.define('work', never)
  await t.rejects(async () => app.ready(), /run its migration/)
  await app.close()
  t.equal(closes, 1)
})

t.test('a start with the same Idempotency-Key of the same caller is the first one', async (t) => {
  const { start, contexts } = await openProcess(t, { identify: byHeader })
  const key = { 'idempotency-key': 'a' }
  const ann = { 'x-caller': 'ann' }
  const first = await start({ ...key, ...ann })
  t.equal(await start({ ...key, ...ann }), first)
  const others = [{ ...key, 'x-caller': 'bob' }, { ...ann, 'idempotency-key': 'b' }, ann, ann, key, key]
  for (const headers of others as Record<string, string>[]) await start(headers)
  const runs = new Set(contexts.map(({ operationId }) => operationId))
  t.equal(runs.size, 7, 'another caller, another key, none, and callers who are not known')
})

t.test('a start whose process died before it was queued is queued by the same start again', async (t) => {
  const engine = handEngine({ enqueue: async () => Promise.reject(new Error('the process dies')) })
  const { post, start, store } = await openProcess(t, { engine, identify: () => 'ann' })
  store.remove = async () => false
  const key = { 'idempotency-key': 'a' }
  t.equal((await post(key)).status, 503)
  engine.enqueue = async (job) => void engine.jobs.push(job)
  const path = await start(key)
  t.match(engine.jobs, [{ id: path.slice(-32) }])
})

t.test('polls of one operation are limited in a window, of the 10,000 that were polled last', async (t) => {
  const polls = pollLimit(3)
  const counted = [0, 1_000, 2_000, 3_000, 59_999].map((now) => polls('a', now))
  t.strictSame(counted, [null, null, null, 57_000, 1])
  t.equal(polls('a', 60_000), null, 'polls beyond the limit do not prolong the window')
  const limit = pollLimit(1)
  for (let index = 0; index < 10_000; index += 1) limit(`operation ${index}`, 0)
  t.equal(limit('operation 0', 1), 59_999)
  limit('one more', 0)
  t.equal(limit('operation 0', 1), 59_999)
  t.equal(limit('operation 1', 1), null)
})
