/** Values of a schema: 64-bit integers as BigInts, with their twins; inputs as a validator of the app leaves them. */
import t from 'tap'
import { exactJson } from '../../../src/json/exact-json.js'
import { restorer, validInput } from '../../../src/plugins/operations/typed-value.js'

const int64 = { type: 'integer', format: 'int64' }
const objectOf = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const withId = objectOf({ id: int64 })
const ids = { type: 'array', items: int64 }
const orNull = { type: ['integer', 'null'], format: 'int64' }

t.test('each declared 64-bit integer becomes a BigInt, and gets its twin', async (t) => {
  const rows: readonly (readonly [schema: object, value: unknown, exact: unknown, twinned: unknown])[] = [
    [int64, 7, 7n, 7n],
    [{ type: 'integer' }, 7, 7, 7],
    [ids, [1, '2', 3n], [1n, 2n, 3n], [1n, 2n, 3n]],
    [withId, { id: `${2n ** 62n}` }, { id: 2n ** 62n }, { id: 2n ** 62n, id_str: `${2n ** 62n}` }],
    [objectOf({ ids }), { ids: [1] }, { ids: [1n] }, { ids: [1n], ids_str: ['1'] }],
    [objectOf({ a: withId }), { a: { id: 1 } }, { a: { id: 1n } }, { a: { id: 1n, id_str: '1' } }],
    [objectOf({ id: orNull }), { id: null }, { id: null }, { id: null, id_str: null }],
    [objectOf({ id: { anyOf: [int64, { type: 'null' }] } }), { id: 1 }, { id: 1n }, { id: 1n, id_str: '1' }],
    [withId, { id: 1, id_str: 'own' }, { id: 1n, id_str: 'own' }, { id: 1n, id_str: 'own' }],
    [withId, { other: 1 }, { other: 1 }, { other: 1 }],
    [objectOf({}, { additionalProperties: int64 }), { any: 1 }, { any: 1n }, { any: 1n, any_str: '1' }],
    [
      objectOf({}, { patternProperties: { '^n': int64 } }),
      { n1: 1, m1: 1 },
      { n1: 1n, m1: 1 },
      { n1: 1n, n1_str: '1', m1: 1 },
    ],
    // Other values stay as they are: this function does not validate.
    ...[1.5, 2 ** 60, 'x', '9'.repeat(20), 2n ** 63n].map((value) => [int64, value, value, value] as const),
    [withId, [1], [1], [1]],
    [withId, null, null, null],
    [ids, 'x', 'x', 'x'],
  ]
  for (const [schema, value, exact, twinned] of rows) {
    const restore = restorer(schema, {})
    t.strictSame(restore(value, false), exact)
    t.strictSame(restore(value, true), twinned)
  }
})

t.test('a schema that cannot be read throws', async (t) => {
  t.throws(() => restorer({ $ref: 'nothing#' }, {}), TypeError)
})

t.test('an input is what the validator leaves, with all digits', async (t) => {
  const seen: unknown[] = []
  const given = { id: 9007199254740993n, text: '9007199254740995', list: [1n, { id: 2n ** 62n }], gone: 1 }
  const valid = validInput((value) => {
    seen.push(structuredClone(value))
    const body = value as Record<string, unknown>
    // As Ajv does with defaults, types and additional members.
    body.count = 3
    body.text = Number(body.text)
    delete body.gone
    return true
  }, exactJson(given, false) ?? null)
  t.strictSame(seen, [
    { id: 9007199254740992, text: '9007199254740995', list: [1, { id: 2 ** 62 }], gone: 1 },
  ])
  t.strictSame(valid, {
    id: 9007199254740993n,
    text: 9007199254740995n,
    list: [1, { id: 2n ** 62n }],
    count: 3,
  })
  t.strictSame([validInput(() => ({ value: 7 }), '"7"'), validInput(() => true, null)], [7, null])
})
