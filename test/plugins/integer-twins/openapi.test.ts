/** "The twin stands right after its number, and is in the schema, so OpenAPI shows it." */
import swagger from '@fastify/swagger'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import t from 'tap'
import { integerTwins } from '../../../src/index.js'
import {
  type TwinPurpose,
  withDigits,
  withTwins as withTwinsIn,
  withTwinsInResponse,
} from '../../../src/plugins/integer-twins/openapi.js'
import type { Json, SchemaStore } from '../../../src/schema/json-schema.js'
import type { Content } from '../../../src/schema/openapi.js'
import { SchemaReader } from '../../../src/schema/reader.js'
import { ourWriter } from '../../schema/compiled.js'
import { leavesOf, parseExact, valueIn } from '../../schema/exact-tree.js'
import { anySample } from '../../schema/random-schemas.js'
import { appOf } from '../../support/app.js'
import { documentOf } from '../../support/openapi.js'

const id = { type: 'integer', format: 'int64' }
const decimal = '^(?:0|-?[1-9][0-9]*)$'
const unsigned = '^(?:0|[1-9][0-9]*)$'
const twin = { type: 'string', pattern: decimal, description: 'The digits of id, exact in any client' }
const contextOf = (schema: Json, shared: SchemaStore, is30 = false) => ({
  reader: new SchemaReader({ '': schema, ...shared }, () => {}),
  is30,
})
type Completed = { readonly required?: readonly string[]; readonly properties: { readonly id_str: object } }
const withTwins = (
  schema: Json,
  purpose: TwinPurpose = 'component',
  shared: SchemaStore = {},
  is30 = false,
) => withTwinsIn(schema, contextOf(schema, shared, is30), purpose) as Json & Completed
const withTwinsInAnswer = (schema: Json, shared: SchemaStore = {}) =>
  withTwinsInResponse(schema, contextOf(schema, shared)) as Json & Completed
const completedStore = (shared: SchemaStore) =>
  Object.fromEntries(
    Object.entries(shared).map(([name, schema]) => [name, withTwins(schema as Json, 'component', shared)]),
  )
const object = (properties: Json, more: object = {}) => ({ type: 'object', properties, ...more })

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
    const given = object({ a: {}, [name]: schema, z: {} }, { definitions: { id } })
    const completed = withTwins(given, 'component', { id: { $id: 'id', ...id } })
    const properties = { a: {}, [name]: schema, [`${name}_str`]: expected, z: {} }
    t.strictSame(completed, { ...given, properties }, JSON.stringify(schema))
    t.strictSame(Object.keys(completed.properties), ['a', name, `${name}_str`, 'z'], 'in this order')
  }
})

t.test('responses are valid by the completed schema: null, text, arrays with gaps, maps', async (t) => {
  const array = (items: Json): Json => ({ type: 'array', items })
  const map = (additionalProperties: Json) => ({ type: 'object', additionalProperties })
  const orNull = { anyOf: [id, { type: 'null' }] }
  const orText = { anyOf: [id, { type: 'string' }] }
  const either = { anyOf: [array(id), id, { type: 'null' }] }
  // Of entries, for an object with a `then` looks like a promise.
  const conditional = Object.fromEntries<Json>([
    ['if', { minimum: 5 }],
    ['then', id],
    ['else', { type: 'string' }],
  ])
  const shared = {
    local: { $id: 'local', ...object({ inner: { $ref: '#/definitions/id' } }, { definitions: { id } }) },
    map: { $id: 'map', ...map(id) },
  }
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
    const write = ourWriter(schema, { twins: true, shared: structuredClone(shared) })
    const schemas = completedStore(shared)
    const ajv = new Ajv({
      strict: false,
      validateFormats: false,
      schemas: Object.values(schemas) as object[],
    })
    const validate = ajv.compile(withTwinsInAnswer(schema, schemas) as object)
    for (const value of values)
      t.ok(validate(JSON.parse(write(value))), `${write(value)} ${ajv.errorsText(validate.errors)}`)
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
    const schema = object({ a: property, b: id }, { required: ['x', 'a'] })
    const { required } = withTwinsInAnswer(schema)
    t.strictSame(required, isRequired ? ['x', 'a', 'a_str'] : ['x', 'a'], JSON.stringify(property))
    t.strictSame(withTwins(schema).required, ['x', 'a'], 'not where it may')
    const either = { required: ['x'], allOf: [{ anyOf: [{ required: ['a'] }, { required: ['a_str'] }] }] }
    const expected = isRequired ? either : { required: ['x', 'a'], allOf: undefined }
    t.match(withTwins(schema, 'input'), expected, 'a body needs one of both')
  }
  const alone = withTwins(object({ id }, { required: ['id'] }), 'input')
  t.notOk('required' in alone, 'no empty list (OpenAPI 3.0)')
})

t.test('OpenAPI 3.0 has no lists of types', async (t) => {
  const twinsOf = (property: Json) => withTwins(object({ id: property }), 'output', {}, true).properties
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

t.test('random schemas: every twin that is written is in the completed schema', async () => {
  const sample = anySample({ choices: false, wide: 'declared', open: false })
  const property = fc.property(sample, ({ schema, shared, payloads }) => {
    const store = completedStore(shared)
    const completed = withTwins(schema, 'component', store)
    return payloads.every(({ given }) => {
      const answer = parseExact(ourWriter(schema, { twins: true, shared })(given))
      // A writer drops what its schema does not have.
      const known = parseExact(ourWriter(completed, { twins: false, shared: store })(valueIn(answer)))
      return leavesOf(known).sort().join('\n') === leavesOf(answer).sort().join('\n')
    })
  })
  fc.assert(property, { numRuns: 100 })
})

t.test('what a response refers to demands the twins of its required members', async (t) => {
  const required = ['id', 'name']
  const user = { $id: 'user', ...object({ id, rank: id, name: { type: 'string' } }, { required }) }
  const owner = { $id: 'owner', ...object({ user: { $ref: 'user#' } }) }
  const page = { $id: 'page', ...object({ users: { type: 'array', items: { $ref: 'user#' } } }) }
  const demand = { required: ['id_str'], properties: { id_str: twin } }
  for (const [name, demanded] of [
    ['user', demand],
    ['page', { properties: { users: { items: demand } } }],
    ['owner', { properties: { user: demand } }],
  ] as const) {
    const answer = withTwinsInAnswer({ description: 'One', $ref: `${name}#` }, { user, owner, page })
    t.strictSame(answer, { description: 'One', allOf: [{ $ref: `${name}#` }, demanded] })
  }
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
  const twinOf = (property: object) => withTwins(object({ id: property as Json }), 'input').properties.id_str
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

const openapi = { openapi: '3.1.0', info: { title: 't', version: '1' } }
const refResolver = { buildLocalReference: ({ $id }: { readonly $id?: unknown }) => String($id) }

async function documented() {
  const app = await appOf([swagger, { openapi, refResolver }], integerTwins)
  return app
}

t.test('OpenAPI shows the twins after their numbers; integers of a path or a query are texts', async (t) => {
  const app = await documented()
  app.addSchema({ $id: 'user', ...object({ id, name: { type: 'string' }, friend: { $ref: 'user#' } }) })
  const users = { type: 'array', items: { $ref: 'user#' } }
  const list = object({ users, friend_ids: { type: 'array', items: id }, total: { type: 'integer' } })
  app.get('/v1/users', { schema: { response: { 200: list } } }, () => ({}))
  await app.register(async (child) => {
    child.addSchema({ $id: 'kid', ...object({ id }) })
    child.get('/v1/kids', { schema: { response: { 200: { $ref: 'kid#' } } } }, () => ({ id: 1 }))
  })
  const querystring = object({ before_id: id, name: { type: 'string' } })
  const schema = { headers: object({ 'x-id': id }), params: object({ id }), querystring }
  app.get('/v1/users/:id', { schema }, () => ({}))
  const { paths = {}, components } = await documentOf(app)
  const shown = jsonOf(paths['/v1/users']?.get?.responses?.['200'])?.properties
  t.strictSame(Object.keys(shown ?? {}), ['users', 'friend_ids', 'friend_ids_str', 'total'])
  const { parameters = [] } = paths['/v1/users/{id}']?.get ?? {}
  const digits = { type: 'string', pattern: '^(?:0|-?[1-9][0-9]*)$' }
  const texts = { before_id: digits, name: { type: 'string' }, id: digits, 'x-id': id }
  t.match(Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])), texts)
  const component = components?.schemas?.user as Completed
  t.strictSame(Object.keys(component.properties ?? {}), ['id', 'id_str', 'name', 'friend'])
  t.match(components?.schemas?.kid, { properties: { id_str: twin } }, 'of a child context')
  t.equal((await app.inject('/v1/kids')).payload, '{"id":1,"id_str":"1"}')
})

t.test('OpenAPI shows twins of later schemas; a body needs an integer or its twin', async (t) => {
  const app = await documented()
  const late = object({ id: { $ref: 'late#' }, name: {} }, { required: ['id', 'name'] })
  const answer = () => ({ id: 5, name: 'Ada' })
  app.post('/v1/late', { schema: { body: late, response: { 200: late } } }, answer)
  const kept = object({ id }, { required: ['id'] })
  app.addSchema({ $id: 'kept', ...kept })
  app.post('/v1/kept', { schema: { body: kept, response: { 200: { $ref: 'kept#' } } } }, () => ({ id: 5 }))
  app.addSchema({ $id: 'late', ...id })
  const { paths = {}, components } = await documentOf(app)
  const { requestBody, responses } = paths['/v1/late']?.post ?? {}
  const [input, output] = [jsonOf(requestBody), jsonOf(responses?.['200'])]
  t.strictSame(output?.required, ['id', 'id_str', 'name'], 'the twin of what is required is required')
  t.match(input?.properties?.id_str, { maxLength: 20 })
  t.strictSame(input?.required, ['name'])
  t.match(input, { allOf: [{ anyOf: [{ required: ['id'] }, { required: ['id_str'] }] }] })
  const bothWays = components?.schemas?.kept as Completed | undefined
  t.strictSame(bothWays?.required, ['id'], 'nothing is added to what bodies may share')
  for (const own of [{ id: 5 }, { id_str: '5' }]) {
    const payload = { ...own, name: 'Ada' }
    t.equal((await app.inject({ method: 'POST', url: '/v1/late', payload })).statusCode, 200)
  }
})

const jsonOf = (body?: { readonly content?: Content }) =>
  body?.content?.['application/json']?.schema as Completed | undefined
