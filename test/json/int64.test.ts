/** Decisions.md §3 "Integer twins" and "Lists": ids are exact integers of 64 bits with sign. */
import fc from 'fast-check'
import t from 'tap'
import { maxInt64, minInt64, parseInt64 } from '../../src/json/int64.js'

t.test('the bounds of 64 bits with sign', async (t) => {
  t.equal(maxInt64, 9223372036854775807n)
  t.equal(minInt64, -9223372036854775808n)
})

t.test('canonical decimal text', async (t) => {
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

t.test('no integer beyond 64 bits does', async () => {
  const beyond = fc.oneof(fc.bigInt(maxInt64 + 1n, 2n ** 80n), fc.bigInt(-(2n ** 80n), minInt64 - 1n))
  fc.assert(fc.property(beyond, (value) => parseInt64(String(value)) === null))
})

t.test('any text: null, or the one way to write that integer', async () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[+-]?\d{0,21}$/))
  fc.assert(
    fc.property(text, (written) => {
      const value = parseInt64(written)
      return value === null || String(value) === written
    }),
  )
})
