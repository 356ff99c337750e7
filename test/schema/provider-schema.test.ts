/** Schemas of other libraries as JSON Schema, for each direction. */
import t from 'tap'
import { z } from 'zod'
import { isProviderSchema, jsonSchemaOf } from '../../src/schema/provider-schema.js'
import { Int64, toJsonSchema } from '../../src/schema/zod.js'

t.test('the JSON Schema of what is sent, in each direction', async (t) => {
  const int64 = { type: 'integer', format: 'int64' }
  const decode = (text: string) => text.length
  const codec = z.codec(z.string(), z.number(), { decode, encode: String })
  const part = z.strictObject({ a: z.boolean() }).meta({ id: 'part' })
  const closed = { type: 'object', additionalProperties: false }
  const ofPart = { ...closed, properties: { a: { type: 'boolean' } }, required: ['a'] }
  const toItself: z.ZodType = z.strictObject({
    get next() {
      return z.optional(toItself)
    },
  })
  const standard = (jsonSchema?: object) => ({ '~standard': { jsonSchema } })
  const input = () => ({ $schema: 'draft', type: 'string' })
  const ofStandard = standard({ input, output: () => ({ type: 'null' }) })
  const given = (json: object) => standard({ input: () => json, output: () => json })
  const toPart = { allOf: [{ $ref: '#/definitions/part' }] }
  const recursive = { ...toPart, definitions: { part: { properties: { next: toPart } } } }
  const rows: readonly (readonly [schema: object, input: object | undefined, output?: object])[] = [
    [z.int64(), int64],
    [z.uint64(), { type: 'integer', format: 'uint64' }],
    [z.bigint(), { type: 'integer' }],
    [Int64(), int64],
    [z.number().meta({ format: 'int64' }), { type: 'number' }, { type: 'number', format: 'int64' }],
    [z.number().meta({ format: 'own' }), { type: 'number', format: 'own' }],
    [z.date(), {}, { type: 'string', format: 'date-time' }],
    [z.date().meta({ type: 'integer', format: 'own' }), { type: 'integer', format: 'own' }],
    [codec, { type: 'string' }],
    [z.string().transform(Number), { type: 'string' }, {}],
    [z.symbol(), {}],
    [z.object({ twice: z.array(part), part }).shape.twice, { type: 'array', items: ofPart }],
    [ofStandard, { type: 'string' }, { type: 'null' }],
    [Object.assign(() => true, ofStandard), { type: 'string' }, { type: 'null' }],
    [given({ ...toPart, definitions: { part: { $id: 'part', ...ofPart } } }), { allOf: [ofPart] }],
    [given(recursive), recursive],
    [standard({}), undefined],
    [standard(), undefined],
  ]
  for (const [schema, input, output = input] of rows) {
    t.ok(isProviderSchema(schema))
    const both = (['input', 'output'] as const).map((direction) => jsonSchemaOf(schema, direction))
    t.strictSame(both, [input, output], JSON.stringify(input))
  }
  t.match(jsonSchemaOf(toItself, 'input'), { type: 'object', properties: { next: {} } })
  for (const other of [null, 'text', {}, [], { type: 'string' }])
    t.strictSame([isProviderSchema(other), toJsonSchema(other, 'input')], [false, undefined])
  t.match(toJsonSchema(z.int64(), 'input'), int64)
})
