/** What may be named in a selection, at the edges. The rules: test/plugins/fields. */
import t from 'tap'
import { fieldPaths, fieldsOf } from '../../src/json/selection.js'
import { canonicalPath, fieldNames, fieldsLeft, isField, isList } from '../../src/schema/field-names.js'
import type { Json } from '../../src/schema/json-schema.js'
import { shapeOf } from '../../src/schema/shape-reader.js'

const text = { type: 'string' }
const array = { type: 'array', items: text }
const object = (properties: { readonly [name: string]: Json }) => ({ type: 'object', properties })

t.test('names from a client are not matched against patterns', async (t) => {
  const pattern = shapeOf({ type: 'object', patternProperties: { '^(\\w+\\s?)*$': text } })
  t.equal(isField(pattern, [`${'a'.repeat(40)}!`]), true)
})

t.test('the names of an array that contains itself are finite', async (t) => {
  const json = { $id: 'json', anyOf: [{ type: 'array', items: { $ref: 'json#' } }, object({ a: text })] }
  const shape = shapeOf({ $ref: 'json#' }, { json })
  t.strictSame(fieldNames(shape), ['a'])
  t.strictSame([isField(shape, ['a']), isField(shape, ['b'])], [true, false])
})

t.test('a field of one of the alternatives is one, also if it is named like a twin', async (t) => {
  const id = { type: 'integer', format: 'int64' }
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
