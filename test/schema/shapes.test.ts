/** What is read out of a response schema: its kind, its twins, and the fields that may be selected. */
import t from 'tap'
import { fieldPaths, fieldsOf } from '../../src/json/selection.js'
import { canonicalPath, fieldNames, fieldsLeft, isField, isList } from '../../src/schema/field-names.js'
import type { Json } from '../../src/schema/json-schema.js'
import { containsInt64, mayBeInteger, numberName, twinName, twinWriter } from '../../src/schema/shape.js'
import { shapeOf } from '../../src/schema/shape-reader.js'

const text = { type: 'string' }
const id = { type: 'integer', format: 'int64' }
const array = { type: 'array', items: text }
const object = (properties: { readonly [name: string]: Json }) => ({ type: 'object', properties })

t.test('kinds of schemas', async (t) => {
  const rows: readonly (readonly [kind: string, schema: Json, shape?: object])[] = [
    ['text', { type: ['string', 'null'], format: 'time' }, { format: 'time', nullable: true }],
    ['null', { type: ['null'] }, { nullable: true }],
    ['number', { type: 'number', format: 'int64' }],
    ['constant', { const: { a: 1 } }, { json: '{"a":1}' }],
    ['constant', { type: ['string', 'null'], const: 'a' }, { json: '"a"', nullable: true }],
    ['anything', { enum: ['a'] }, { nullable: true }],
    ['text', { minLength: 1 }],
    ['number', { minimum: 1 }],
    ['object', { properties: {} }, { rest: null }],
    ['object', { required: ['a'] }],
    ['object', { type: 'object', additionalProperties: false }, { rest: null, isClosed: true }],
    ['array', { items: text }, { items: { kind: 'text' } }],
    ['tuple', { type: 'array', items: [], additionalItems: true }],
    ['choice', { type: ['string', 'integer', 'null'] }, { nullable: true }],
    ['choice', { type: 'object', if: {}, else: {} }],
    ['text', { ...text, if: {} }],
    ['text', { allOf: [text, { format: 'date' }] }, { format: 'date' }],
  ]
  for (const [kind, schema, shape] of rows)
    t.match(shapeOf(schema), { kind, ...shape }, JSON.stringify(schema))
})

t.test('the twin of a name is <name>_str', async (t) => {
  t.strictSame(['id', ''].map(twinName), ['id_str', '_str'])
  t.strictSame(['id_str_str', 'id', 'id_st', ''].map(numberName), ['id_str', null, null, null])
})

t.test('a declared 64-bit integer is found, also in a shape that contains itself', async (t) => {
  const node = (own: Json) => shapeOf(object({ next: { $ref: '#' }, own }))
  t.strictSame([id, { type: 'integer' }].map(node).map(containsInt64), [true, false])
  t.equal(twinWriter(shapeOf(id))(null), 'null')
  const others = ['string', 'number'].map((type) => mayBeInteger(shapeOf({ type })))
  t.strictSame(others, [false, true], 'a number may be a large integer')
})

t.test('names from a client are not matched against patterns', async (t) => {
  const pattern = shapeOf({ type: 'object', patternProperties: { '^(\\w+\\s?)*$': text } })
  t.equal(isField(pattern, [`${'a'.repeat(40)}!`]), true)
})

t.test('the names of an array that contains itself are finite', async (t) => {
  const json = { $id: 'json', anyOf: [{ type: 'array', items: { $ref: 'json#' } }, object({ a: text })] }
  const shape = shapeOf({ $ref: 'json#' }, { json })
  t.strictSame([fieldNames(shape), isField(shape, ['a']), isField(shape, ['b'])], [['a'], true, false])
})

t.test('a field of one of the alternatives is one, also if it is named like a twin', async (t) => {
  const twin = shapeOf({ anyOf: [object({ id }), object({ id_str: text })] })
  t.strictSame(canonicalPath(twin, ['id_str']), ['id_str'])
  const either = { anyOf: [object({ a: text, x: text }), object({ b: text, x: text })] }
  const cut = { only: null, without: fieldsOf(['o.x']) }
  t.strictSame(fieldPaths(fieldsLeft([shapeOf(object({ o: either }))], cut)), ['o.a', 'o.b'])
})

t.test('an array is a list, also a nullable one; a text instead of it makes none', async (t) => {
  const lists: readonly Json[] = [array, { ...array, nullable: true }, { anyOf: [array, { type: 'null' }] }]
  const others: readonly Json[] = [{ anyOf: [array, text] }, { anyOf: [text, { type: 'null' }] }, {}]
  const found = [...lists, ...others].filter((schema) => isList(shapeOf(schema)))
  t.strictSame(found, lists)
})
