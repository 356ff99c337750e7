/** Exact digits from every form that a handler has them in. */
import t from 'tap'
import { arrayTwin, int64Digits, rangeOf, valueTwin } from '../../src/json/int64.js'

const lostAt = 2 ** 53
const any = { min: -(10n ** 400n), max: 10n ** 400n }

t.test('a declared 64-bit integer has all its digits, as BigInt, Number or text', async (t) => {
  const rows: readonly (readonly [value: unknown, digits: string | null])[] = [
    [9_007_199_254_740_993n, '9007199254740993'],
    [-9_223_372_036_854_775_808n, '-9223372036854775808'],
    [18_446_744_073_709_551_615n, '18446744073709551615'],
    ['9007199254740993', '9007199254740993'],
    ['-1', '-1'],
    ['0', '0'],
    [0, '0'],
    [-0, '0'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [Number.MIN_SAFE_INTEGER, '-9007199254740991'],
    [null, null],
  ]
  for (const [value, digits] of rows) t.equal(int64Digits(value, any), digits, String(value))
})

t.test('an integer out of the range of its format is refused in every form, without the value', async (t) => {
  const most = [2n ** 63n - 1n, -(2n ** 63n), '9223372036854775807', '-9223372036854775808', -1]
  const more = [
    2n ** 63n,
    -(2n ** 63n) - 1n,
    '9223372036854775808',
    '-9223372036854775809',
    '9'.repeat(10_000),
  ]
  const unsigned = [2n ** 64n - 1n, 0n, '18446744073709551615', 0]
  const rows: readonly (readonly [format: string, within: unknown[], beyond: unknown[]])[] = [
    ['int64', most, more],
    ['uint64', unsigned, [2n ** 64n, -1n, '18446744073709551616', '-1', -1]],
  ]
  for (const [format, within, beyond] of rows) {
    const range = rangeOf(format) ?? any
    for (const value of within) t.equal(int64Digits(value, range), String(value))
    const refused = { message: 'a declared 64-bit integer is out of the range of its format' }
    for (const value of beyond) t.throws(() => int64Digits(value, range), refused)
  }
})

t.test('a Number from 2^53 on is refused, because its digits are lost', async (t) => {
  for (const value of [lostAt, -lostAt, 2 ** 63, 1e300]) {
    t.throws(() => int64Digits(value, any), { message: /digits are lost/ }, `${value}`)
  }
})

t.test('a value that is not an integer is refused, without the value in the message', async (t) => {
  const texts = ['', ' 1', '1.0', '1e3', '+1', '-0', '01', 'secret']
  const others = [1.5, Number.NaN, Infinity, true, {}, [], undefined, ...texts]
  for (const value of others) {
    const refused = { name: 'TypeError', message: `a value of type ${typeof value} is not a 64-bit integer` }
    t.throws(() => int64Digits(value, any), refused, String(value))
  }
})

t.test('a BigInt is unsafe from 2^53 on; a Number never is, because it may be rounded already', async (t) => {
  const rows: readonly (readonly [value: unknown, digits: string | null])[] = [
    [2n ** 53n, '"9007199254740992"'],
    [-(2n ** 53n), '"-9007199254740992"'],
    [2n ** 53n - 1n, null],
    [-(2n ** 53n) + 1n, null],
    [lostAt, null],
    [-lostAt, null],
    [lostAt - 1, null],
    [1.5, null],
    [Infinity, null],
    ['9007199254740993', null],
    [null, null],
    [{}, null],
  ]
  for (const [value, digits] of rows) t.equal(valueTwin(value), digits, String(value))
})

t.test('the twin of an array has null for other items, and exists only if it is needed', async (t) => {
  const big = 9_007_199_254_740_993n
  const rows: readonly (readonly [items: unknown[], declared: boolean, twin: string | null])[] = [
    [[], false, null],
    [[], true, '[]'],
    [[1, 2], false, null],
    [[1, 2], true, '["1","2"]'],
    [[1, big], false, '["1","9007199254740993"]'],
    [[big, 1.5, 'a', null, true, {}, undefined], false, `["${big}"${',null'.repeat(6)}]`],
    [[[1], [big]], false, '[["1"],["9007199254740993"]]'],
    [['9007199254740993', -0], true, '["9007199254740993","0"]'],
    [[{ id: big }], false, null],
  ]
  for (const [items, declared, twin] of rows)
    t.equal(declared ? arrayTwin(items, true) : valueTwin(items), twin)
})
