/** How JSON Schemas are read: references, `allOf`, alternatives, and what declares a 64-bit integer. */
import t from 'tap'
import {
  int64RangeOf,
  type Json,
  mapSchema,
  maxSchemaDepth,
  type SchemaObject,
  writtenOut,
} from '../../src/schema/json-schema.js'
import { formsOf, partsOf, SchemaReader } from '../../src/schema/reader.js'

const city = { type: 'string' }
const int64 = { type: 'integer', format: 'int64' }
const address = { $id: '#address', type: 'object', properties: { city } }
const user = {
  $id: 'user',
  type: 'object',
  properties: { 'a/b~c d': { type: 'integer' }, list: { type: 'array', items: [{ type: 'null' }] } },
  definitions: { address },
}
const again = { $ref: '#/$defs/city' }
const nested = { type: 'object', definitions: { zip: { $id: 'zip', type: 'integer' } } }

function readWhole(reader: SchemaReader, document: Json) {
  return reader.read(reader.absolute(document))
}

t.test('a reference resolves to its document, to a shared one, or to an $id within one', async (t) => {
  const reader = new SchemaReader({ user, nested })
  const rows: readonly (readonly [ref: string, keywords: Json])[] = [
    ['#/$defs/city', city],
    ['#address', address],
    ['user', user],
    ['user#/definitions/address/properties/city', city],
    ['user#/properties/a~1b~0c%20d', { type: 'integer' }],
    ['user#/properties/list/items/0', { type: 'null' }],
    ['user#address', address],
    ['zip', { $id: 'zip', type: 'integer' }],
    ['#/definitions/again', city],
  ]
  for (const [$ref, keywords] of rows) {
    const root = { properties: { a: { $ref } }, definitions: { address, again }, $defs: { city } }
    const { a } = readWhole(reader, root).keywords.properties as { readonly a: Json }
    t.match(reader.read(a).keywords, keywords, $ref)
  }
})

t.test('a document may refer to itself, by # or by its id', async (t) => {
  for (const $ref of ['#', 'tree', 'tree#']) {
    const tree = { $id: 'tree', type: 'object', properties: { left: { $ref } } }
    const reader = new SchemaReader()
    const node = readWhole(reader, tree)
    t.equal(reader.read((node.keywords.properties as SchemaObject).left as Json), reader.read(node.keywords))
  }
})

t.test('a reference is relative to the part with an $id, also if the schema contains itself', async (t) => {
  const home = {
    $id: 'home',
    properties: { zip: { $ref: '#/definitions/zip' } },
    definitions: { zip: city },
  }
  const definitions = { home, zip: { type: 'null' } }
  const reader = new SchemaReader()
  const { keywords } = readWhole(reader, { $ref: '#/definitions/home', definitions })
  const { zip } = keywords.properties as { readonly zip: Json }
  t.strictSame(reader.read(zip).keywords, city)
  const properties: Record<string, Json> = { city: { $ref: '#/definitions/city' } }
  const schema: SchemaObject = { properties, definitions: { city } }
  properties.self = schema
  const read = readWhole(reader, schema).keywords.properties as { readonly city: Json }
  t.equal(reader.read(read.city).keywords, city)
})

t.test('an unresolved or circular reference is an error with its name', async (t) => {
  for (const $ref of ['nobody#', '#/definitions/none', 'user#none', '#/constructor']) {
    const root = { $ref, definitions: {} }
    const refused = { name: 'TypeError', message: `the schema refers to nothing: ${$ref}` }
    t.throws(() => readWhole(new SchemaReader({ user }), root), refused, $ref)
  }
  const circle = { $ref: '#/definitions/a', definitions: { a: { $ref: '#/definitions/a' } } }
  t.throws(() => readWhole(new SchemaReader(), circle), TypeError)
})

t.test('allOf has the keywords of all its schemas', async (t) => {
  const object = (required: string[]) => ({
    required,
    properties: Object.fromEntries(required.map((name) => [name, city])),
  })
  const ofA = (a: Json): Json => ({ properties: { a } })
  const rows: readonly (readonly [schemas: Json[], merged: Json])[] = [
    [[true, { type: 'object' }], { type: 'object' }],
    [[object(['a']), object(['a', 'b'])], object(['a', 'b'])],
    [[ofA(city), ofA({ format: 'date' })], ofA({ type: 'string', format: 'date' })],
    [
      [{ properties: { a: city }, additionalProperties: false }, { properties: { b: city } }],
      { properties: { a: city, b: city }, additionalProperties: false },
    ],
    [[{ additionalProperties: true }, { additionalProperties: false }], { additionalProperties: false }],
    [[{ allOf: [{ type: 'object' }] }, { nullable: true }], { type: 'object', nullable: true }],
    [[{ type: ['integer', 'null'] }, { type: 'integer', format: 'int64' }], int64],
    [[{ additionalProperties: city }, { required: ['a'] }], { additionalProperties: city, required: ['a'] }],
    [
      [ofA({ $ref: 'x', allOf: [city] }), ofA({ $ref: 'y' })],
      ofA({ allOf: [{ $ref: 'x' }, { $ref: 'y' }, city] }),
    ],
    [[ofA({ $ref: 'x' }), ofA(city)], ofA({ $ref: 'x', ...city })],
  ]
  for (const [allOf, merged] of rows) {
    const before = structuredClone(allOf)
    t.strictSame(new SchemaReader().read({ allOf }).keywords, merged, JSON.stringify(allOf))
    t.strictSame(allOf, before, 'the schemas stay as they are')
  }
})

t.test('schemas that contradict each other can be read one by one, but not merged', async (t) => {
  const schema = { allOf: [{ type: 'string' }, { type: 'object' }] }
  const reader = new SchemaReader()
  t.throws(() => reader.read(schema).keywords, TypeError)
  const types = partsOf(reader, [schema]).flatMap(({ type }) => type ?? [])
  t.strictSame(types, ['string', 'object'])
})

t.test('with onUnresolved, unresolved references are reported and do not throw', async (t) => {
  const missing: string[] = []
  const reader = new SchemaReader({}, (reference) => missing.push(reference))
  const schema = { allOf: [{ $ref: 'user#' }, { properties: { a: city } }] }
  t.strictSame(readWhole(reader, schema).keywords, { properties: { a: city } })
  t.strictSame(missing, ['user#'])
})

t.test('parts: all schemas that may apply, each once, also in one that is its own alternative', async (t) => {
  const reader = new SchemaReader()
  const schema = { title: 'a', anyOf: [{ $ref: '#' }, { anyOf: [{ type: 'null' }, { $ref: '#' }] }] }
  const parts = partsOf(reader, [reader.absolute(schema)])
  t.equal(parts.length, 3)
  t.ok(parts.some(({ type }) => type === 'null'))
  t.equal(formsOf(reader, { anyOf: [{ type: 'string' }, { type: 'null' }], oneOf: [{}, {}] }).length, 4)
})

t.test('int64: the type integer with its format; neither another type, nor a constant', async (t) => {
  const are: readonly Json[] = [
    int64,
    { type: 'integer', format: 'uint64' },
    { type: ['null', 'integer'], format: 'int64' },
    { allOf: [{ type: 'integer' }, { format: 'int64' }] },
    { $ref: '#/definitions/id', definitions: { id: int64 } },
  ]
  const others: readonly Json[] = [
    { type: 'integer' },
    { type: 'integer', format: 'int32' },
    { type: 'number', format: 'int64' },
    { type: 'string', format: 'int64' },
    { format: 'int64' },
    { ...int64, const: 5 },
    true,
  ]
  for (const schema of [...are, ...others]) {
    const { keywords } = readWhole(new SchemaReader(), schema)
    t.equal(int64RangeOf(keywords) !== null, are.includes(schema), JSON.stringify(schema))
  }
})

t.test('mapSchema visits every subschema, and nothing else', async (t) => {
  const one = ['additionalProperties', 'items', 'not', 'if', 'then', 'else', 'additionalItems', 'contains']
  const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
  const named = 'properties patternProperties definitions $defs dependencies dependentSchemas'.split(' ')
  const schema: SchemaObject = Object.fromEntries([
    ...one.map((keyword) => [keyword, { items: { title: keyword } }]),
    ...lists.map((keyword) => [keyword, [true, { title: keyword }]]),
    ...named.map((keyword) => [keyword, { a: { title: keyword }, b: ['a'] }]),
    ...['const', 'default'].map((keyword) => [keyword, { title: 'no schema' }]),
    ...['enum', 'examples', 'required'].map((keyword) => [keyword, [{ title: 'no schema' }]]),
  ])
  const found: Json[] = []
  const same = mapSchema(schema, (part) => {
    if (part.title !== undefined) found.push(part.title)
    return part
  })
  t.equal(same, schema, 'the schema itself where nothing changes')
  t.strictSame(found.sort(), [...one, ...lists, ...named].sort())
  const before = structuredClone(schema)
  const changed = mapSchema(schema, (part) => (part.title === 'dependencies' ? { title: 'changed' } : part))
  t.strictSame(changed, { ...before, dependencies: { a: { title: 'changed' }, b: ['a'] } })
  t.strictSame(schema, before, 'the schema stays as it is')
  const tuple = mapSchema({ items: [{ title: 'a' }] }, (part) => (part.title === 'a' ? { title: 'b' } : part))
  t.strictSame(tuple, { items: [{ title: 'b' }] }, 'items of a tuple')
})

t.test('schemas deeper than the maximum are refused, and mapSchema does not change them', async (t) => {
  let deep: Json = { type: 'string' }
  let allOf: Json = { type: 'string' }
  for (let depth = 0; depth < 100_000; depth++) deep = { items: deep }
  for (let depth = 0; depth <= maxSchemaDepth; depth++) allOf = { allOf: [allOf] }
  let count = 0
  mapSchema(deep, (one) => {
    count++
    return one
  })
  t.equal(count, maxSchemaDepth + 1)
  const message = `the schema goes deeper than ${maxSchemaDepth} levels`
  t.throws(() => new SchemaReader().read(allOf), { message })
  t.same(readWhole(new SchemaReader(), deep).keywords, deep)
  t.doesNotThrow(() => writtenOut(deep, new SchemaReader()))
})
