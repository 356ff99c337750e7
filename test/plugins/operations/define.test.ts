/** Definitions of operations: their options, inputs, outcomes, retries, and the context of a handler. */
import Fastify from 'fastify'
import t from 'tap'
import type {
  OperationContext,
  OperationDefinition,
  OperationHandler,
} from '../../../src/plugins/operations/api.js'
import { operationDefinitions } from '../../../src/plugins/operations/define.js'
import {
  inProcessEngine,
  memoryOperationStore,
  type OperationsOptions,
  operations,
} from '../../../src/plugins/operations/index.js'
import { ProblemError } from '../../../src/problem/problem-error.js'
import { keepLogs } from '../../support/logs.js'
import { begun, idOf } from './samples.js'

const { log } = Fastify()

function workOf(handler: OperationHandler, options: OperationDefinition = {}, given = log) {
  const definitions = operationDefinitions(100)
  definitions.define('work', options, handler, given)
  return definitions.named('work')
}

const context = (over = {}) => ({
  record: begun(),
  input: null,
  signal: new AbortController().signal,
  progress: () => {},
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
    ['a', { retry: { max: 1, delay: 500 } }, /\.retry\.delay: expected at least a second/],
    ['a', { retry: { tries: 3 } }, /\.retry\.tries/, 'FST_CONV_OPTION_UNKNOWN'],
    ['a', { runs: 3 }, /\.runs: there is no such option/, 'FST_CONV_OPTION_UNKNOWN'],
  ]
  const definitions = operationDefinitions(100)
  for (const [name, options, message, code = 'FST_CONV_OPTION_INVALID'] of rows) {
    t.throws(() => definitions.define(name, options, handler, log), { code, message })
  }
  t.throws(() => definitions.define('a', {}, null as never, log), /operations\.define\('a'\) handler/)
  t.equal(definitions.size, 0)
  definitions.define('a', {}, handler, log)
  t.throws(() => definitions.define('a', {}, handler, log), { code: 'FST_CONV_OPERATION_DEFINED' })
  t.throws(() => definitions.named('b'), { code: 'FST_CONV_OPERATION_UNKNOWN', message: /a/ })
})

t.test('`onePer`: one id of one operation is one resource, as a text or as an integer', async (t) => {
  const definitions = operationDefinitions(1_000)
  for (const name of ['pay', 'ship']) definitions.define(name, { onePer: 'id' }, async () => {}, log)
  definitions.define('any', {}, async () => {}, log)
  const keyOf = (name: string, input: unknown) =>
    definitions.named(name).onePerOf(definitions.named(name).inputJson(input))
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
})

t.test('the context of a handler', async (t) => {
  const { logger, lines } = keepLogs()
  const contexts: OperationContext[] = []
  const work = workOf(async (given) => void contexts.push(given), {}, Fastify({ logger }).log)
  const record = begun({ run: 2, requestId: 'req-1' })
  await work.run(context({ record, input: '{"id":9223372036854775808}' }))
  const [given] = contexts
  t.match(given, { operationId: idOf(1), run: 2, input: { id: 2n ** 63n } })
  given?.log.info('hello')
  t.match(lines.at(-1), { operationId: idOf(1), operation: 'payments.retry', reqId: 'req-1', msg: 'hello' })
  await work.run(context())
  t.equal(contexts[1]?.input, undefined)
})

t.test('an outcome has a JSON result and an allowed resource; others are errors', async (t) => {
  const none = { status: 'Succeeded', resource: null, result: null }
  const foreign: readonly unknown[] = [
    ...[7, '', 'payments/7', '/a\nb', '/a\r\nset-cookie: b=c', '/a\u0000', `/${'x'.repeat(4_096)}`],
    ...['//example.com', '/\\example.com', '/..//example.com', '/.//example.com', '/a/..//example.com'],
    ...['/%2e%2e//example.com', '/..\\/example.com', 'javascript:alert(1)', 'https:/example.com', 'http://['],
  ]
  const circle: unknown[] = []
  circle.push(circle)
  const rows: readonly (readonly [outcome: unknown, end: object | RegExp])[] = [
    ...[undefined, null, {}, { resource: null }].map((nothing) => [nothing, none] as const),
    [{ result: null }, { ...none, result: 'null' }],
    [{ result: { toJSON: () => undefined } }, { ...none, result: 'null' }],
    [{ result: { __proto__: null, a: 1 } }, { ...none, result: '{"a":1}' }],
    [{ result: 2n ** 63n }, { ...none, result: '9223372036854775808' }],
    [{ resource: '/v1/payments/7?a=b#c' }, { ...none, resource: '/v1/payments/7?a=b#c' }],
    [{ resource: '/größe?a=ü' }, { ...none, resource: '/gr%C3%B6%C3%9Fe?a=%C3%BC' }],
    [{ resource: 'https://example.com/a%20b' }, { ...none, resource: 'https://example.com/a%20b' }],
    [{ resource: 'HTTP://example.com' }, { ...none, resource: 'http://example.com/' }],
    [7, /has to return \{ resource, result \} or nothing/],
    [{ result: 'x'.repeat(99) }, /the result is longer than 100 characters/],
    [{ result: () => {} }, /result is a function, which JSON cannot carry/],
    [{ result: { a: [1, Symbol('s')] } }, /result\.a\.1 is a symbol/],
    [{ result: { of: new Map([[1, 2]]) } }, /result\.of is a Map/],
    [{ result: new Set() }, /result is a Set/],
    [{ result: [Number.NaN] }, /result\.0 is NaN/],
    [{ result: { a: -1 / 0 } }, /result\.a is -Infinity/],
    [{ result: circle }, /cannot be written as JSON/],
    [['/v1/payments/7'], /has to return/],
    ...foreign.map((resource) => [{ resource }, /: resource is neither a path/] as const),
  ]
  for (const [outcome, end] of rows) {
    const ran = workOf(async () => outcome as undefined).run(context())
    if (end instanceof RegExp)
      await t.rejects(ran, { code: 'operation-result-invalid', cause: { message: end } })
    else t.strictSame(await ran, end)
  }
})

t.test('errors of the server are retried, and problems of the input are not', async (t) => {
  const { isRetried } = workOf(async () => {})
  for (const error of [new Error('a deadlock'), null, new ProblemError('operations-unavailable')])
    t.equal(isRetried(error), true)
  // After an invalid result, the work is done.
  for (const code of ['not-found', 'operation-result-invalid'])
    t.equal(isRetried(new ProblemError(code)), false)
})

t.test('what the app does too early or too late is an error', async (t) => {
  const definitions = operationDefinitions(100)
  definitions.define('work', { input: { type: 'object' } }, async () => {}, log)
  const early = /the operation 'work' cannot be started before the app is ready/
  t.throws(() => definitions.named('work').inputJson(7), early)
  definitions.compile({ validator: () => () => true, shared: {}, jsonSchema: (schema) => schema })
  t.equal(definitions.named('work').inputJson(7), '7')
  const late = { code: 'FST_CONV_OPTION_INVALID', message: /before the app is ready/ }
  t.throws(() => definitions.define('late', {}, async () => {}, log), late)
})

t.test('wrong options are refused at registration, by their name', async (t) => {
  const rows: readonly (readonly [options: unknown, message: RegExp, code?: string])[] = [
    [{ path: '' }, /operations\.path: expected a path/],
    [{ path: 'v1/operations' }, /operations\.path/],
    [{ path: '/v1/:tenant/operations' }, /operations\.path: .*without parameters/],
    [{ path: '/v1/operations?a=b' }, /operations\.path/],
    [{ path: '/v1/arbeitsvorgänge' }, /operations\.path/],
    [{ store: {} }, /operations\.store: expected a store of operations/],
    [{ store: { ...memoryOperationStore(), takeDue: undefined } }, /operations\.store/],
    [{ engine: () => {} }, /operations\.engine: expected an engine/],
    [{ engine: { ...inProcessEngine(), enqueue: undefined } }, /operations\.engine/],
    [{ engine: { ...inProcessEngine(), isShared: true } }, /operations\.store: expected a shared store/],
    [{ identify: 'x-caller' }, /operations\.identify/],
    [{ retention: '12 parsecs' }, /operations\.retention: expected at least a second/],
    [{ lease: 0 }, /operations\.lease/],
    [{ retryAfter: 0 }, /operations\.retryAfter: expected an integer from 1/],
    [{ polls: true }, /operations\.polls: expected an integer/],
    [{ maxLength: 0 }, /operations\.maxLength/],
    [{ drain: 500 }, /operations\.drain/],
    [{ unwind: 500 }, /operations\.unwind/],
    [{ baseUrl: '/api' }, /operations\.baseUrl: expected an http or https URL/],
    [{ now: 0 }, /operations\.now/],
    [{ schedule: 0 }, /operations\.schedule/],
    [{ paths: '/v1' }, /operations\.paths: there is no such option/, 'FST_CONV_OPTION_UNKNOWN'],
  ]
  for (const [options, message, code = 'FST_CONV_OPTION_INVALID'] of rows) {
    const app = Fastify()
    await t.rejects(async () => app.register(operations, options as OperationsOptions), { code, message })
  }
})

t.test('path, baseUrl, retryAfter and polls', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const place = { path: '/v2/jobs', baseUrl: 'https://example.com/' }
  await app.register(operations, { ...place, retryAfter: 17, polls: false, drain: 0, unwind: 0 })
  app.operations.define('work', () => new Promise<never>(() => {}))
  app.post('/v1/work', async (_, reply) => reply.startOperation('work'))
  const { statusCode, headers } = await app.inject({ method: 'POST', url: '/v1/work' })
  t.equal(statusCode, 202)
  t.match(headers, { 'retry-after': '17', location: /^https:\/\/example\.com\/v2\/jobs\/[0-9a-f]{32}$/ })
  const { pathname } = new URL(String(headers.location))
  for (let poll = 0; poll < 200; poll += 1) t.equal((await app.inject(pathname)).statusCode, 200)
})
