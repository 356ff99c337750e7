/** Integers of 64 bits: their text and their ranges. */
import fc from 'fast-check'
import t from 'tap'
import { isWithin, parseInt64, rangeOf } from '../../src/json/int64.js'

const maxInt64 = 2n ** 63n - 1n
const minInt64 = -(2n ** 63n)

t.test('isDecimal() accepts canonical decimal text only', async (t) => {
  const rows: readonly (readonly [text: string, value: bigint | null])[] = [
    ['0', 0n],
    ['7', 7n],
    ['-7', -7n],
    ['10', 10n],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', maxInt64],
    ['9223372036854775808', null],
    ['-9223372036854775808', minInt64],
    ['-9223372036854775809', null],
    ['9'.repeat(19), null],
    ['1'.repeat(20), null],
    ['9'.repeat(10_000), null],
    ['-0', null],
    ['00', null],
    ['007', null],
    ['+7', null],
    ['7.0', null],
    ['7e2', null],
    ['1e400', null],
    ['0x10', null],
    ['1_000', null],
    ['7n', null],
    [' 7', null],
    ['7 ', null],
    ['7\n', null],
    ['', null],
    ['-', null],
    ['--7', null],
    ['٧', null],
    ['NaN', null],
    ['Infinity', null],
  ]
  for (const [text, value] of rows) t.equal(parseInt64(text), value, JSON.stringify(text.slice(0, 30)))
})

t.test('every integer of 64 bits comes back exactly', async () => {
  fc.assert(fc.property(fc.bigInt(minInt64, maxInt64), (value) => parseInt64(String(value)) === value))
})

t.test('an integer beyond 64 bits is null', async () => {
  const beyond = fc.oneof(fc.bigInt(maxInt64 + 1n, 2n ** 80n), fc.bigInt(-(2n ** 80n), minInt64 - 1n))
  fc.assert(fc.property(beyond, (value) => parseInt64(String(value)) === null))
})

t.test('any text: null, or the canonical text of an integer', async () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[+-]?\d{0,21}$/))
  fc.assert(
    fc.property(text, (written) => {
      const value = parseInt64(written)
      return value === null || String(value) === written
    }),
  )
})

t.test('ranges', async (t) => {
  const int64 = rangeOf('int64')
  const uint64 = rangeOf('uint64')
  t.strictSame(int64, { min: -(2n ** 63n), max: 2n ** 63n - 1n })
  t.strictSame(uint64, { min: 0n, max: 2n ** 64n - 1n })
  for (const format of ['int32', 'Int64', '', undefined, null, 64]) t.equal(rangeOf(format), null)
  t.ok(isWithin({ min: 0n, max: 1n }, 1n))
  t.notOk(isWithin({ min: 0n, max: 1n }, 2n))
  t.notOk(isWithin({ min: 0n, max: 1n }, -1n))
})

t.test('parseInt64() reads canonical decimal text of 64 bits only', async (t) => {
  const [most, least] = [2n ** 63n - 1n, -(2n ** 63n)]
  for (const value of [0n, 7n, -7n, 10n, 9_007_199_254_740_993n, most, least])
    t.equal(parseInt64(String(value)), value)
  const others = ['9'.repeat(19), '1'.repeat(20), '9'.repeat(10_000), '-0', '00', '007', '+7', '7.0', '7e2']
  others.push('1e400', '0x10', '1_000', '7n', ' 7', '7 ', '7\n', '', '-', '--7', '٧', 'NaN', 'Infinity')
  for (const text of [...others, `${most + 1n}`, `${least - 1n}`])
    t.equal(parseInt64(text), null, JSON.stringify(text.slice(0, 30)))
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[+-]?\d{0,21}$/), fc.bigInt().map(String))
  const isExact = (written: string): boolean => {
    const value = parseInt64(written)
    return value === null ? !/^(?:0|-?[1-9]\d{0,17})$/.test(written) : String(value) === written
  }
  fc.assert(fc.property(text, isExact))
  t.strictSame(rangeOf('uint64'), { min: 0n, max: 2n ** 64n - 1n })
  for (const format of ['int32', 'Int64', '', undefined, null, 64]) t.equal(rangeOf(format), null)
  t.strictSame(
    [-1n, 0n, 1n, 2n].map((value) => isWithin({ min: 0n, max: 1n }, value)),
    [false, true, true, false],
  )
})
