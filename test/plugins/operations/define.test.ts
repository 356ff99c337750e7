/** Definitions of operations: their options, inputs, outcomes, retries, and the context of a handler. */
import Fastify from 'fastify'
import t from 'tap'
import {
  type OperationContext,
  type OperationDefinition,
  OperationDefinitions,
  type OperationHandler,
  type OperationRetry,
} from '../../../src/plugins/operations/define.js'
import type { OperationEnd } from '../../../src/plugins/operations/transitions.js'
import { ProblemError } from '../../../src/problem/problem-error.js'
import { keepLogs } from '../../support/logs.js'
import { begun, idOf, sure } from './samples.js'

const { log } = Fastify()

function workOf(handler: OperationHandler, options: OperationDefinition = {}, given = log) {
  const definitions = new OperationDefinitions(100)
  definitions.define('work', options, handler, given)
  return sure(definitions.named('work').work)
}

const context = (over = {}) => ({
  record: begun(),
  input: null,
  signal: new AbortController().signal,
  progress: () => {},
  complete: async () => {},
  ...over,
})

t.test('wrong definitions are errors, and define nothing', async (t) => {
  const handler = async () => {}
  const rows: readonly (readonly [name: string, options: object, message: RegExp, code?: string])[] = [
    ['', {}, /operations\.define\(\) name: expected a name such as 'payments\.retry'/],
    ['a b', {}, /operations\.define\(\) name/],
    ['x'.repeat(101), {}, /operations\.define\(\) name/],
    ['a', { cancellable: 'yes' }, /operations\.define\('a'\)\.cancellable/],
    ['a', { maxRuns: 0 }, /\.maxRuns: expected an integer from 1 to 1000/],
    ['a', { timeout: 10 }, /\.timeout: expected at least a second/],
    ['a', { retryAfter: 0 }, /\.retryAfter/],
    ['a', { onePer: true }, /\.onePer: expected the name of a member of the input/],
    ['a', { retry: { max: -1 } }, /\.retry\.max/],
    ['a', { retry: { tries: 3 } }, /\.retry\.tries/, 'FST_CONV_OPTION_UNKNOWN'],
    ['a', { runs: 3 }, /\.runs: there is no such option/, 'FST_CONV_OPTION_UNKNOWN'],
  ]
  const definitions = new OperationDefinitions(100)
  for (const [name, options, message, code = 'FST_CONV_OPTION_INVALID'] of rows) {
    t.throws(() => definitions.define(name, options, handler, log), { code, message })
  }
  t.throws(() => definitions.define('a', {}, null as never, log), /operations\.define\('a'\) handler/)
  t.throws(() => definitions.declare('a', { maxRuns: 3 } as object), { code: 'FST_CONV_OPTION_UNKNOWN' })
  t.strictSame(definitions.names, [])
  definitions.define('a', {}, handler, log)
  t.throws(() => definitions.define('a', {}, handler, log), { code: 'FST_CONV_OPERATION_DEFINED' })
  t.throws(() => definitions.declare('a', {}), { code: 'FST_CONV_OPERATION_DEFINED' })
  t.throws(() => definitions.named('b'), { code: 'FST_CONV_OPERATION_UNKNOWN', message: /a/ })
})

t.test('a declared operation has no work here; a defined one has its limits', async (t) => {
  const definitions = new OperationDefinitions(100)
  definitions.declare('elsewhere', { cancellable: true, retryAfter: 60 })
  t.strictSame(definitions.named('elsewhere'), {
    cancellable: true,
    retryAfter: 60,
    onePer: null,
    input: null,
    result: null,
    work: null,
  })
  definitions.define('here', {}, async () => {}, log)
  t.match(definitions.named('here'), {
    cancellable: false,
    retryAfter: null,
    work: { maxRuns: 3, timeout: 3_600_000 },
  })
})

t.test('an input is JSON of a limited length, with all digits', async (t) => {
  const definitions = new OperationDefinitions(30)
  const circle: unknown[] = []
  circle.push(circle)
  const deep = Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], 0)
  const rows: readonly (readonly [input: unknown, json: string | null | RegExp])[] = [
    [undefined, null],
    [null, 'null'],
    [{ id: 2n ** 63n, none: undefined }, '{"id":9223372036854775808}'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['x'.repeat(28), `"${'x'.repeat(28)}"`],
    ['x'.repeat(29), /longer than 30 characters/],
    [deep, /nested too deep/],
    [() => {}, /the input of 'a' is not a JSON value/],
    [circle, /circ/i],
  ]
  for (const [input, json] of rows) {
    if (json instanceof RegExp) t.throws(() => definitions.inputJson('a', input), json)
    else t.equal(definitions.inputJson('a', input), json)
  }
})

t.test(
  '`onePer`: the same id of the same operation, as a text or an integer, is the same resource',
  async (t) => {
    const definitions = new OperationDefinitions(1_000)
    definitions.declare('pay', { onePer: 'id' })
    definitions.declare('ship', { onePer: 'id' })
    definitions.declare('any', {})
    const keyOf = (name: string, input: unknown) =>
      definitions.onePerOf(name, definitions.inputJson(name, input))
    const key = keyOf('pay', { id: 7 })
    t.match(key, /^[0-9a-f]{64}$/)
    t.strictSame([keyOf('pay', { id: '7', note: 'x' }), keyOf('pay', { id: 7n })], [key, key])
    const long = 9_007_199_254_740_993n
    const others = [keyOf('pay', { id: 8 }), keyOf('ship', { id: 7 }), keyOf('pay', { id: long }), key]
    t.equal(new Set([...others, keyOf('pay', { id: long - 1n })]).size, 5)
    t.equal(keyOf('any', { id: 7 }), null)
    for (const input of [undefined, null, 7, {}, { id: null }, { id: { id: 7 } }, [7]]) {
      t.throws(() => keyOf('pay', input), { name: 'TypeError', message: /'pay' needs the member id/ })
    }
  },
)

t.test('the context of a handler', async (t) => {
  const { logger, lines } = keepLogs()
  const contexts: OperationContext[] = []
  const work = workOf(async (given) => void contexts.push(given), {}, Fastify({ logger }).log)
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const record = begun({ run: 2, requestId: 'req-1', traceparent })
  await work.run(context({ record, input: '{"id":9223372036854775808}' }))
  const [given] = contexts
  t.match(given, { operationId: idOf(1), run: 2, traceparent, input: { id: 2n ** 63n } })
  given?.log.info('hello')
  t.match(lines.at(-1), { operationId: idOf(1), operation: 'payments.retry', reqId: 'req-1', msg: 'hello' })
  await work.run(context())
  t.equal(contexts[1]?.input, undefined)
})

t.test('an outcome has a JSON result and an allowed resource; others are errors', async (t) => {
  const none = { status: 'Succeeded', resource: null, result: null }
  const rows: readonly (readonly [outcome: unknown, end: object | RegExp])[] = [
    [undefined, none],
    [null, none],
    [{}, none],
    [{ result: null }, { ...none, result: 'null' }],
    [{ result: 2n ** 63n }, { ...none, result: '9223372036854775808' }],
    [{ result: () => {} }, none],
    [{ resource: '/v1/payments/7?a=b#c' }, { ...none, resource: '/v1/payments/7?a=b#c' }],
    [
      { resource: 'https://example.com/a b'.replace(' ', '%20') },
      { ...none, resource: 'https://example.com/a%20b' },
    ],
    [7, /has to return \{ resource, result \} or nothing/],
    ['/v1/payments/7', /has to return/],
    [{ result: 'x'.repeat(99) }, /the result is longer than 100 characters/],
    [{ resource: 7 }, /resource is neither a path/],
    [{ resource: '' }, /neither/],
    [{ resource: 'payments/7' }, /neither/],
    [{ resource: '//example.com' }, /neither/],
    [{ resource: '/\\example.com' }, /neither/],
    [{ resource: '/..//example.com' }, /neither/],
    [{ resource: '/a\nb' }, /neither/],
    [{ resource: '/a\u0000' }, /neither/],
    [{ resource: 'javascript:alert(1)' }, /neither/],
    [{ resource: `/${'x'.repeat(4_096)}` }, /neither/],
  ]
  for (const [outcome, end] of rows) {
    const ran = workOf(async () => outcome as undefined).run(context())
    if (end instanceof RegExp) await t.rejects(ran, end)
    else t.strictSame(await ran, end)
  }
})

t.test('`complete` ends the operation with the outcome that it gets', async (t) => {
  const completed: [object, OperationEnd][] = []
  const connection = {}
  const complete = async (given: object, end: OperationEnd) => void completed.push([given, end])
  const work = workOf(async ({ complete }) => complete(connection, { result: { paid: true } }))
  await work.run(context({ complete }))
  const end = { status: 'Succeeded', resource: null, result: '{"paid":true}' }
  t.strictSame(completed, [[connection, end]])
  const wrong = workOf(async ({ complete }) => complete(connection, { resource: 'nowhere' }))
  await t.rejects(wrong.run(context({ complete })), /resource is neither/)
})

t.test('a retry is delayed twice as long each time, up to an hour, less up to a quarter', async (t) => {
  const delaysOf = (retry: OperationRetry, random: number, retries: number) => {
    t.intercept(Math, 'random', { value: () => random })
    return workOf(async () => {}, { retry }).retryAfter(new Error('no'), retries)
  }
  const rows: readonly (readonly [retry: OperationRetry, delays: readonly (number | null)[]])[] = [
    [{}, [null]],
    [{ max: 3 }, [1_000, 2_000, 4_000, null]],
    [{ max: 1_000, delay: '10 minutes' }, [600_000, 1_200_000, 2_400_000, 3_600_000, 3_600_000]],
    [{ max: 2, delay: '2 hours' }, [7_200_000, 7_200_000, null]],
  ]
  for (const [retry, delays] of rows) {
    for (const [retries, delay] of delays.entries()) {
      t.equal(delaysOf(retry, 0, retries), delay)
      t.equal(delaysOf(retry, 0.999_999_999, retries), delay === null ? null : delay * 0.75)
    }
  }
  t.equal(delaysOf({ max: 1_000 }, 0, 999), 3_600_000)
})

t.test('errors of the server are retried, and problems of the input are not', async (t) => {
  const rows: readonly (readonly [error: unknown, again: boolean])[] = [
    [new Error('a deadlock'), true],
    [null, true],
    [new ProblemError('operations-unavailable'), true],
    [new ProblemError('not-found'), false],
  ]
  for (const [error, again] of rows) {
    const { retryAfter } = workOf(async () => {}, { retry: { max: 1 } })
    t.equal(retryAfter(error, 0) !== null, again)
  }
})

t.test('what the app does too early or too late is an error', async (t) => {
  const definitions = new OperationDefinitions(100)
  definitions.define('work', { input: { type: 'object' } }, async () => {}, log)
  t.throws(
    () => definitions.inputJson('work', 7),
    /the operation 'work' cannot be started before the app is ready/,
  )
  definitions.compile(() => () => true, new Map() as never)
  t.equal(definitions.inputJson('work', 7), '7')
  const late = { code: 'FST_CONV_OPTION_INVALID', message: /before the app is ready/ }
  t.throws(() => definitions.define('late', {}, async () => {}, log), late)
  t.throws(() => definitions.declare('late', {}), late)
})
