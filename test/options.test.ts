/** Design.md rule 7 (`config.<plugin>`: absent, object, false, else throw) and errors that name option and value. */
import fc from 'fast-check'
import t from 'tap'
import { bootErrors } from '../src/boot-errors.js'
import {
  type Check,
  type Checks,
  flag,
  integer,
  invalid,
  listOf,
  objectOf,
  oneOf,
  option,
  pluginOptions,
  resolveOptions,
  routeOptionsOf,
  text,
} from '../src/options.js'

interface Lamp {
  readonly colour?: 'red' | 'green'
  readonly watts?: number
  readonly labels?: readonly string[]
}

const checks: Checks<Lamp> = { colour: oneOf('red', 'green'), watts: integer(1, 100), labels: listOf(text()) }
const defaults: Required<Lamp> = { colour: 'red', watts: 40, labels: [] }
const declared = {
  colour: option(oneOf('red', 'green'), 'red'),
  watts: option(integer(1, 100), 40),
  labels: option<readonly string[]>(listOf(text()), defaults.labels),
}

type Row = [check: Check<unknown>, passing: unknown[], expected: string, failing: unknown[], shown: string]

/** Values that each check takes, and others as its error shows them. */
const rows: readonly Row[] = [
  [oneOf('a', 'b'), ['a', 'b'], "one of 'a', 'b'", ['c', '', undefined], "'c' '' undefined"],
  [oneOf(404, 400), [404, 400], 'one of 404, 400', ['404', [404]], "'404' [404]"],
  [oneOf('only'), ['only'], "'only'", ['other'], "'other'"],
  [flag, [true, false], 'one of true, false', [1, 'true', null], "1 'true' null"],
  [integer(1, 10), [1, 10], 'an integer from 1 to 10', [0, 11, 1.5, '5', 5n], "0 11 1.5 '5' 5n"],
  [integer(0), [0, Number.MAX_SAFE_INTEGER], 'an integer of at least 0', [2 ** 53], '9007199254740992'],
  [text(), ['a', ' ', '\n'], 'a non-empty string', ['', 7, Symbol('s')], "'' 7 Symbol(s)"],
  [text('a path', /^\//), ['/', '/x'], 'a path', ['x'], "'x'"],
  [listOf(text()), [[], ['a', 'b']], 'an array', ['a', { 0: 'a', length: 1 }], `'a' {"0":"a","length":1}`],
  [objectOf<Lamp>(checks), [{}, { watts: 7 }], 'an object', [null, [], 'a'], "null [] 'a'"],
]

t.test('each check returns a valid value, or throws with label, expected and received value', async (t) => {
  for (const [check, passing, expected, failing, shown] of rows) {
    for (const value of passing) t.strictSame(check('x', value), value, `${expected} takes ${String(value)}`)
    for (const [index, value] of failing.entries()) {
      const message = `app.x: expected ${expected}, received ${shown.split(' ')[index]}`
      t.throws(() => check('app.x', value), wrong(message), message)
    }
  }
})

t.test('the error of an invalid item or member has its path', async (t) => {
  t.throws(() => listOf(text())('x', ['a', 7]), wrong('x[1]: expected a non-empty string, received 7'))
  t.throws(
    () => objectOf<Lamp>(checks)('x', { labels: [''] }),
    wrong("x.labels[0]: expected a non-empty string, received ''"),
  )
})

t.test('the received value is shortened in the message, whatever it is', async (t) => {
  const circular: { self?: unknown } = {}
  circular.self = circular
  const rows: readonly (readonly [value: unknown, shown: string | RegExp])[] = [
    ['x'.repeat(1000), /received 'x{79}…$/],
    [Array.from({ length: 1000 }, () => 1), /received \[(1,){39}1…$/],
    [circular, /received \[object Object\]$/],
    [{ big: 1n }, /received \[object Object\]$/],
    [{ toJSON: () => undefined }, /received \[object Object\]$/],
    [() => 1, /received a function \(anonymous\)$/],
    [new Date(0), /received "1970-01-01T00:00:00.000Z"$/],
  ]
  for (const [value, message] of rows) t.throws(() => invalid('x', 'y', value), { message }, String(message))
})

t.test('options of a plugin replace its defaults', async (t) => {
  t.strictSame(resolveOptions('lamp', undefined, declared), defaults)

  t.strictSame(resolveOptions('lamp', { watts: 7 }, declared), { ...defaults, watts: 7 })
  const unset: Record<string, unknown> = { watts: undefined }
  t.strictSame(resolve(unset), defaults, 'undefined is unset')
  const ofRegister = { prefix: '/api', logLevel: 'info', logSerializers: {}, watts: 7 }
  t.strictSame(resolve(pluginOptions(ofRegister)), { ...defaults, watts: 7 })
  t.strictSame(pluginOptions([]), [])
})

t.test('an unknown option throws, with the known options', async (t) => {
  const unknown = { code: 'FST_CONV_OPTION_UNKNOWN' }
  const options = 'lamp.wats: there is no such option; expected one of colour, labels, watts'
  t.throws(() => resolve({ wats: 7 }), { ...unknown, message: options, statusCode: 500 })
  t.throws(() => resolve({ wats: undefined }), unknown, 'even if it says nothing')
  t.throws(() => resolve({ constructor: 1 }), unknown)
  t.throws(() => resolve({ prefix: '/api' }), unknown, 'Fastify passes it to plugins only')
  t.throws(() => resolve(JSON.parse('{"__proto__":{"watts":1}}')), unknown)
  t.throws(() => resolve([]), wrong('lamp: expected an object, received []'))
  const message = 'lamp.watts: expected an integer from 1 to 100, received null'
  t.throws(() => resolve({ watts: null }), wrong(message))
  t.ok(errorOf(() => resolve({ watts: 0 })) instanceof TypeError)
  t.ok(errorOf(() => resolve({ watts: 0 })) instanceof bootErrors.FST_CONV_OPTION_INVALID)
})

t.test('options of a route are an object or false; anything else throws', async (t) => {
  t.equal(routeOptionsOf('r', false, checks), false)
  t.strictSame(routeOptionsOf('r', { colour: 'green' }, checks), { colour: 'green' })
  t.strictSame(routeOptionsOf('r', true, checks, true), {})
  for (const [value, shown] of [
    [true, 'true'],
    [null, 'null'],
    ['off', "'off'"],
    [[], '[]'],
    [0, '0'],
  ]) {
    const route = () => routeOptionsOf('r', value, checks)
    t.throws(route, wrong(`r: expected an object or false, received ${shown}`))
  }
})

t.test('the resolved options are a new frozen object; input and defaults do not change', async (t) => {
  const received: Lamp = { labels: ['a'] }
  const options = resolveOptions('lamp', received, declared)
  const route = routeOptionsOf('r', received, checks)
  t.ok(Object.isFrozen(options) && Object.isFrozen(options.labels) && Object.isFrozen(route))
  t.not(options.labels, received.labels)
  t.same(received, { labels: ['a'] })
  t.same(defaults, { colour: 'red', watts: 40, labels: [] })
})

t.test('any value is accepted, or throws a boot error', async () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (received) => {
      const error = errorOf(() => resolve(received)) as { code?: string } | undefined
      return error === undefined || /^FST_CONV_OPTION_(INVALID|UNKNOWN)$/.test(error.code ?? '')
    }),
  )
})

function resolve(received: unknown): unknown {
  return resolveOptions('lamp', received as Lamp, declared)
}

function wrong(message: string): { code: string; message: string } {
  return { code: 'FST_CONV_OPTION_INVALID', message }
}

function errorOf(run: () => unknown): unknown {
  try {
    run()
    return undefined
  } catch (error) {
    return error
  }
}
