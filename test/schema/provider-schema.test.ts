/** Schemas of other libraries as JSON Schema, for each direction. */
import t from 'tap'
import { z } from 'zod'
import { withQuery } from '../../src/schema/openapi.js'
import { isProviderSchema, jsonSchemaOf } from '../../src/schema/provider-schema.js'
import { shapeOf } from '../../src/schema/shape-reader.js'
import { Int64, toJsonSchema } from '../../src/schema/zod.js'

t.test('the JSON Schema of what is sent, in each direction', async (t) => {
  const int64 = { type: 'integer', format: 'int64' }
  const decode = (text: string) => text.length
  const codec = z.codec(z.string(), z.number(), { decode, encode: String })
  const part = z.strictObject({ a: z.boolean() }).meta({ id: 'part' })
  const ofPart = {
    type: 'object',
    properties: { a: { type: 'boolean' } },
    required: ['a'],
    additionalProperties: false,
  }
  const toItself: z.ZodType = z.strictObject({
    get next() {
      return z.optional(toItself)
    },
  })
  const standard = (jsonSchema?: object) => ({ '~standard': { jsonSchema } })
  const ofStandard = standard({
    input: () => ({ $schema: 'draft', type: 'string' }),
    output: () => ({ type: 'null' }),
  })
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

t.test('a query parameter is added to an operation unless it has one of this name', async (t) => {
  const parameters = [
    { in: 'header', name: 'fields' },
    { in: 'query', name: 'limit' },
  ]
  const type = 'string'
  const added = { fields: { type, description: 'Names' }, limit: { type } } as const
  t.strictSame(withQuery({ parameters } as never, added).parameters, [
    ...parameters,
    { in: 'query', name: 'fields', description: 'Names', schema: { type } },
  ])
  t.strictSame(withQuery({}, {}), {})
})

t.test('a shape of too many levels is refused', async (t) => {
  let schema: object = { type: 'string' }
  for (let depth = 0; depth < 200; depth++) schema = { type: 'array', items: schema }
  t.throws(() => shapeOf(schema as never), { message: /deeper than 200 levels/ })
})
