/** Design.md rule 7 (`config.<plugin>`: absent, object, false, else throw) and errors that name option and value. */
import fc from 'fast-check'
import t from 'tap'
import { bootErrors } from '../src/boot-errors.js'
import {
  type Check,
  type Checks,
  each,
  flag,
  integer,
  invalid,
  listOf,
  objectOf,
  oneOf,
  resolveOptions,
  resolveRouteOptions,
  text,
} from '../src/options.js'

interface Lamp {
  readonly colour?: 'red' | 'green'
  readonly watts?: number
  readonly labels?: readonly string[]
}

const checks: Checks<Lamp> = { colour: oneOf('red', 'green'), watts: integer(1, 100), labels: listOf(text()) }
const defaults: Required<Lamp> = { colour: 'red', watts: 40, labels: [] }

t.test(
  'each check returns a valid value, and throws with label, expected and received value otherwise',
  async (t) => {
    const rows: readonly (readonly [
      check: Check<unknown>,
      passing: readonly unknown[],
      expected: string,
      failing: readonly (readonly [value: unknown, shown: string])[],
    ])[] = [
      [
        oneOf('red', 'green'),
        ['red', 'green'],
        "one of 'red', 'green'",
        [
          ['blue', "'blue'"],
          ['', "''"],
          [['red'], '["red"]'],
          [undefined, 'undefined'],
        ],
      ],
      [oneOf(404, 400), [404, 400], 'one of 404, 400', [['404', "'404'"]]],
      [oneOf('only'), ['only'], "'only'", [['other', "'other'"]]],
      [
        flag,
        [true, false],
        'one of true, false',
        [
          [1, '1'],
          ['true', "'true'"],
          [null, 'null'],
        ],
      ],
      [
        integer(1, 10),
        [1, 10],
        'an integer from 1 to 10',
        [
          [0, '0'],
          [11, '11'],
          [1.5, '1.5'],
          [Number.NaN, 'NaN'],
          [Number.POSITIVE_INFINITY, 'Infinity'],
          ['5', "'5'"],
          [5n, '5n'],
        ],
      ],
      [integer(0), [0, Number.MAX_SAFE_INTEGER], 'an integer of at least 0', [[2 ** 53, '9007199254740992']]],
      [
        text(),
        ['a', ' ', '\n'],
        'a non-empty string',
        [
          ['', "''"],
          [7, '7'],
          [Symbol('s'), 'Symbol(s)'],
        ],
      ],
      [text('a path', /^\//), ['/', '/x'], 'a path', [['x', "'x'"]]],
      [
        listOf(text()),
        [[], ['a', 'b']],
        'an array',
        [
          ['a', "'a'"],
          [{ 0: 'a', length: 1 }, '{"0":"a","length":1}'],
        ],
      ],
      [
        objectOf<Lamp>(checks),
        [{}, { watts: 7 }],
        'an object',
        [
          [null, 'null'],
          [[], '[]'],
          ['a', "'a'"],
          [Math.max, 'a function (max)'],
        ],
      ],
    ]
    for (const [check, passing, expected, failing] of rows) {
      for (const value of passing)
        t.strictSame(check('x', value), value, `${expected} takes ${String(value)}`)
      for (const [value, shown] of failing) {
        t.throws(() => check('app.x', value), wrong(`app.x: expected ${expected}, received ${shown}`), shown)
      }
    }
  },
)

t.test('the error of an invalid item or member has its path', async (t) => {
  t.throws(() => listOf(text())('x', ['a', 7]), wrong('x[1]: expected a non-empty string, received 7'))
  t.throws(
    () => objectOf<Lamp>(checks)('x', { watts: 0 }),
    wrong('x.watts: expected an integer from 1 to 100, received 0'),
  )
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
  t.strictSame(resolveOptions('lamp', undefined, checks, defaults), defaults)
  t.strictSame(resolveOptions('lamp', {}, checks, defaults), defaults)
  t.strictSame(resolveOptions('lamp', { watts: 7 }, checks, defaults), { ...defaults, watts: 7 })
  const unset: Record<string, unknown> = { watts: undefined }
  t.strictSame(
    resolveOptions<Lamp, Required<Lamp>>('lamp', unset, checks, defaults),
    defaults,
    'undefined is unset',
  )
  const ofRegister: Record<string, unknown> = {
    prefix: '/api',
    logLevel: 'info',
    logSerializers: {},
    watts: 7,
  }
  t.strictSame(resolveOptions<Lamp, Required<Lamp>>('lamp', ofRegister, checks, defaults), {
    ...defaults,
    watts: 7,
  })
})

t.test('an unknown option throws, with the known options', async (t) => {
  const unknown = { code: 'FST_CONV_OPTION_UNKNOWN' }
  const message = 'lamp.wats: there is no such option; expected one of colour, labels, watts'
  t.throws(() => resolve({ wats: 7 }), { ...unknown, message, statusCode: 500 })
  t.throws(() => resolve({ wats: undefined }), unknown, 'even if it says nothing')
  t.throws(() => resolve({ constructor: 1 }), unknown)
  t.throws(() => resolve(JSON.parse('{"__proto__":{"watts":1}}')), unknown)
  t.throws(() => resolve('text'), wrong("lamp: expected an object, received 'text'"))
  t.throws(() => resolve([]), wrong('lamp: expected an object, received []'))
  t.throws(() => resolve({ watts: 0 }), wrong('lamp.watts: expected an integer from 1 to 100, received 0'))
  t.throws(
    () => resolve({ watts: null }),
    wrong('lamp.watts: expected an integer from 1 to 100, received null'),
  )
  t.ok(errorOf(() => resolve({ watts: 0 })) instanceof TypeError)
  t.ok(errorOf(() => resolve({ watts: 0 })) instanceof bootErrors.FST_CONV_OPTION_INVALID)
})

t.test('options of a route are absent, an object or false; anything else throws', async (t) => {
  const resolved = Object.freeze({ ...defaults, watts: 7 })
  t.equal(resolveRouteOptions<Lamp, Required<Lamp>>('r', undefined, checks, resolved), resolved)
  t.equal(resolveRouteOptions<Lamp, Required<Lamp>>('r', false, checks, resolved), false)
  const own = resolveRouteOptions<Lamp, Required<Lamp>>('r', { colour: 'green' }, checks, resolved)
  t.strictSame(own, { ...resolved, colour: 'green' })
  for (const [value, shown] of [
    [true, 'true'],
    [null, 'null'],
    ['off', "'off'"],
    [[], '[]'],
    [0, '0'],
  ]) {
    const route = () => resolveRouteOptions<Lamp, Required<Lamp>>('r', value as Lamp, checks, resolved)
    t.throws(route, wrong(`r: expected an object or false, received ${shown}`))
  }
})

t.test('the resolved options are a new frozen object; input and defaults do not change', async (t) => {
  const received: Lamp = { labels: ['a'] }
  const options = resolveOptions('lamp', received, checks, defaults)
  const route = resolveRouteOptions<Lamp, Required<Lamp>>('r', received, checks, options)
  t.ok(Object.isFrozen(options) && Object.isFrozen(options.labels) && Object.isFrozen(route))
  t.not(options.labels, received.labels)
  t.same(received, { labels: ['a'] })
  t.same(defaults, { colour: 'red', watts: 40, labels: [] })
})

t.test('resolving twice changes nothing; the later of two layers wins', async () => {
  const lamp = fc.record<Required<Lamp>>(
    {
      colour: fc.constantFrom('red', 'green'),
      watts: fc.integer({ min: 1, max: 100 }),
      labels: fc.array(fc.string({ minLength: 1 })),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(lamp, lamp, (first, second) => {
      const once = resolveOptions('lamp', first, checks, defaults)
      const twice = resolveOptions('lamp', once, checks, defaults)
      const layered = resolveRouteOptions<Lamp, Required<Lamp>>('r', second, checks, once)
      return (
        same(once, { ...defaults, ...first }) && same(twice, once) && same(layered, { ...once, ...second })
      )
    }),
  )
})

t.test('any value is accepted, or throws a boot error', async () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (received) => {
      const error = errorOf(() => resolve(received)) as { code?: string } | undefined
      return error === undefined || /^FST_CONV_OPTION_(INVALID|UNKNOWN)$/.test(error.code ?? '')
    }),
  )
})

t.test('each gives every key the value', async (t) => {
  t.strictSame(each(['a', 'b'], 1), { a: 1, b: 1 })
  t.strictSame(each([], 1), {})
})

function resolve(received: unknown): unknown {
  return resolveOptions('lamp', received as Lamp, checks, defaults)
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

function same(one: unknown, other: object): boolean {
  const sorted = (value: unknown): string => JSON.stringify(Object.entries(value as object).sort())
  return sorted(one) === sorted(other)
}
