/** RFC 8259 §6 (numbers), for integers of 64 bits. */
import fc from 'fast-check'
import t from 'tap'
import { exactInteger, isWithin, rangeOf } from '../../src/json/wide-range.js'

t.test('the integer that a literal is', async (t) => {
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

t.test('a literal of digits, a fraction and an exponent is what arithmetic makes of it', async () => {
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
