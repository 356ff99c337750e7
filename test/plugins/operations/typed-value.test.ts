/** Values of a schema: 64-bit integers as BigInts, with their twins; inputs as a validator of the app leaves them. */
import t from 'tap'
import { exactJson } from '../../../src/json/exact-json.js'
import { restorer, validInput } from '../../../src/plugins/operations/typed-value.js'

const int64 = { type: 'integer', format: 'int64' }
const objectOf = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })

t.test('each declared 64-bit integer becomes a BigInt, and gets its twin', async (t) => {
  const rows: readonly (readonly [schema: object, value: unknown, exact: unknown, twinned: unknown])[] = [
    [int64, 7, 7n, 7n],
    [{ type: 'integer' }, 7, 7, 7],
    [{ type: 'array', items: int64 }, [1, '2', 3n], [1n, 2n, 3n], [1n, 2n, 3n]],
    [
      objectOf({ id: int64 }),
      { id: '9007199254740993' },
      { id: 9007199254740993n },
      { id: 9007199254740993n, id_str: '9007199254740993' },
    ],
    [
      objectOf({ ids: { type: 'array', items: int64 } }),
      { ids: [1] },
      { ids: [1n] },
      { ids: [1n], ids_str: ['1'] },
    ],
    [
      objectOf({ a: objectOf({ id: int64 }) }),
      { a: { id: 1 } },
      { a: { id: 1n } },
      { a: { id: 1n, id_str: '1' } },
    ],
    [
      objectOf({ id: { type: ['integer', 'null'], format: 'int64' } }),
      { id: null },
      { id: null },
      { id: null, id_str: null },
    ],
    [objectOf({ id: { anyOf: [int64, { type: 'null' }] } }), { id: 1 }, { id: 1n }, { id: 1n, id_str: '1' }],
    [objectOf({ id: int64 }), { id: 1, id_str: 'own' }, { id: 1n, id_str: 'own' }, { id: 1n, id_str: 'own' }],
    [objectOf({ id: int64 }), { other: 1 }, { other: 1 }, { other: 1 }],
    [objectOf({}, { additionalProperties: int64 }), { any: 1 }, { any: 1n }, { any: 1n, any_str: '1' }],
    [
      objectOf({}, { patternProperties: { '^n': int64 } }),
      { n1: 1, m1: 1 },
      { n1: 1n, m1: 1 },
      { n1: 1n, n1_str: '1', m1: 1 },
    ],
    // Other values stay as they are: this function does not validate.
    ...[1.5, 2 ** 60, 'x', '9'.repeat(20), 2n ** 63n].map((value) => [int64, value, value, value] as const),
    [objectOf({ id: int64 }), [1], [1], [1]],
    [objectOf({ id: int64 }), null, null, null],
    [{ type: 'array', items: int64 }, 'x', 'x', 'x'],
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

t.test('an invalid input is a 400 with the pointers of the validator', async (t) => {
  const errors = [{ instancePath: '/id', message: 'must be integer', keyword: 'type', params: {} }]
  const validate = Object.assign(() => false, { errors })
  t.throws(() => validInput(validate, '{}'), {
    code: 'validation',
    statusCode: 400,
    errors: [{ in: 'body', pointer: '/id', message: 'must be integer' }],
  })
  t.throws(() => validInput(() => ({ error: new Error('is odd') }), '7'), {
    code: 'validation',
    message: /is odd/,
  })
  t.throws(() => validInput(() => false, '7'), { code: 'validation', statusCode: 400 })
})

t.test('a deep input is validated, too', async (t) => {
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
  let [value, depth] = [validInput(() => true, deep), 0]
  for (; Array.isArray(value); value = value[0]) depth += 1
  t.equal(depth, 5_000)
})
