/** Integers of 64 bits: their text, their ranges, and the literals of JSON (RFC 8259 §6). */
import fc from 'fast-check'
import t from 'tap'
import { exactInteger, isWithin, maxInt64, minInt64, parseInt64, rangeOf } from '../../src/json/int64.js'

t.test('the bounds of 64 bits with sign', async (t) => {
  t.equal(maxInt64, 9223372036854775807n)
  t.equal(minInt64, -9223372036854775808n)
})

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

t.test('the integer value of a JSON number', async (t) => {
  const rows: readonly (readonly [literal: string, exact: bigint | null])[] = [
    ['0', 0n],
    ['5', 5n],
    ['-5', -5n],
    ['18446744073709551615', 18446744073709551615n],
    ['-99999999999999999999', -99999999999999999999n],
    ['100000000000000000000', null],
    ['1.0', 1n],
    ['0.0', 0n],
    ['0e5', 0n],
    ['1e3', 1000n],
    ['-1.5E+1', -15n],
    ['1500e-2', 15n],
    ['1e19', 10_000_000_000_000_000_000n],
    ['1e20', null],
    ['1e999999999999', null],
    ['1e-999999999999', null],
    ['1.5', null],
    ['1.00000000000000000001', null],
    ['15e-2', null],
    ['-0', null],
    ['-0.0', null],
    ['-0e5', null],
    ['', null],
    ['-', null],
    ['x', null],
    ['9'.repeat(10_000), null],
    [`0.${'0'.repeat(10_000)}1`, null],
    [`1.${'0'.repeat(10_000)}`, 1n],
  ]
  for (const [literal, exact] of rows) t.equal(exactInteger(literal), exact, literal.slice(0, 30))
})

t.test('a number with fraction and exponent has its arithmetic value', async () => {
  const digits = fc.bigInt({ min: -(10n ** 20n) + 1n, max: 10n ** 20n - 1n }).filter((value) => value !== 0n)
  fc.assert(
    fc.property(digits, fc.nat(25), fc.integer({ min: -25, max: 25 }), (value, places, exponent) => {
      const padded = `${value < 0n ? -value : value}`.padStart(places + 1, '0')
      const at = padded.length - places
      const literal = `${value < 0n ? '-' : ''}${padded.slice(0, at)}${places > 0 ? '.' : ''}${padded.slice(at)}e${exponent}`
      const power = exponent - places
      const scale = 10n ** BigInt(Math.abs(power))
      const exact = power >= 0 ? value * scale : value % scale === 0n ? value / scale : null
      const expected = exact !== null && `${exact}`.replace('-', '').length <= 20 ? exact : null
      return exactInteger(literal) === expected
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
