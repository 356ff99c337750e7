/** Design.md rule 7 (`config.<plugin>`: absent, object, false, else throw) and errors that name option and value. */
import fc from 'fast-check'
import t from 'tap'
import { bootErrors } from '../src/boot-errors.js'
import { loadPeer } from '../src/load-peer.js'
import * as is from '../src/options.js'

const wrong = (message: string) => ({ code: 'FST_CONV_OPTION_INVALID', message })

interface Lamp {
  readonly colour?: 'red' | 'green'
  readonly watts?: number
  readonly labels?: readonly string[]
}

const checks: is.Checks<Lamp> = {
  colour: is.oneOf('red', 'green'),
  watts: is.integer(1, 100),
  labels: is.listOf(is.text()),
}
const defaults: Required<Lamp> = { colour: 'red', watts: 40, labels: [] }
const declared = {
  colour: is.option(is.oneOf('red', 'green'), defaults.colour),
  watts: is.option(is.integer(1, 100), defaults.watts),
  labels: is.option<readonly string[]>(is.listOf(is.text()), defaults.labels),
}

const store = { get: () => 1, set: () => 1, isShared: true, isFast: false }

type Row = [check: is.Check<unknown>, passing: unknown[], expected: string, failing: unknown[], shown: string]

/** Values that each check takes, and others as its error shows them. */
const rows: readonly Row[] = [
  [is.oneOf('a', 'b'), ['a', 'b'], "one of 'a', 'b'", ['c', '', undefined], "'c' '' undefined"],
  [is.oneOf(404, 400), [404, 400], 'one of 404, 400', ['404', [404]], "'404' [404]"],
  [is.oneOf('only'), ['only'], "'only'", ['other'], "'other'"],
  [is.flag, [true, false], 'one of true, false', [1, 'true', null], "1 'true' null"],
  [is.integer(1, 10), [1, 10], 'an integer from 1 to 10', [0, 11, 1.5, '5', 5n], "0 11 1.5 '5' 5n"],
  [is.integer(0), [0, Number.MAX_SAFE_INTEGER], 'an integer of at least 0', [2 ** 53], '9007199254740992'],
  [is.text(), ['a', ' ', '\n'], 'a non-empty string', ['', 7, Symbol('s')], "'' 7 Symbol(s)"],
  [is.text('a path', /^\//), ['/', '/x'], 'a path', ['x'], "'x'"],
  [
    is.listOf(is.text()),
    [[], ['a', 'b']],
    'an array',
    ['a', { 0: 'a', length: 1 }],
    `'a' {"0":"a","length":1}`,
  ],
  [is.listOf(is.text(), 'one'), [['a']], 'one', [[]], '[]'],
  [is.objectOf<Lamp>(checks), [{}, { watts: 7 }], 'an object', [null, [], 'a'], "null [] 'a'"],
  [
    is.objectWith<typeof store>('a store', ['get', 'set'], ['isShared', 'isFast']),
    [store],
    'a store',
    [null, { ...store, set: 1 }, { ...store, isFast: 1 }],
    'null {"set":1,"isShared":true,"isFast":false} {"isShared":true,"isFast":1}',
  ],
  [is.orFalse(is.oneOf('a')), [false, 'a'], "'a'", [true], 'true'],
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
  const message = "x.labels[0]: expected a non-empty string, received ''"
  t.throws(() => is.objectOf<Lamp>(checks)('x', { labels: [''] }), wrong(message))
})

t.test('the received value is shortened in the message, whatever it is', async (t) => {
  const circular: { self?: unknown } = {}
  circular.self = circular
  for (const [value, message] of [
    ['x'.repeat(1000), /received 'x{79}…$/],
    [Array.from({ length: 1000 }, () => 1), /received \[(1,){39}1…$/],
    [circular, /received \[object Object\]$/],
    [{ toJSON: () => undefined }, /received \[object Object\]$/],
    [() => 1, /received a function \(anonymous\)$/],
    [new Date(0), /received "1970-01-01T00:00:00.000Z"$/],
  ] as const)
    t.throws(() => is.invalid('x', 'y', value), { message }, String(message))
})

t.test('options of a plugin replace its defaults', async (t) => {
  t.strictSame(resolve(undefined), defaults)
  const unset: Record<string, unknown> = { watts: undefined }
  t.strictSame(resolve(unset), defaults, 'undefined is unset')
  const ofRegister = { prefix: '/api', logLevel: 'info', logSerializers: {}, watts: 7 }
  t.strictSame(resolve(is.pluginOptions(ofRegister)), { ...defaults, watts: 7 })
  t.strictSame(is.pluginOptions([]), [])
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
  t.equal(is.routeOptionsOf('r', false, checks), false)
  t.strictSame(is.routeOptionsOf('r', { colour: 'green' }, checks), { colour: 'green' })
  t.strictSame(is.routeOptionsOf('r', true, checks, true), {})
  for (const [index, value] of [true, null, 'off', [], 0].entries()) {
    const shown = "true null 'off' [] 0".split(' ')[index]
    const message = `r: expected an object or false, received ${shown}`
    t.throws(() => is.routeOptionsOf('r', value, checks), wrong(message))
  }
})

t.test('the resolved options are a new frozen object; input and defaults do not change', async (t) => {
  const received: Lamp = { labels: ['a'] }
  const options = is.resolveOptions('lamp', received, declared)
  const route = is.routeOptionsOf('r', received, checks)
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

t.test(
  'a missing package is a boot error that names it; one that fails to load is not missing',
  async (t) => {
    for (const code of ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']) {
      const load = () => Promise.reject(Object.assign(new Error('no such package'), { code }))
      const message = 'bearer needs a package that is not installed: npm install jose'
      await t.rejects(loadPeer('bearer', 'jose', load), { code: 'FST_CONV_PACKAGE_MISSING', message })
    }
    const error = new SyntaxError('unexpected token')
    const failing = loadPeer('bearer', 'jose', () => Promise.reject(error))
    await t.rejects(failing, error)
    t.equal(await loadPeer('bearer', 'jose', async () => 7), 7)
  },
)

function resolve(received: unknown) {
  return is.resolveOptions('lamp', received as Lamp, declared)
}

function errorOf(run: () => unknown) {
  try {
    return void run()
  } catch (error) {
    return error
  }
}
