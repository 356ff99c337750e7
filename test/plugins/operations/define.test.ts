/** Definitions of operations, and what their work may return; the options of the plugin. */
import Fastify from 'fastify'
import t from 'tap'
import {
  inProcessEngine,
  memoryOperationStore,
  type OperationsOptions,
  operations,
} from '../../../src/plugins/operations/index.js'
import { isProblem } from '../../support/problem.js'
import { openProcess } from './process.js'

t.test('wrong definitions are errors, and define nothing', async (t) => {
  const handler = async () => {}
  const rows: readonly (readonly [name: string, options: object, message: RegExp])[] = [
    ['', {}, /operations\.define\(\) name: expected a name such as 'payments\.retry'/],
    ['a b', {}, /operations\.define\(\) name/],
    ['x'.repeat(101), {}, /operations\.define\(\) name/],
    ['a', { cancellable: 'yes' }, /operations\.define\('a'\)\.cancellable/],
    ['a', { maxRuns: 0 }, /\.maxRuns: expected an integer from 1 to 1000/],
    ['a', { timeout: 10 }, /\.timeout: expected at least a second/],
    ['a', { onePer: true }, /\.onePer: expected the name of a member of the input/],
    ['a', { retry: { max: 1, delay: 500 } }, /\.retry\.delay: expected at least a second/],
    ['a', { retry: { tries: 3 } }, /\.retry\.tries: there is no such option/],
    ['a', { runs: 3 }, /\.runs: there is no such option/],
  ]
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, { drain: 0 })
  const { define, start } = app.operations
  for (const [name, options, message] of rows) t.throws(() => define(name, options, handler), { message })
  const invalid = { code: 'FST_CONV_OPTION_INVALID', message: /operations\.define\(/ }
  for (const given of [['a'], ['a', {}, 7], ['a', 'cancellable', handler]])
    t.throws(() => Reflect.apply(define, null, given), invalid)
  define('a', { input: { type: 'object' } }, handler)
  t.throws(() => define('a', handler), { code: 'FST_CONV_OPERATION_DEFINED' })
  await t.rejects(start('b'), { code: 'FST_CONV_OPERATION_UNKNOWN', message: /are: a$/ })
  await t.rejects(start('a', {}), /the operation 'a' cannot be started before the app is ready/)
  await app.ready()
  t.throws(() => define('late', handler), {
    ...invalid,
    message: /define\('late'\): .*before the app is ready/,
  })
})

t.test('`onePer`: one id of one operation is one resource, as a text or as an integer', async (t) => {
  const definition = { onePer: 'id' }
  const { ask, begin, end, clock, memory } = await openProcess(t, { name: 'pay', definition })
  const ship = await openProcess(t, { clock, memory, name: 'ship', definition })
  const pay = (id: number) => ask({ method: 'POST', url: '/v1/works', payload: { id } })
  const answers = await Promise.all([pay(7), pay(7), pay(8)])
  t.strictSame(answers.map(({ status }) => status).sort(), [202, 202, 409], 'also of two at once')
  const detail = /no operation was started/
  isProblem(t, await pay(7), { status: 409, code: 'operation-in-progress', detail })
  await ship.begin({}, { id: 7 })
  const long = 9_007_199_254_740_993n
  for (const id of [long, long - 1n]) await begin({}, { id })
  for (const input of [{ id: '7', note: 'x' }, { id: 7n }, { id: `${long}` }])
    await t.rejects(begin({}, input), { code: 'operation-in-progress' })
  for (const input of [undefined, null, 7, {}, { id: null }, { id: { id: 7 } }, [7]])
    await t.rejects(begin({}, input), { name: 'TypeError', message: /'pay' needs the member id/ })
  await end()
  t.equal((await pay(7)).status, 202, 'it has ended')
})

t.test('an outcome has a JSON result and an allowed resource; others are errors', async (t) => {
  const none = { status: 'Succeeded', resource: null, result: null }
  const foreign: readonly unknown[] = [
    ...[7, '', 'payments/7', '/a\r\nset-cookie: b=c', '/a\u0000', `/${'x'.repeat(4_096)}`],
    ...['//example.com', '/\\example.com', '/..//example.com', '/a/..//example.com', 'https:/example.com'],
    ...['/%2e%2e//example.com', '/..\\/example.com', 'javascript:alert(1)', 'http://['],
  ]
  const circle: unknown[] = []
  circle.push(circle)
  const rows: readonly (readonly [outcome: unknown, end: object | RegExp])[] = [
    ...[undefined, { resource: null }].map((nothing) => [nothing, none] as const),
    [{ result: null }, { ...none, result: 'null' }],
    [{ result: { toJSON: () => undefined } }, { ...none, result: 'null' }],
    [{ result: 2n ** 63n }, { ...none, result: '9223372036854775808' }],
    [{ resource: '/v1/payments/7?a=b#c' }, { ...none, resource: '/v1/payments/7?a=b#c' }],
    [{ resource: '/größe?a=ü' }, { ...none, resource: '/gr%C3%B6%C3%9Fe?a=%C3%BC' }],
    [{ resource: 'HTTP://example.com' }, { ...none, resource: 'http://example.com/' }],
    [{ resource: 'https://example.com/a' }, { ...none, resource: 'https://example.com/a' }],
    [7, /has to return \{ resource, result \} or nothing/],
    [{ result: 'x'.repeat(98) }, { ...none, result: `"${'x'.repeat(98)}"` }],
    [{ result: 'x'.repeat(99) }, /the result is longer than 100 characters/],
    [{ result: () => {} }, /result is a function, which JSON cannot carry/],
    [{ result: { a: [1, Symbol('s')] } }, /result\.a\.1 is a symbol/],
    [{ result: { of: new Map([[1, 2]]) } }, /result\.of is a Map/],
    [{ result: [Number.NaN] }, /result\.0 is NaN/],
    [{ result: { a: -1 / 0 } }, /result\.a is -Infinity/],
    [{ result: circle }, /cannot be written as JSON/],
    ...foreign.map((resource) => [{ resource }, /: resource is neither a path/] as const),
  ]
  let outcome: unknown
  const { begin, ended, record, lines } = await openProcess(t, { work: () => outcome, maxLength: 100 })
  for (const [returned, end] of rows) {
    outcome = returned
    const id = await begin()
    await ended(id)
    const { status, resource, result, error } = await record(id)
    if (end instanceof RegExp) {
      t.match(error, { code: 'operation-result-invalid' })
      const told = lines.findLast(({ msg }) => msg === "operations: 'work' failed")
      t.match(told, { err: { message: end } })
    } else t.strictSame({ status, resource, result }, end)
  }
})

t.test('wrong options are refused at registration, by their name', async (t) => {
  const rows: readonly (readonly [options: unknown, message: RegExp])[] = [
    [{ path: '' }, /operations\.path: expected a path/],
    [{ path: '/v1/:tenant/operations' }, /operations\.path: .*without parameters/],
    [{ path: '/v1/operations?a=b' }, /operations\.path/],
    [{ path: '/v1/arbeitsvorgänge' }, /operations\.path/],
    [{ store: {} }, /operations\.store: expected a store of operations/],
    [{ store: { ...memoryOperationStore(), takeDue: undefined } }, /operations\.store/],
    [{ store: { ...memoryOperationStore(), isShared: undefined } }, /operations\.store/],
    [{ engine: () => {} }, /operations\.engine: expected an engine/],
    [{ engine: { ...inProcessEngine(), enqueue: undefined } }, /operations\.engine/],
    [{ engine: { ...inProcessEngine(), isShared: true } }, /operations\.store: expected a shared store/],
    [{ identify: 'x-caller' }, /operations\.identify/],
    [{ retention: '12 parsecs' }, /operations\.retention: expected at least a second/],
    [{ retryAfter: 0 }, /operations\.retryAfter: expected an integer from 1/],
    [{ polls: true }, /operations\.polls: expected an integer/],
    [{ drain: 500 }, /operations\.drain/],
    [{ baseUrl: '/api' }, /operations\.baseUrl: expected an http or https URL/],
    [{ baseUrl: 'see https://api.example' }, /operations\.baseUrl/],
    [{ paths: '/v1' }, /operations\.paths: there is no such option/],
  ]
  for (const [options, message] of rows)
    await t.rejects(async () => Fastify().register(operations, options as OperationsOptions), { message })
})
