/** Decisions §3: large integers are exact, also where no schema declares them. */
import fc from 'fast-check'
import t from 'tap'
import { exactJson } from '../../src/json/exact-json.js'
import { parseWithBigInts } from '../../src/json/parse-with-big-ints.js'

t.test('long integers become BigInts, all else is as JSON.parse has it', async (t) => {
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
  ]
  for (const [json, value] of rows) t.strictSame(parseWithBigInts(json), value, json)
})

t.test('what is no JSON is refused', async (t) => {
  for (const json of ['', '{', '[9007199254740993,]', '09007199254740993']) {
    t.throws(() => parseWithBigInts(json), SyntaxError, json)
  }
})

t.test('any JSON with integers of 64 bits in it is written again as it was', async () => {
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
      fc.string(),
      fc.constantFrom(null, true, 0.5, '9007199254740993'),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
    ),
  }))
  fc.assert(
    fc.property(value, (given) => {
      const json = exactJson(given, false) ?? ''
      return exactJson(parseWithBigInts(json), false) === json
    }),
    { numRuns: 500 },
  )
})
