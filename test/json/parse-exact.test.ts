/** Integers that a Number cannot hold keep their digits, also where no schema declares them. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { parseExact, quoteLongNumbers } from '../../src/json/exact-json.js'
import { jsonText } from '../schema/json-texts.js'

t.test('long integers become BigInts, all other values are those of JSON.parse', async (t) => {
  const rows: readonly (readonly [json: string, value: unknown])[] = [
    ['9007199254740993', 9007199254740993n],
    ['[-9007199254740993]', [-9007199254740993n]],
    ['{"id":18446744073709551615}', { id: 18446744073709551615n }],
    ['{"id":"9007199254740993"}', { id: '9007199254740993' }],
    ['["9007199254740993,",9007199254740993]', ['9007199254740993,', 9007199254740993n]],
    // Safe integers stay Numbers.
    ['[9007199254740991,-9007199254740991,1,0.5,1e3]', [2 ** 53 - 1, 1 - 2 ** 53, 1, 0.5, 1000]],
    ['[9007199254740992]', [9007199254740992n]],
    ['[0.1234567890123456]', [0.1234567890123456]],
    ['{"a":1}', { a: 1 }],
    // Beyond 20 digits, fractions and exponents stay Numbers, exact or not.
    ['[123456789012345678901]', [123456789012345680000]],
    ['[9007199254740993.0,1e17,1.00000000000000000001]', [9007199254740992, 1e17, 1]],
    [
      '{"__proto__":9007199254740993}',
      JSON.parse('{"__proto__":0}', (key, value) => (key === '__proto__' ? 9007199254740993n : value)),
    ],
  ]
  for (const [json, value] of rows) t.strictSame(parseExact(json), value, json)
})

t.test('text that is not JSON throws', async (t) => {
  for (const json of ['', '{', '[9007199254740993,]', '09007199254740993']) {
    t.throws(() => parseExact(json), SyntaxError, json)
  }
})

t.test('only long numbers are quoted in the text', async (t) => {
  const rows: readonly (readonly [json: string, quoted: string])[] = [
    ['{"id":9007199254740993}', '{"id":"9007199254740993"}'],
    ['[-9007199254740993 ,\n1.5e-300000000000]', '["-9007199254740993" ,\n"1.5e-300000000000"]'],
    ['[123456789012345,true,false,null]', '[123456789012345,true,false,null]'],
    ['["\\"",9007199254740993,"\\\\"]', '["\\"","9007199254740993","\\\\"]'],
    ['["\\\\",9007199254740994]', '["\\\\","9007199254740994"]'],
    ['"a: 12345678901234567, b"', '"a: 12345678901234567, b"'],
    ['{"12345678901234567":"12345678901234567"}', '{"12345678901234567":"12345678901234567"}'],
  ]
  for (const [json, quoted] of rows) t.equal(quoteLongNumbers(json), quoted, json)
  fc.assert(
    fc.property(jsonText, (json) => {
      const unquoted = (written: unknown, value: unknown): unknown => {
        if (typeof value === 'number') return Number(written)
        if (typeof value !== 'object' || value === null) return written
        const entries = Object.entries(value).map(([key, one]) => [
          key,
          unquoted((written as Record<string, unknown>)[key], one),
        ])
        return Array.isArray(value) ? entries.map(([, one]) => one) : Object.fromEntries(entries)
      }
      const value: unknown = JSON.parse(json)
      return isDeepStrictEqual(unquoted(JSON.parse(quoteLongNumbers(json)), value), value)
    }),
    { numRuns: 500 },
  )
})
