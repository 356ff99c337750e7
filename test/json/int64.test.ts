/** Integers of 64 bits: their text and their ranges. */
import fc from 'fast-check'
import t from 'tap'
import { isWithin, parseInt64, rangeOf } from '../../src/json/int64.js'

const [most, least] = [2n ** 63n - 1n, -(2n ** 63n)]

t.test('canonical decimal text of 64 bits is read exactly, and no other text', async (t) => {
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
})

t.test('the ranges of the formats int64 and uint64', async (t) => {
  t.strictSame(rangeOf('int64'), { min: least, max: most })
  t.strictSame(rangeOf('uint64'), { min: 0n, max: 2n ** 64n - 1n })
  for (const format of ['int32', 'Int64', '', undefined, null, 64]) t.equal(rangeOf(format), null)
  const within = [-1n, 0n, 1n, 2n].map((value) => isWithin({ min: 0n, max: 1n }, value))
  t.strictSame(within, [false, true, true, false])
})
