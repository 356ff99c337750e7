/** decisions.md §3 "Integer twins": whatever a validator does to an input, the handler gets exact BigInts. */
import t from 'tap'
import { parseExact } from '../../../../src/json/exact-body.js'
import { applyWide } from '../../../../src/plugins/integer-twins/input/wide-apply.js'
import { readWide } from '../../../../src/plugins/integer-twins/input/wide-input.js'
import { int64, objectOf, planOf, received, type Schema } from './wide-support.js'

const long = '9007199254740993'
const exact = 9007199254740993n
const list: Schema = { type: 'array', items: int64 }

/** What comes of a body if a validator puts something else in its place. */
function applied(schema: Schema, text: string, validated: (value: unknown) => unknown): unknown {
  const plan = planOf(schema)
  const body = parseExact(text, JSON.parse)
  const { value, found } = readWide(plan, body.value, body)
  return applyWide(plan, validated(value), found).value
}

t.test('defaults become BigInts', async (t) => {
  const schema = objectOf({
    id: { ...int64, default: 5 },
    more: objectOf({ ids: { ...list, default: [1, 2] } }, { default: {} }),
  })
  t.strictSame(received(schema, '{}'), { value: { id: 5n, more: { ids: [1n, 2n] } } })
  t.strictSame(received(schema, `{"id":${long}}`), { value: { id: exact, more: { ids: [1n, 2n] } } })
})

t.test('members that the validator removes', async (t) => {
  const schema = objectOf({ id: int64, inner: objectOf({ id: int64 }, { additionalProperties: false }) })
  const text = `{"inner":{"x":${long},"id":${long},"y_str":"1"},"id":1}`
  t.strictSame(received(schema, text), { value: { inner: { id: exact }, id: 1n } })
})

t.test('a value that is made anew', async (t) => {
  const schema = objectOf({ id: int64, ids: list, map: { type: 'object', additionalProperties: int64 } })
  const text = `{"id":${long},"ids":[${long},9007199254740992],"map":{"a":9007199254740992,"b":${long}}}`
  t.strictSame(applied(schema, text, structuredClone), {
    id: exact,
    ids: [exact, 9007199254740992n],
    map: { a: 9007199254740992n, b: exact },
  })
})

t.test('what is not where it was', async (t) => {
  const schema = objectOf({ id: int64, ids: list, inner: objectOf({ id: int64 }) })
  const text = `{"id":${long},"ids":[${long}],"inner":{"id":${long}}}`
  const rows: readonly (readonly [validated: unknown, value: unknown])[] = [
    [undefined, undefined],
    [null, null],
    ['text', 'text'],
    [7, 7],
    [{}, {}],
    [[], []],
    [
      { id: 7, ids: [7, 8], inner: { id: 7 } },
      { id: 7n, ids: [7n, 8n], inner: { id: 7n } },
    ],
    [
      { id: [7], ids: 7, inner: [] },
      { id: [7], ids: 7, inner: [] },
    ],
    [
      { id: null, ids: null, inner: null },
      { id: null, ids: null, inner: null },
    ],
    [
      { id: {}, ids: {}, inner: 7 },
      { id: {}, ids: {}, inner: 7 },
    ],
    [
      { id: 'a', ids: ['a', null, true], inner: 'a' },
      { id: 'a', ids: ['a', null, true], inner: 'a' },
    ],
    [
      { id: 7n, ids: [7n] },
      { id: 7n, ids: [7n] },
    ],
    [
      { id: 1.5, ids: [Number.NaN, Number.POSITIVE_INFINITY] },
      { id: 1.5, ids: [Number.NaN, Number.POSITIVE_INFINITY] },
    ],
    [{ inner: { id: 9007199254740992 } }, { inner: { id: exact } }],
  ]
  for (const [index, [validated, value]] of rows.entries()) {
    t.strictSame(
      applied(schema, text, () => validated),
      value,
      `row ${index}`,
    )
  }
})

t.test('an input that was not read', async (t) => {
  const plan = planOf(objectOf({ id: int64 }))
  t.strictSame(applyWide(plan, { id: 5 }, undefined), { value: { id: 5n }, refusal: null })
})

t.test('a value deeper than any that is read', async (t) => {
  const plan = planOf(objectOf({ id: int64, next: { $ref: '#' } }))
  const deep = JSON.parse(`${'{"next":'.repeat(100_000)}{}${'}'.repeat(100_000)}`) as object
  t.doesNotThrow(() => applyWide(plan, deep, undefined))
})

t.test('bytes are left alone', async (t) => {
  const plan = planOf({ type: 'object', additionalProperties: int64 })
  const bytes = Buffer.from('abc')
  t.equal(applyWide(plan, bytes, undefined).value, bytes)
  t.equal(bytes.toString(), 'abc')
})
