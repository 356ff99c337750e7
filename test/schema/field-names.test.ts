/** What may be named in a selection. */
import t from 'tap'
import { fieldPaths, fieldsOf } from '../../src/json/selection.js'
import {
  canonicalPath,
  fieldNames,
  fieldsLeft,
  isField,
  isList,
  shapeWithin,
} from '../../src/schema/field-names.js'
import type { Json } from '../../src/schema/json-schema.js'
import type { Shape } from '../../src/schema/shape.js'
import { shapeOf } from '../../src/schema/shape-reader.js'

const text = { type: 'string' }
const id = { type: 'integer', format: 'int64' }
const object = (properties: { readonly [name: string]: Json }): { readonly [keyword: string]: Json } => ({
  type: 'object',
  properties,
})
const user = shapeOf(
  object({
    name: text,
    id,
    age: { type: 'integer' },
    address: object({ zip: id, city: text }),
    tags: { type: 'array', items: object({ key: text, value: text }) },
    friend_ids: { type: 'array', items: id },
    owner: { anyOf: [{ type: 'null' }, object({ id, name: text })] },
  }),
)
const nested = { type: 'array', items: { type: 'array', items: object({ a: text }) } }
const pair = { type: 'array', items: [object({ a: text }), text] }

t.test('the field names of a shape; a twin has the name of its number', async (t) => {
  const rows: readonly (readonly [about: string, schema: Json, names: string[]])[] = [
    ['an object', object({ b: text, a: text }), ['b', 'a']],
    ['the items of arrays of arrays', nested, ['a']],
    ['all alternatives', { anyOf: [object({ a: text }), object({ b: text, a: id })] }, ['a', 'b']],
    ['a number and its twin', object({ id, id_str: text }), ['id']],
    ['an empty schema', {}, []],
    ['a map', { type: 'object', additionalProperties: text }, []],
    ['a tuple is a value', pair, []],
  ]
  for (const [about, schema, names] of rows) t.strictSame(fieldNames(shapeOf(schema)), names, about)
})

t.test('a field exists if one alternative has it; without a schema all of them may', async (t) => {
  const open = shapeOf(object({ any: {} }))
  const map = shapeOf({ ...object({ a: text }), additionalProperties: object({ b: text }) })
  const pattern = shapeOf({ type: 'object', patternProperties: { '^(\\w+\\s?)*$': text } })
  const rows: readonly (readonly [shape: Shape, known: readonly string[], unknown: readonly string[]])[] = [
    [
      user,
      ['name', 'id', 'id_str', 'address.zip_str', 'owner.id', 'tags.key', 'friend_ids_str'],
      [
        ...['nope', 'address.nope', 'nope.a', 'friend_ids.0', 'tags.length', 'owner.nope', 'name_str'],
        ...['Name', 'name ', 'id_str.nope', '*', '__proto__', 'constructor'],
      ],
    ],
    [open, ['any.a.b'], ['other']],
    // Members of a map have the schema of its values.
    [map, ['other.b'], ['other.c', 'a.b']],
    // Names from a client are not matched against patterns.
    [pattern, [`${'a'.repeat(40)}!`], []],
  ]
  for (const [shape, known, unknown] of rows) {
    for (const path of [...known, ...unknown])
      t.equal(isField(shape, path.split('.')), known.includes(path), path)
  }
})

t.test('the names of an array that contains itself are finite', async (t) => {
  const shared = {
    json: { $id: 'json', anyOf: [{ type: 'array', items: { $ref: 'json#' } }, object({ a: text })] },
  }
  const shape = shapeOf({ $ref: 'json#' }, shared)
  t.strictSame(fieldNames(shape), ['a'])
  t.equal(isField(shape, ['a']), true)
  t.equal(isField(shape, ['b']), false)
})

t.test('a twin is selected by the name of its number, at every depth', async (t) => {
  const rows: readonly (readonly [path: string, canonical: string])[] = [
    ['id_str', 'id'],
    ['address.zip_str', 'address.zip'],
    ['friend_ids_str', 'friend_ids'],
    ['owner.id_str', 'owner.id'],
    ['id_str.nope', 'id.nope'],
    ['name_str', 'name_str'],
    ['nope.id_str', 'nope.id_str'],
  ]
  for (const [path, canonical] of rows)
    t.equal(canonicalPath(user, path.split('.')).join('.'), canonical, path)
  const either = shapeOf({ anyOf: [object({ id }), object({ id_str: text })] })
  t.strictSame(canonicalPath(either, ['id_str']), ['id_str'], 'a field of its own in one of the alternatives')
})

t.test('the fields that a selection leaves, by all names of the shape', async (t) => {
  const rows: readonly (readonly [only: string[] | null, without: string[], left: string[]])[] = [
    [null, [], fieldNames(user)],
    [null, ['id', 'address.zip', 'tags', 'owner', 'friend_ids'], ['name', 'age', 'address.city']],
    [null, ['owner.name', 'tags', 'address', 'friend_ids'], ['name', 'id', 'age', 'owner.id']],
    [['address', 'name'], ['address.zip'], ['address.city', 'name']],
    [['address.zip', 'name'], ['address.zip'], ['name']],
    [['address.city'], ['address'], []],
  ]
  for (const [only, without, left] of rows) {
    const cut = { only: only === null ? null : fieldsOf(only), without: fieldsOf(without) }
    t.strictSame(fieldPaths(fieldsLeft([user], cut)), left, `${only} without ${without}`)
  }
  const [a, b] = [object({ a: text, x: text }), object({ b: text, x: text })]
  const either = shapeOf(object({ o: { anyOf: [a, b] } }))
  const cut = { only: null, without: fieldsOf(['o.x']) }
  t.strictSame(fieldPaths(fieldsLeft([either], cut)), ['o.a', 'o.b'], 'of all alternatives')
})

t.test('the shape at a path of members', async (t) => {
  t.equal(shapeWithin(user, []), user)
  t.match(shapeWithin(user, ['tags']), { kind: 'array' })
  t.match(shapeWithin(user, ['tags', 'key']), { kind: 'text' })
  t.match(shapeWithin(user, ['owner', 'id']), { kind: 'integer' })
  for (const path of [['nope'], ['name', 'nope'], ['constructor']]) t.equal(shapeWithin(user, path), null)
})

t.test('an array is a list, also a nullable one', async (t) => {
  const array = { type: 'array', items: text }
  const rows: readonly (readonly [schema: Json, is: boolean])[] = [
    [array, true],
    [{ ...array, nullable: true }, true],
    [{ anyOf: [array, { type: 'null' }] }, true],
    [{ anyOf: [array, text] }, false],
    [{ anyOf: [text, { type: 'null' }] }, false],
    [{}, false],
  ]
  for (const [schema, is] of rows) t.equal(isList(shapeOf(schema)), is, JSON.stringify(schema))
  t.equal(isList(null), false)
})
