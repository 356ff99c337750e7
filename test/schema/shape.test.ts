/** What is read out of a response schema. */
import t from 'tap'
import type { Json, SchemaStore } from '../../src/schema/json-schema.js'
import { type ObjectShape, type Shape, someShape } from '../../src/schema/shape.js'
import { shapeOf } from '../../src/schema/shape-reader.js'

t.test('kinds of schemas', async (t) => {
  const rows: readonly (readonly [kind: string, schema: Json, shape?: object])[] = [
    ['text', { type: 'string' }, { format: null, nullable: false }],
    ['text', { type: 'string', format: 'email' }, { format: null }],
    ['text', { type: 'string', nullable: true }, { nullable: true }],
    ['text', { type: ['string', 'null'], format: 'time' }, { format: 'time', nullable: true }],
    ['null', { type: ['null'] }, { nullable: true }],
    ['integer', { type: 'integer' }, { int64: null }],
    ['integer', { type: 'integer', format: 'int64' }, { int64: { min: -(2n ** 63n) } }],
    ['integer', { type: 'integer', format: 'uint64' }, { int64: { min: 0n } }],
    ['number', { type: 'number', format: 'int64' }],
    ['boolean', { type: 'boolean' }],
    ['constant', { const: { a: 1 } }, { json: '{"a":1}' }],
    ['constant', { type: ['string', 'null'], const: 'a' }, { json: '"a"', nullable: true }],
    ['anything', {}, { nullable: true }],
    ['anything', { enum: ['a'] }],
    ['text', { minLength: 1 }],
    ['number', { minimum: 1 }],
    ['object', { properties: {} }],
    ['array', { items: { type: 'string' } }, { items: { kind: 'text' } }],
    ['array', { type: 'array' }, { items: { kind: 'anything' } }],
    ['tuple', { type: 'array', items: [], additionalItems: true }],
    ['choice', { type: ['string', 'integer'] }, { nullable: false }],
    ['choice', { type: ['string', 'integer', 'null'] }, { nullable: true }],
    ['choice', { anyOf: [{ type: 'string' }] }],
    ['choice', { type: 'object', if: {}, else: {} }],
    ['text', { type: 'string', if: {} }],
    ['text', { allOf: [{ type: 'string' }, { format: 'date' }] }, { format: 'date' }],
  ]
  for (const [kind, schema, shape] of rows)
    t.match(shapeOf(schema), { kind, ...shape }, JSON.stringify(schema))
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
  for (const more of [{}, { additionalProperties: false }])
    t.equal(objectOf({ type: 'object', ...more }).rest, null)
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

t.test('keywords beside $ref and beside alternatives apply too', async (t) => {
  const shared: SchemaStore = { user: { $id: 'user', type: 'object', properties: { a: { type: 'string' } } } }
  const more = objectOf({ $ref: 'user#', properties: { b: { type: 'integer' } } }, shared)
  t.equal(more.members.map(({ name }) => name).join(), 'a,b')
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
  const properties = { next: { $ref: 'node#' }, name: { type: 'string' } }
  const node = { $id: 'node', type: 'object', properties }
  const seen: string[] = []
  t.notOk(someShape(shapeOf(node, { node }), ({ kind }) => seen.push(kind) < 0))
  t.equal(seen.filter((kind) => kind === 'text').length, 1)
})

function objectOf(schema: Json, shared: SchemaStore = {}): ObjectShape {
  const shape: Shape = shapeOf(schema, shared)
  if (shape.kind !== 'object') throw new TypeError(`no object: ${shape.kind}`)
  return shape
}
