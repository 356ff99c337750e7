/** "The twin stands right after its number, and is in the schema, so OpenAPI shows it." */
import { Ajv } from 'ajv'
import fc from 'fast-check'
import t from 'tap'
import {
  type TwinPurpose,
  withDigits,
  withTwins as withTwinsIn,
  withTwinsInResponse,
} from '../../../src/plugins/integer-twins/openapi.js'
import type { Json, SchemaStore } from '../../../src/schema/json-schema.js'
import { SchemaReader } from '../../../src/schema/reader.js'
import { ourWriter } from '../../schema/compiled.js'
import { leavesOf, parseExact, valueIn } from '../../schema/exact-tree.js'
import { anySample } from '../../schema/random-schemas.js'

const id = { type: 'integer', format: 'int64' }
const decimal = '^(?:0|-?[1-9][0-9]*)$'
const unsigned = '^(?:0|[1-9][0-9]*)$'
const twin = { type: 'string', pattern: decimal, description: 'The digits of id, exact in any client' }
const contextOf = (schema: Json, shared: SchemaStore, is30 = false) => ({
  reader: new SchemaReader({ '': schema, ...shared }, () => {}),
  is30,
})
const withTwins = (
  schema: Json,
  shared: SchemaStore = {},
  purpose: TwinPurpose = 'component',
  is30 = false,
) => withTwinsIn(schema, contextOf(schema, shared, is30), purpose)
const withTwinsInAnswer = (schema: Json, shared: SchemaStore = {}) =>
  withTwinsInResponse(schema, contextOf(schema, shared))
const completedStore = (shared: Readonly<Record<string, Json>>) =>
  Object.fromEntries(Object.entries(shared).map(([name, schema]) => [name, withTwins(schema, shared)]))
const object = (properties: Json): Json => ({ type: 'object', properties })

t.test('every declared 64-bit integer is followed by its twin', async (t) => {
  const ids = { type: 'array', items: id }
  const description = 'The digits of ids, exact in any client'
  const idsTwin = { type: 'array', items: { type: 'string' }, description }
  const orNull = { ...twin, type: ['string', 'null'] }
  const rows: readonly (readonly [name: string, schema: Json, twin: object])[] = [
    ['id', id, twin],
    ['id', { type: 'integer', format: 'uint64' }, twin],
    ['id', { ...id, nullable: true }, orNull],
    ['id', { $ref: '#/definitions/id' }, twin],
    ['id', { $ref: 'id#' }, twin],
    ['id', { allOf: [id] }, twin],
    ['id', { anyOf: [{ type: 'boolean' }, id] }, twin],
    ['id', { anyOf: [id, { type: 'null' }] }, orNull],
    ['ids', ids, idsTwin],
    ['ids', { ...ids, nullable: true }, { ...idsTwin, type: ['array', 'null'] }],
  ]
  for (const [name, schema, expected] of rows) {
    const given = { ...(object({ a: {}, [name]: schema, z: {} }) as object), definitions: { id } }
    const completed = withTwins(given, { id: { $id: 'id', ...id } }) as { readonly properties: object }
    const properties = { a: {}, [name]: schema, [`${name}_str`]: expected, z: {} }
    t.strictSame(completed, { ...given, properties }, JSON.stringify(schema))
    t.strictSame(Object.keys(completed.properties), ['a', name, `${name}_str`, 'z'], 'in this order')
  }
})

t.test('responses are valid by the completed schema: null, text, arrays with gaps, maps', async (t) => {
  const array = (items: Json): Json => ({ type: 'array', items })
  const orNull = { anyOf: [id, { type: 'null' }] }
  const orText = { anyOf: [id, { type: 'string' }] }
  const either = { anyOf: [array(id), id, { type: 'null' }] }
  const local = { definitions: { id }, type: 'object', properties: { inner: { $ref: '#/definitions/id' } } }
  // Of entries, for an object with a `then` looks like a promise.
  const conditional = Object.fromEntries<Json>([
    ['if', { minimum: 5 }],
    ['then', id],
    ['else', { type: 'string' }],
  ])
  const map = (additionalProperties: Json): Json => ({ type: 'object', additionalProperties })
  const rows: readonly (readonly [schema: Json, values: readonly object[]])[] = [
    [object({ id: orNull }), [{ id: null }, { id: 5n }]],
    [object({ id: { ...id, const: 5 } }), [{ id: 5 }]],
    [object({ id: orText }), [{ id: 'abc' }, { id: 5n }]],
    [object({ ids: array(orNull) }), [{ ids: [1n, null] }]],
    [object({ ids: array(orText) }), [{ ids: ['a', '5'] }]],
    [object({ ids: { type: ['array', 'null'], items: id } }), [{ ids: null }, { ids: [1n] }]],
    [object({ ids: either }), [{ ids: [1n] }, { ids: 1n }, { ids: null }]],
    [object({ id: conditional }), [{ id: 5n }]],
    [object({ user: { $ref: 'local#' } }), [{ user: { inner: 5n } }]],
    [map(orNull), [{ a: 1n, b: null }]],
    [map(array(orNull)), [{ a: [1n, null] }]],
    [object({ map: { $ref: 'map#' } }), [{ map: { a: 1n } }]],
  ]
  for (const [schema, values] of rows) {
    const shared = {
      id: { $id: 'id', ...id },
      local: { $id: 'local', ...local },
      map: { $id: 'map', ...(map(id) as object) },
    }
    const write = ourWriter(schema, { twins: true, shared: structuredClone(shared) })
    const schemas = completedStore(shared as never)
    const completed = withTwinsInAnswer(schema, schemas)
    const known = Object.values(schemas) as object[]
    const ajv = new Ajv({ strict: false, validateFormats: false, schemas: known })
    const validate = ajv.compile(completed as object)
    for (const value of values) {
      const isValid = validate(JSON.parse(write(value)))
      t.equal(isValid, true, `${JSON.stringify(schema)} ${write(value)} ${JSON.stringify(validate.errors)}`)
    }
  }
})

t.test('the twin of a required member is required in responses, if it always exists', async (t) => {
  const rows: readonly (readonly [property: Json, isRequired: boolean])[] = [
    [id, true],
    [{ anyOf: [id, { type: 'null' }] }, true],
    [{ type: 'array', items: id }, true],
    [{ anyOf: [id, { type: 'string' }] }, false],
    [{ type: ['integer', 'string'], format: 'int64' }, false],
    [{ type: 'integer' }, false],
    [{ ...id, const: 5 }, false],
  ]
  for (const [property, isRequired] of rows) {
    const schema = { ...(object({ a: property, b: id }) as object), required: ['x', 'a'] }
    const completed = withTwinsInAnswer(schema) as { required: string[] }
    t.strictSame(completed.required, isRequired ? ['x', 'a', 'a_str'] : ['x', 'a'], JSON.stringify(property))
    t.equal((withTwins(schema) as unknown as typeof completed).required, schema.required, 'not where it may')
    const either = { required: ['x'], allOf: [{ anyOf: [{ required: ['a'] }, { required: ['a_str'] }] }] }
    const { required } = schema
    const input = withTwins(schema, {}, 'input') as object
    t.match(input, isRequired ? either : { required }, 'a body needs one of both')
    t.equal('allOf' in input, isRequired)
  }
  const alone = { ...(object({ id }) as object), required: ['id'] }
  t.notOk('required' in (withTwins(alone, {}, 'input') as object), 'no empty list (OpenAPI 3.0)')
})

t.test('OpenAPI 3.0 has no lists of types', async (t) => {
  const twinsOf = (property: Json) =>
    (withTwins(object({ id: property }), {}, 'output', true) as { properties: object }).properties
  t.match(twinsOf({ ...id, nullable: true }), { id_str: { ...twin, nullable: true } })
  const orNull = { type: 'object', nullable: true, enum: [null] }
  const anyOf = ['string', 'array'].map((type) => ({ type, nullable: true }))
  const either = twinsOf({ anyOf: [id, { type: 'array', items: id }, orNull] })
  t.match(either, { id_str: { anyOf, type: undefined } })
})

t.test('twins are added at every depth of a schema', async (t) => {
  const one = object({ id })
  const done = object({ id, id_str: twin })
  const places: readonly ((part: Json) => Json)[] = [
    (part) => object({ part }),
    (part) => ({ type: 'array', items: part }),
    (part) => ({ anyOf: [part, { type: 'null' }] }),
    (part) => ({ type: 'object', additionalProperties: part }),
    (part) => object({ properties: object({ items: part }) }),
  ]
  for (const place of places) t.strictSame(withTwins(place(one)), place(done), JSON.stringify(place(one)))
  const map = { type: 'object', additionalProperties: id }
  const ofMember = { ...twin, description: 'The digits of another member, exact in any client' }
  t.strictSame(withTwins(map), { ...map, additionalProperties: { anyOf: [id, ofMember] } })
})

t.test('a schema without 64-bit integers is returned as the same object', async (t) => {
  const literal = { properties: { id } }
  const schemas: readonly Json[] = [
    {},
    true,
    object({ n: { type: 'integer' } }),
    object({ s: { type: 'string', format: 'int64' }, f: { type: 'number', format: 'int64' } }),
    object({ id, id_str: { type: 'string', description: 'declared by hand' } }),
    object({ a: { enum: [literal], const: literal, default: literal } }),
    object({ next: { $ref: '#' } }),
    object({ a: { $ref: 'nobody#' } }),
    { not: object({ id }) },
    // No shape is that deep.
    object({ a: Array.from({ length: 500 }).reduce<Json>((items) => ({ type: 'array', items }), id) }),
  ]
  for (const schema of schemas) t.equal(withTwins(schema), schema, JSON.stringify(schema))
})

t.test('random schemas: every twin that is written is in the completed schema', async (t) => {
  const sample = anySample({ choices: false, wide: 'declared', open: false })
  const details = fc.check(
    fc.property(sample, ({ schema, shared, payloads }) => {
      const store = completedStore(shared as Readonly<Record<string, Json>>)
      const completed = withTwins(schema, store)
      for (const { given } of payloads) {
        const answer = parseExact(ourWriter(schema, { twins: true, shared })(given))
        // A writer drops what its schema does not have.
        const known = parseExact(ourWriter(completed, { twins: false, shared: store })(valueIn(answer)))
        if (leavesOf(known).sort().join('\n') !== leavesOf(answer).sort().join('\n')) return false
      }
      return true
    }),
    { numRuns: 100 },
  )
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? 'random schemas')
})

t.test('what a response refers to demands the twins of its required members', async (t) => {
  const properties = { id, rank: id, name: { type: 'string' } }
  const user = { type: 'object', required: ['id', 'name'], properties }
  const owner = { type: 'object', properties: { user: { $ref: 'user#' } } }
  const shared = { user: { $id: 'user', ...user }, owner: { $id: 'owner', ...owner } }
  const demand = { required: ['id_str'], properties: { id_str: twin } }
  t.strictSame(withTwinsInAnswer({ description: 'One', $ref: 'user#' }, shared), {
    description: 'One',
    allOf: [{ $ref: 'user#' }, demand],
  })
  const users = { properties: { users: { type: 'array', items: { $ref: 'user#' } } } }
  const page = { $id: 'page', type: 'object', ...users }
  t.strictSame(withTwinsInAnswer({ $ref: 'page#' }, { ...shared, page }), {
    allOf: [{ $ref: 'page#' }, { properties: { users: { items: demand } } }],
  })
  t.strictSame(withTwinsInAnswer({ $ref: 'owner#' }, shared), {
    allOf: [{ $ref: 'owner#' }, { properties: { user: demand } }],
  })
})

t.test('a 64-bit integer of a path or a query is a text of digits', async (t) => {
  const digits = (schema: object) =>
    withDigits({ type: 'object', properties: { id: schema } } as never, new SchemaReader())
  const natural = { type: 'string', pattern: unsigned, maxLength: 19, description: 'Its id' }
  t.strictSame(digits({ ...id, minimum: 0, description: 'Its id' }), object({ id: natural }))
  const given = { ...id, type: ['integer', 'null'], default: 7, enum: [7, null], maximum: 9, multipleOf: 7 }
  const text = { type: ['string', 'null'], pattern: decimal, maxLength: 20 }
  t.strictSame(digits(given), object({ id: { ...text, default: '7', enum: ['7', null] } }))
  const plain = { type: 'object', properties: { age: { type: 'integer' } } }
  t.equal(withDigits(plain, new SchemaReader()), plain)
})

t.test('in a body, the twin has the form of its digits, and the annotations of the integer', async (t) => {
  const twinOf = (property: object) =>
    (withTwins(object({ id: property as Json }), {}, 'input') as { properties: { id_str: object } })
      .properties.id_str
  const annotated = twinOf({ ...id, minimum: 0, readOnly: true, deprecated: false })
  t.match(annotated, { pattern: unsigned, maxLength: 19, readOnly: true, deprecated: undefined })
  t.match(twinOf({ ...id, exclusiveMinimum: -1 }), { pattern: unsigned, maxLength: 19 })
  const composed = twinOf({ ...id, minimum: 0, allOf: [{ maximum: 9 }] })
  t.match(composed, { pattern: decimal, maxLength: undefined }, 'not that of one of several schemas')
  t.match(twinOf({ ...id, minimum: -2.5, maximum: 1e300 }), { pattern: decimal, maxLength: 20 })
  // OpenAPI 3.0: `exclusiveMinimum` is a boolean.
  t.match(twinOf({ ...id, minimum: -1, exclusiveMinimum: true }), { pattern: decimal, maxLength: 20 })
  t.match(twinOf({ ...id, format: 'uint64' }), { pattern: unsigned, maxLength: 20 })
})
