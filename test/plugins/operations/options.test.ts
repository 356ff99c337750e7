/** Options of the plugin: what is refused, what goes together, and what they change. */
import Fastify from 'fastify'
import t from 'tap'
import {
  inProcessEngine,
  memoryOperationStore,
  type OperationsOptions,
  operations,
} from '../../../src/plugins/operations/index.js'
import { sure } from './samples.js'

const invalid = 'FST_CONV_OPTION_INVALID'

t.test('options that are wrong are refused at registration, by their name', async (t) => {
  const rows: readonly (readonly [options: unknown, message: RegExp, code?: string])[] = [
    [{ path: '' }, /operations\.path: expected a path/],
    [{ path: 'v1/operations' }, /operations\.path/],
    [{ path: '/v1/operations/' }, /operations\.path/],
    [{ path: '/v1/:tenant/operations' }, /operations\.path: .*without parameters/],
    [{ path: '/v1/*' }, /operations\.path/],
    [{ path: '/v1/operations?a=b' }, /operations\.path/],
    [{ path: '/v1/arbeitsvorgänge' }, /operations\.path/],
    [{ store: {} }, /operations\.store: expected a store of operations/],
    [{ store: { ...memoryOperationStore(), due: undefined } }, /operations\.store/],
    [{ store: { ...memoryOperationStore(), isShared: undefined } }, /operations\.store/],
    [{ engine: () => {} }, /operations\.engine: expected an engine/],
    [{ engine: { ...inProcessEngine(), isShared: true } }, /operations\.store: expected a shared store/],
    [{ identify: 'x-caller' }, /operations\.identify/],
    [{ retention: '12 parsecs' }, /operations\.retention: expected at least a second/],
    [{ retention: 999 }, /operations\.retention/],
    [{ lease: 0 }, /operations\.lease/],
    [{ lease: Number.NaN }, /operations\.lease/],
    [{ retryAfter: { min: 0 } }, /operations\.retryAfter\.min: expected an integer from 1/],
    [{ retryAfter: { min: 40 } }, /operations\.retryAfter\.min: expected at most max \(30\)/],
    [{ retryAfter: { maximum: 3 } }, /operations\.retryAfter\.maximum/, 'FST_CONV_OPTION_UNKNOWN'],
    [{ polls: true }, /operations\.polls: expected an object/],
    [{ polls: { max: 0 } }, /operations\.polls\.max/],
    [{ polls: { timeWindow: 10 } }, /operations\.polls\.timeWindow/],
    [{ maxWait: -1 }, /operations\.maxWait: expected an integer from 0 to 3600/],
    [{ maxLength: 0 }, /operations\.maxLength/],
    [{ drain: 500 }, /operations\.drain/],
    [{ storeTimeout: '1ms' }, /operations\.storeTimeout/],
    [{ now: 0 }, /operations\.now/],
    [{ schedule: 0 }, /operations\.schedule/],
    [{ paths: '/v1' }, /operations\.paths: there is no such option/, 'FST_CONV_OPTION_UNKNOWN'],
  ]
  for (const [options, message, code = invalid] of rows) {
    const app = Fastify()
    await t.rejects(async () => app.register(operations, options as OperationsOptions), { code, message })
  }
})

t.test('registered twice for the same context it is refused', async (t) => {
  const app = Fastify()
  await app.register(operations)
  await t.rejects(async () => app.register(operations), { code: 'FST_CONV_ALREADY_REGISTERED' })
})

t.test('what is passed as undefined is not set', async (t) => {
  const options: Record<string, unknown> = { retryAfter: { min: undefined }, polls: { max: undefined } }
  for (const name of [
    'path',
    'store',
    'engine',
    'identify',
    'retention',
    'lease',
    'maxWait',
    'maxLength',
    'drain',
    'now',
    'schedule',
  ]) {
    options[name] = undefined
  }
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, options)
  app.operations.define(
    'work',
    { cancellable: undefined, maxRuns: undefined, timeout: undefined } as object,
    async () => {},
  )
  app.post('/v1/work', async (_, reply) => reply.startOperation('work'))
  const answer = await app.inject({ method: 'POST', url: '/v1/work' })
  t.match(answer.headers, { 'retry-after': '5', location: /^\/v1\/operations\// })
  for (let poll = 0; poll < 60; poll += 1)
    t.equal((await app.inject(sure(String(answer.headers.location)))).statusCode, 200)
  t.equal((await app.inject(String(answer.headers.location))).statusCode, 429)
})

t.test('options that are right do what they say', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, {
    path: '/v2/jobs',
    retryAfter: { initial: 17 },
    polls: false,
    maxWait: 0,
    drain: 0,
    retention: '7 days',
    lease: '10s',
  })
  app.operations.define('work', () => new Promise<never>(() => {}))
  app.post('/v2/work', async (_, reply) => reply.startOperation('work'))
  const answer = await app.inject({ method: 'POST', url: '/v2/work', headers: { prefer: 'wait=100' } })
  t.equal(answer.statusCode, 202)
  t.match(answer.headers, { 'retry-after': '17', location: /^\/v2\/jobs\/[0-9a-f]{32}$/ })
  t.notOk('preference-applied' in answer.headers, 'nobody waits with maxWait 0')
  for (let poll = 0; poll < 200; poll += 1)
    t.equal((await app.inject(String(answer.headers.location))).statusCode, 200)
})

t.test('a store has its own limit of operations, checked by its name', async (t) => {
  t.throws(() => memoryOperationStore({ maxOperations: 0 }), {
    message: /memoryOperationStore\.maxOperations/,
  })
})
