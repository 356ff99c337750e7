/** Every declared 64-bit integer comes in exactly, and nothing else changes. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { quoteLongNumbers } from '../../../../src/json/exact-json.js'
import { putIntegers, takeTwins } from '../../../../src/plugins/integer-twins/input.js'
import { compileConditions, loadAjv } from '../../../../src/schema/alternatives.js'
import type { Json } from '../../../../src/schema/json-schema.js'
import type { Shape } from '../../../../src/schema/shape.js'
import { shapeOf } from '../../../../src/schema/shape-reader.js'
import { jsonText } from '../../../schema/json-texts.js'
import { int64, objectOf, receivedStrictly, type Schema, uint64 } from './support.js'

/** A schema, the JSON of a value of it, and what the handler is to get. */
interface Sample {
  readonly schema: Schema
  readonly json: string
  readonly value: unknown
}

const edges = [...[0n, 1n, -1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n], 2n ** 63n - 1n, -(2n ** 63n)]
const anyInt64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: 2n ** 53n - 50n, max: 2n ** 53n + 50n }),
  fc.bigInt({ min: -100n, max: 100n }),
  fc.constantFrom(...edges),
)
const anyUint64 = fc.oneof(
  anyInt64.filter((value) => value >= 0n),
  fc.bigInt({ min: 2n ** 63n, max: 2n ** 64n - 1n }),
)

const scalar: fc.Arbitrary<Sample> = fc.oneof(
  anyInt64.map((value) => ({ schema: int64, json: `${value}`, value })),
  anyUint64.map((value) => ({ schema: uint64, json: `${value}`, value })),
  anyInt64.map((value) => ({ schema: { type: 'integer' }, json: `${value}`, value: Number(value) })),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => ({
    schema: { type: 'number' },
    json: JSON.stringify(value),
    value: JSON.parse(JSON.stringify(value)) as number,
  })),
  fc.string().map((value) => ({ schema: { type: 'string' }, json: JSON.stringify(value), value })),
  anyInt64.map((value) => ({ schema: { type: 'string' }, json: `"${value}"`, value: `${value}` })),
  fc.constant({ schema: { ...int64, nullable: true }, json: 'null', value: null }),
)

const sample: fc.Arbitrary<Sample> = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    tie('sample').map((one) => ({ ...one, schema: { anyOf: [{ type: 'null' }, one.schema] } })),
    tie('sample').map((one) => ({ ...one, schema: { allOf: [one.schema, {}] } })),
    fc.tuple(scalar, fc.nat(3)).map(([{ schema, json, value }, length]) => ({
      schema: { type: 'array', items: schema },
      json: `[${Array(length).fill(json).join(' , ')}]`,
      value: Array(length).fill(value) as unknown[],
    })),
    fc.array(tie('sample'), { minLength: 1, maxLength: 3 }).map((items) => ({
      schema: { type: 'array', items: items.map(({ schema }) => schema) },
      json: `[${items.map(({ json }) => json).join()}]`,
      value: items.map(({ value }) => value),
    })),
    fc.dictionary(fc.constantFrom('id', 'name', 'a/b', 'constructor', ' '), tie('sample')).map((members) => ({
      schema: objectOf(mapped(members, ({ schema }) => schema)),
      json: `{${Object.entries(members).map(([name, { json }]) => `${JSON.stringify(name)}: ${json}`)}}`,
      value: mapped(members, ({ value }) => value),
    })),
    fc
      .tuple(scalar, fc.uniqueArray(fc.constantFrom('x', 'y', 'z')))
      .map(([{ schema, json, value }, names]) => ({
        schema: { type: 'object', additionalProperties: schema },
        json: `{${names.map((name) => `"${name}":${json}`)}}`,
        value: Object.fromEntries(names.map((name) => [name, value])),
      })),
  ),
})).sample

function mapped(samples: Record<string, Sample>, of: (one: Sample) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(samples).map(([name, one]) => [name, of(one)]))
}

t.test('declared integers are exact BigInts, other values do not change', async () => {
  const wide = fc.tuple(sample, anyInt64).map(([{ schema, json, value }, id]) => ({
    schema: objectOf({ id: int64, value: schema }),
    json: `{"id":${id},"value":${json}}`,
    value: { id, value },
  }))
  await fc.assert(
    fc.asyncProperty(wide, async ({ schema, json, value }) =>
      isDeepStrictEqual(await receivedStrictly(schema, json), { value }),
    ),
  )
})

t.test('integers with their twins, whether the client has rounded or not', async () => {
  const sent = anyInt64.chain((id) =>
    fc.constantFrom(`"id":${id},`, `"id":${Number(id)},`, '').map((own) => ({ id, own })),
  )
  const schema = objectOf({ id: int64, ids: { type: 'array', items: int64 } })
  await fc.assert(
    fc.asyncProperty(sent, fc.array(anyInt64), async ({ id, own }, ids) => {
      const json = `{${own}"id_str":"${id}","ids":[${ids.map(Number)}],"ids_str":${JSON.stringify(ids.map(String))}}`
      return isDeepStrictEqual(await receivedStrictly(schema, json), { value: { id, ids } })
    }),
  )
})

const keyword = fc.constantFrom('anyOf', 'oneOf', 'allOf', 'items')
const names = fc.constantFrom('id', 'id_str', 'a', 'a_str', '', '__proto__')
const anySchema: fc.Arbitrary<unknown> = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom<unknown>(
      int64,
      uint64,
      true,
      false,
      {},
      { $ref: '#' },
      { type: 'number' },
      { type: ['integer', 'string'], format: 'int64' },
    ),
    fc
      .tuple(keyword, fc.array(tie('schema'), { minLength: 1, maxLength: 3 }))
      .map(([name, parts]) => ({ [name]: parts })),
    tie('schema').map((items) => ({ type: 'array', items, uniqueItems: true })),
    tie('schema').map((additionalProperties) => ({ type: 'object', additionalProperties })),
    tie('schema').map((schema) => ({ patternProperties: { '^a': schema } })),
    fc.tuple(tie('schema'), tie('schema')).map(([test, other]) => ({ if: test, else: other })),
    fc.array(fc.tuple(names, tie('schema')), { maxLength: 3 }).map((members) => ({
      type: 'object',
      properties: Object.fromEntries(members),
      required: members.map(([name]) => name),
    })),
  ),
})).schema

t.test('no schema and no value makes the reader throw', async () => {
  await loadAjv()
  const part = fc.constantFrom('body' as const, 'query' as const)
  fc.assert(
    fc.property(anySchema, jsonText, jsonText, part, (schema, json, other, part) => {
      const shape = readable({ anyOf: [schema, false] } as Json)
      if (shape === null) return true
      const written = JSON.parse(quoteLongNumbers(json)) as unknown
      const input = { part, shape, written, isOfTexts: false, standIns: new Map<string, number>() }
      for (const text of [json, other]) {
        const holder = { value: JSON.parse(text) as unknown }
        for (const change of takeTwins(input, holder, 'value').changes) change()
        for (const change of putIntegers(input, holder, 'value').changes) change()
      }
      return true
    }),
    { numRuns: 500 },
  )
})

/** Schemas that contradict themselves have no shape. */
function readable(schema: Json): Shape | null {
  try {
    return shapeOf(schema, {}, { compile: compileConditions })
  } catch {
    return null
  }
}
