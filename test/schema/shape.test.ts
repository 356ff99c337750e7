/** What is read out of a response schema. */
import t from 'tap'
import type { Json, SchemaStore } from '../../src/schema/json-schema.js'
import { type ObjectShape, type Shape, someShape } from '../../src/schema/shape.js'
import { shapeOf } from '../../src/schema/shape-reader.js'
import { ourWriter } from './compiled.js'

t.test('kinds of schemas', async (t) => {
  const rows: readonly (readonly [schema: Json, shape: object])[] = [
    [{ type: 'string' }, { kind: 'text', format: null, nullable: false }],
    [
      { type: 'string', format: 'date' },
      { kind: 'text', format: 'date' },
    ],
    [
      { type: 'string', format: 'email' },
      { kind: 'text', format: null },
    ],
    [
      { type: 'string', nullable: true },
      { kind: 'text', nullable: true },
    ],
    [
      { type: ['string', 'null'], format: 'time' },
      { kind: 'text', format: 'time', nullable: true },
    ],
    [{ type: ['null'] }, { kind: 'null', nullable: true }],
    [{ type: 'integer' }, { kind: 'integer', int64: null }],
    [
      { type: 'integer', format: 'int64' },
      { kind: 'integer', int64: { min: -(2n ** 63n) } },
    ],
    [
      { type: 'integer', format: 'uint64' },
      { kind: 'integer', int64: { min: 0n } },
    ],
    [{ type: 'number', format: 'int64' }, { kind: 'number' }],
    [{ type: 'boolean' }, { kind: 'boolean' }],
    [{ const: { a: 1 } }, { kind: 'constant', json: '{"a":1}' }],
    [{ const: null }, { kind: 'constant', json: 'null' }],
    [
      { type: ['string', 'null'], const: 'a' },
      { kind: 'constant', json: '"a"', nullable: true },
    ],
    [{}, { kind: 'anything', nullable: true }],
    [true, { kind: 'anything' }],
    [{ enum: ['a'] }, { kind: 'anything' }],
    [{ minLength: 1 }, { kind: 'text' }],
    [{ minimum: 1 }, { kind: 'number' }],
    [{ properties: {} }, { kind: 'object' }],
    [{ items: { type: 'string' } }, { kind: 'array', items: { kind: 'text' } }],
    [{ type: 'array' }, { kind: 'array', items: { kind: 'anything' } }],
    [{ type: 'array', items: [{ type: 'string' }] }, { kind: 'tuple' }],
    [{ type: 'array', items: [], additionalItems: true }, { kind: 'tuple' }],
    [{ type: ['string', 'integer'] }, { kind: 'choice', nullable: false }],
    [{ type: ['string', 'integer', 'null'] }, { kind: 'choice', nullable: true }],
    [{ anyOf: [{ type: 'string' }] }, { kind: 'choice' }],
    [{ type: 'object', if: {}, else: {} }, { kind: 'choice' }],
    [{ type: 'string', if: {} }, { kind: 'text' }],
    [{ allOf: [{ type: 'string' }, { format: 'date' }] }, { kind: 'text', format: 'date' }],
  ]
  for (const [schema, shape] of rows) t.match(shapeOf(schema), shape, JSON.stringify(schema))
})

t.test('members: required ones first, each with its default', async (t) => {
  const shape = objectOf({
    type: 'object',
    required: ['b', 'missing'],
    properties: {
      a: { type: 'string', default: 'x' },
      b: { type: 'integer' },
      c: { $ref: '#/definitions/c' },
    },
    definitions: { c: { type: 'string', default: null } },
  })
  t.strictSame(
    shape.members.map(({ name, required, fallback }) => [name, required, fallback]),
    [
      ['b', true, null],
      ['a', false, '"x"'],
      ['c', false, 'null'],
    ],
  )
})

t.test('undeclared members are removed, unless the schema allows them', async (t) => {
  t.equal(objectOf({ type: 'object' }).rest, null)
  t.equal(objectOf({ type: 'object', additionalProperties: false }).rest, null)
  t.match(objectOf({ type: 'object', additionalProperties: true }).rest, { kind: 'anything' })
  t.match(objectOf({ type: 'object', additionalProperties: { type: 'string' } }).rest, { kind: 'text' })
  const [pattern] = objectOf({ type: 'object', patternProperties: { '^p_': { type: 'boolean' } } }).patterns
  t.match(pattern, { pattern: /^p_/, shape: { kind: 'boolean' } })
})

t.test('a recursive schema is a recursive shape', async (t) => {
  const shape = objectOf({
    type: 'object',
    properties: { next: { $ref: '#' }, all: { type: 'array', items: { $ref: '#' } } },
  })
  t.equal(shape.members[0]?.shape, shape)
  const all = shape.members[1]?.shape
  t.equal(all?.kind === 'array' && all.items, shape)
})

t.test('a reference is followed into shared schemas, and from there relative to them', async (t) => {
  const shared: SchemaStore = {
    user: {
      $id: 'user',
      type: 'object',
      properties: { home: { $ref: '#/definitions/address' }, friend: { $ref: 'user#' } },
      definitions: { address: { type: 'object', properties: { zip: { $ref: 'zip#' } } } },
    },
    zip: { $id: 'zip', type: 'integer', format: 'int64' },
  }
  const shape = objectOf({ $ref: 'user#', description: 'the owner' }, shared)
  t.match(shape.members, [
    { name: 'home', shape: { members: [{ name: 'zip', shape: { int64: { min: -(2n ** 63n) } } }] } },
    { name: 'friend' },
  ])
  t.equal(shape.members[1]?.shape, shape)
})

t.test('keywords beside $ref and beside alternatives apply too', async (t) => {
  const shared: SchemaStore = { user: { $id: 'user', type: 'object', properties: { a: { type: 'string' } } } }
  const more = objectOf({ $ref: 'user#', properties: { b: { type: 'integer' } } }, shared)
  t.strictSame(
    more.members.map(({ name }) => name),
    ['a', 'b'],
  )
  const beside = shapeOf({
    type: 'object',
    properties: { a: {} },
    anyOf: [{ properties: { b: {} } }, { required: ['a'] }],
  })
  t.match(beside, {
    kind: 'choice',
    options: [{ shape: { members: [{}, {}] } }, { shape: { members: [{ required: true }] } }],
  })
})

t.test('64-bit integers in a tuple are not written, because they would get no twins', async (t) => {
  const id = { type: 'integer', format: 'int64' }
  const schema = { type: 'array', items: [{ type: 'object', properties: { id } }] }
  t.throws(() => ourWriter(schema, { twins: true }), /a tuple holds 64-bit integers/)
  t.match(shapeOf(schema), { kind: 'tuple', items: [{ kind: 'object' }] })
})

t.test('a schema with an unresolved or circular reference is refused', async (t) => {
  const rows: readonly (readonly [schema: Json, message: string | RegExp])[] = [
    [{ $ref: 'nobody#' }, 'the schema refers to nothing: nobody#'],
    [{ type: 'object', properties: { a: { $ref: '#/definitions/a' } } }, /refers to nothing/],
    [
      { $ref: '#/definitions/a', definitions: { a: { $ref: '#/definitions/a' } } },
      /refers to itself|contradict|goes deeper/,
    ],
    [{ allOf: [{ type: 'string' }, { type: 'integer' }] }, /Failed to merge "type"/],
  ]
  for (const [schema, message] of rows) t.throws(() => shapeOf(schema), { message }, JSON.stringify(schema))
})

t.test('the schema stays as it is', async (t) => {
  const schema = { properties: { a: { allOf: [{ properties: { b: {} } }, { required: ['b'] }] } } }
  const before = JSON.stringify(schema)
  shapeOf(schema)
  t.equal(JSON.stringify(schema), before)
})

const sought = { type: 'boolean' }
const isSought = (shape: Shape): boolean => shape.kind === 'boolean'

t.test('someShape finds a shape at every depth', async (t) => {
  const places: readonly Json[] = [
    sought,
    { type: 'object', properties: { a: { type: 'string' }, b: sought } },
    { type: 'object', patternProperties: { '^x': sought } },
    { type: 'object', additionalProperties: sought },
    { type: 'array', items: sought },
    { anyOf: [{ type: 'string' }, sought] },
    { type: 'object', properties: { a: { type: 'array', items: { anyOf: [{ type: 'null' }, sought] } } } },
  ]
  for (const schema of places) {
    t.ok(someShape(shapeOf(schema), isSought), JSON.stringify(schema))
    const without = JSON.parse(JSON.stringify(schema).replaceAll('boolean', 'string')) as Json
    t.notOk(someShape(shapeOf(without), isSought), JSON.stringify(without))
  }
})

t.test('a shape that contains itself is visited once', async (t) => {
  const node = {
    $id: 'node',
    type: 'object',
    properties: { next: { $ref: 'node#' }, name: { type: 'string' } },
  }
  const seen: string[] = []
  const isNone = (shape: Shape): boolean => {
    seen.push(shape.kind)
    return false
  }
  t.notOk(someShape(shapeOf(node, { node }), isNone))
  t.strictSame(
    seen.filter((kind) => kind === 'text'),
    ['text'],
  )
})

function objectOf(schema: Json, shared: SchemaStore = {}): ObjectShape {
  const shape: Shape = shapeOf(schema, shared)
  if (shape.kind !== 'object') throw new TypeError(`no object: ${shape.kind}`)
  return shape
}
