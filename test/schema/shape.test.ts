/** What is read out of a response schema. */
import t from 'tap'
import type { Json } from '../../src/schema/json-schema.js'
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
    ['object', { properties: {} }, { rest: null }],
    ['object', { required: ['a'] }],
    ['object', { type: 'object', additionalProperties: false }, { rest: null, isClosed: true }],
    ['object', { type: 'object', additionalProperties: true }, { rest: { kind: 'anything' } }],
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
