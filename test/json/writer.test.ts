/** A response schema decides the bytes as it does with Fastify's own serializer. */
import t from 'tap'
import type { Json, SchemaStore } from '../../src/schema/json-schema.js'
import { fastifyWriter, ourWriter } from '../schema/compiled.js'

const text = { type: 'string' }
const user = { type: 'object', required: ['name'], properties: { age: { type: 'integer' }, name: text } }

class User {
  readonly age = 7
  get name(): string {
    return 'from a getter'
  }
}

const object = (properties: Json, more: object = {}) => ({ type: 'object', properties, ...more })
const array = (items: Json): Json => ({ type: 'array', items })
const integer = { type: 'integer' }
const otherwise = { ...text, default: 'x' }
const made = { toJSON: () => ({ name: 'made' }) }
const patterns = {
  patternProperties: { '^a': text, '^ab': integer },
  additionalProperties: { type: 'boolean' },
}
const types = { type: ['object', 'array', 'string'], properties: { a: text }, items: text }
const dateOrNull = { anyOf: [{ type: 'null' }, { ...text, format: 'date-time' }] }
const anything = { type: 'object', additionalProperties: true }
const byReference = object({ a: { $ref: '#/definitions/a' } }, { definitions: { a: otherwise } })

const written: readonly (readonly [about: string, schema: Json, value: unknown])[] = [
  ['required members first', user, { age: 1, name: 'Ada' }],
  ['members that the schema does not have', user, { name: 'Ada', password: 'secret' }],
  ['undefined members', user, { name: 'Ada', age: undefined }],
  ['a class with a getter', user, new User()],
  ['no prototype', user, Object.assign(Object.create(null), { name: 'Ada' })],
  ['toJSON of a member', object({ user }), { user: made }],
  ['null for an object', user, null],
  ['null for a nullable object', { ...user, nullable: true }, null],
  ['null for an array', array(text), null],
  ['null for a string', text, null],
  ['null for an integer', integer, null],
  ['nullable scalars', object({ a: { ...text, nullable: true } }), { a: null }],
  ['what is true', array({ type: 'boolean' }), [true, 1, 'a', {}, false, 0, '', null]],
  ['defaults', object({ a: otherwise, b: { type: 'object', default: {} } }), {}],
  ['a default that is not needed', object({ a: otherwise }), { a: 'y' }],
  ['a default of null', object({ a: { ...text, default: null } }), {}],
  ['a default behind a reference', byReference, {}],
  ['any members', anything, { a: 1, b: { c: [null] }, d: undefined }],
  ['members of a kind', { type: 'object', additionalProperties: integer }, { a: 1.5, b: '2' }],
  ['no others', object({ a: text }, { additionalProperties: false }), { a: 'a', b: 1 }],
  ['patterns before the rest', { type: 'object', ...patterns }, { a: 1, ab: 2, b: 3 }],
  ['declared before patterns', object({ b: text }, { patternProperties: { '.': integer } }), { a: 1, b: 2 }],
  ['functions and symbols', anything, { f: () => 1, s: Symbol('s'), a: 1 }],
  ['an array of anything', { type: 'array' }, [1, 'a', null, { b: [] }]],
  ['a hole in an array', array(text), Object.assign(['a'], { 2: 'c' }).fill('b', 1, 2)],
  ['a tuple', array([text, integer]), ['a', 1]],
  ['a short tuple', array([text, integer]), ['a']],
  ['a tuple with more', { type: 'array', items: [text], additionalItems: true }, ['a', { b: 1 }, null]],
  ['constants', object({ a: { const: 'x"' } }), { a: 'whatever' }],
  ['alternatives in their order', { anyOf: [integer, { type: 'number' }, text] }, 1.5],
  ['a Date among alternatives', dateOrNull, new Date(0)],
  ['lists of types', types, ['a']],
  ['an unknown keyword', { type: 'string', 'x-mine': { type: 'object' } }, 'a'],
  ['no identifier', object({ 'a-b c"\n': text, '': text }), { 'a-b c"\n': 'x', '': 'y' }],
]

t.test('the bytes of fast-json-stringify, also with twins where none is needed', async (t) => {
  for (const [about, schema, value] of written) {
    const expected = fastifyWriter(schema)(value)
    for (const twins of [false, true]) t.equal(ourWriter(schema, { twins })(value), expected, about)
  }
})

t.test('a value that fast-json-stringify refuses is refused, without the value in the message', async (t) => {
  const noMatch = 'The value does not match any of its schemas'
  const of = (type: string, schema: string) =>
    `a value of type ${type} cannot be written by the schema ${schema}`
  const date = { type: 'string', format: 'date' }
  const refused: readonly (readonly [schema: Json, value: unknown, message: string])[] = [
    [user, { age: 1 }, '"name" is required!'],
    [object({ user }), { user: {} }, '"name" is required!'],
    [array(text), 'secret', 'The value does not match an array'],
    [array(text), { length: 1 }, 'The value does not match an array'],
    [array([text]), ['a', 'secret'], of('object', '{"type":"array","items":[{"type":"string"}]}')],
    [{ anyOf: [integer, { type: 'null' }] }, 'secret', noMatch],
    [{ type: ['integer', 'boolean'] }, 'secret', noMatch],
    // Alternatives ignore toJSON of objects.
    [{ anyOf: [{ type: 'null' }, user] }, made, noMatch],
    [integer, 'secret', of('string', '{"type":"integer"}')],
    [date, 5, of('number', '{"type":"string","format":"date"}')],
  ]
  for (const [schema, value, message] of refused) {
    t.throws(() => ourWriter(schema, { twins: true })(value), { message }, JSON.stringify(schema))
    t.throws(() => fastifyWriter(schema)(value), 'fast-json-stringify refuses it too')
  }
})

t.test('long arrays and deep values are written completely', async (t) => {
  const items = Array.from({ length: 20_001 }, (_, index) => ({ name: `${index}` }))
  const list = { type: 'array', items: user }
  t.equal(ourWriter(list, { twins: true })(items), fastifyWriter(list)(items))

  const node = { type: 'object', properties: { next: { $ref: '#' } } }
  let deep = {}
  for (let level = 0; level < 1000; level++) deep = { next: deep }
  t.equal(ourWriter(node, { twins: true })(deep), fastifyWriter(node)(deep))
})

const date = (format: string): Json => ({ type: 'string', format })
const moment = new Date('2020-01-02T03:04:05.678Z')
const inner = object({ x: { type: 'integer' } })
const definitions = { in: inner }
const base: SchemaStore = {
  base: { $id: 'base', ...object({ a: { $ref: '#/definitions/in' } }), definitions },
}
const baseValue = { a: { x: 1 }, b: 'b' }
const draft2020 = 'https://json-schema.org/draft/2020-12/schema'

const orNull = (schema: Json): Json => ({ anyOf: [schema, { type: 'null' }] })
const local = object({ x: orNull({ $ref: '#/definitions/o' }) })
const below = { $ref: 'base#', properties: { b: { $ref: '#/definitions/s' } } }
const ofUser = { ...local, definitions: { o: object({ u: { $ref: 'user#' } }, { required: ['u'] }) } }
const userById = { $id: 'user', ...object({ n: text }) }
const mine = { $schema: draft2020, ...local, definitions: { o: object({ a: text }) } }
const others = { $id: 'u', $schema: draft2020, type: 'object' }
const nullable = { $id: 'm', type: 'string', nullable: true }

const same: readonly (readonly [id: string, schema: Json, value: unknown, shared?: SchemaStore])[] = [
  // A Date among alternatives loses its format: choiceWriter has made a string of it (withoutToJson).
  ['date in anyOf', object({ d: orNull(date('date')) }), { d: moment }],
  ['time in anyOf', object({ d: orNull(date('time')) }), { d: moment }],
  ['date in a list of types', object({ d: { type: ['string', 'integer'], format: 'date' } }), { d: moment }],
  // allOf, anyOf with siblings, then, $ref with siblings: parts lose the document that their references are relative to.
  ['local references in allOf', { allOf: [{ $ref: 'base#' }, object({ b: text })] }, baseValue, base],
  ['anyOf beside properties', { ...object({ b: text }), anyOf: [{ $ref: 'base#' }] }, baseValue, base],
  ['$ref with siblings', { ...object({ o: below }), definitions: { s: text } }, { o: baseValue }, base],
  // The document is given to Ajv under an absolute $id, against which the names of shared schemas resolve to nothing.
  ['a local alternative of a shared schema', ofUser, { x: { u: { n: 'a' } } }, { user: userById }],
  // Ajv knows draft-07 only; fast-json-stringify does not look at $schema (zod's toJSONSchema writes 2020-12).
  ['$schema 2020-12 on a document with alternatives', mine, { x: { a: 'q' } }],
  ['$schema 2020-12 on another shared schema', object({ x: orNull(text) }), { x: 'q' }, { u: others }],
  // relaxed() repeats the $id inside of anyOf.
  ['another shared schema that is nullable', object({ x: orNull(text) }), { x: 'q' }, { m: nullable }],
  ['time of a year of five digits', date('time'), new Date('+010000-01-01T00:00:00Z')],
]

t.test('faults that tests found once: the bytes are those of fast-json-stringify', async (t) => {
  for (const [about, schema, value, shared = {}] of same)
    t.equal(ourWriter(schema, { twins: false, shared })(value), fastifyWriter(schema, shared)(value), about)
})
