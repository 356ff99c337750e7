/** Every declared 64-bit integer comes in exactly, and nothing else changes. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { quoteLongNumbers } from '../../../../src/json/exact-json.js'
import { putIntegers, takeTwins } from '../../../../src/plugins/integer-twins/input.js'
import { compileConditions, loadAjv } from '../../../../src/schema/alternatives.js'
import type { Json } from '../../../../src/schema/json-schema.js'
import { shapeOf } from '../../../../src/schema/shape-reader.js'
import { ourWriter } from '../../../schema/compiled.js'
import { parseExact, valueIn } from '../../../schema/exact-tree.js'
import { hostileSchema } from '../../../schema/hostile.js'
import { jsonText } from '../../../schema/json-texts.js'
import { anySample } from '../../../schema/random-schemas.js'
import { int64, objectOf, receivedStrictly } from './support.js'

/** A value with its integers as they are written: what is a BigInt in it is told in `schemas.test.ts`. */
const written = (value: unknown) =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' || Number.isInteger(one) ? `${one}` : one))

t.test('a random body arrives with all digits of its integers', async () => {
  const sample = anySample({ choices: true, wide: 'declared', open: false }).filter(
    // A serializer writes a time without the offset that a validator demands.
    (one) => !JSON.stringify([one.schema, one.shared]).includes('"format":"time"'),
  )
  await fc.assert(
    fc.asyncProperty(sample, async ({ schema, shared, payloads }) => {
      const write = ourWriter(schema, { twins: false, shared })
      for (const { given } of payloads) {
        const json = write(given)
        const got = await receivedStrictly(schema as never, json, shared as never)
        if (!('value' in got) || written(got.value) !== written(valueIn(parseExact(json)))) return false
      }
      return true
    }),
  )
})

const anyInt64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: 2n ** 53n - 50n, max: 2n ** 53n + 50n }),
  fc.bigInt({ min: -100n, max: 100n }),
)

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

t.test('no schema and no value makes the reader throw', async () => {
  await loadAjv()
  const schema = hostileSchema.map((one): Json => {
    return JSON.parse(JSON.stringify(one).replaceAll('"type":"integer"', '"type":"integer","format":"int64"'))
  })
  const part = fc.constantFrom('body' as const, 'query' as const)
  fc.assert(
    fc.property(schema, jsonText, jsonText, part, (schema, json, other, part) => {
      const shape = shapeOf(schema, {}, { compile: compileConditions })
      const written = JSON.parse(quoteLongNumbers(json)) as unknown
      const input = { part, shape, written, isOfTexts: false, standIns: new Map<string, number>() }
      for (const text of [json, other]) {
        const holder = { value: JSON.parse(text) as unknown }
        for (const change of takeTwins(input, holder, 'value').changes) change()
        for (const change of putIntegers(input, holder, 'value').changes) change()
      }
    }),
    { numRuns: 500 },
  )
})
