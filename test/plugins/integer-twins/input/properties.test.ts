/** Every declared 64-bit integer comes in exactly, nothing else changes, and it takes time in proportion to the body. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { hasLongDigits, quoteLongNumbers } from '../../../../src/json/exact-json.js'
import { type Input, putIntegers, takeTwins } from '../../../../src/plugins/integer-twins/input.js'
import { compileConditions, loadAjv } from '../../../../src/schema/alternatives.js'
import type { Json } from '../../../../src/schema/json-schema.js'
import { shapeOf } from '../../../../src/schema/shape-reader.js'
import { ourWriter } from '../../../schema/compiled.js'
import { parseExact, valueIn } from '../../../schema/exact-tree.js'
import { hostileSchema } from '../../../schema/hostile.js'
import { jsonText } from '../../../schema/json-texts.js'
import { anySample } from '../../../schema/random-schemas.js'
import { superlinearSeeds } from '../../../support/growth.js'
import { inRuns } from '../../../support/property.js'
import { int64, listOf, objectOf, receivedStrictly } from './support.js'

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

t.test('integers without and with their twins, whether the client has rounded or not', async () => {
  const sent = anyInt64.chain((id) => {
    const twin = `"id_str":"${id}"`
    const forms = [`"id":${id}`, `"id":${id},${twin}`, `"id":${Number(id)},${twin}`, twin]
    return fc.constantFrom(...forms).map((members) => ({ id, members }))
  })
  const properties = { id: int64, ids: listOf(), lists: listOf(listOf()) }
  const schema = objectOf(properties, { additionalProperties: false })
  await fc.assert(
    fc.asyncProperty(sent, fc.array(anyInt64), async ({ id, members }, ids) => {
      const twins = JSON.stringify(ids.map(String))
      const json = `{${members},"ids":[${ids.map(Number)}],"ids_str":${twins},"lists_str":[[],${twins}]}`
      return isDeepStrictEqual(await receivedStrictly(schema, json), { value: { id, ids, lists: [[], ids] } })
    }),
  )
})

/** Reads the JSON of a part as it is before validation and after. */
function read(part: Input['part'], shape: Input['shape'], json: string, given = json): unknown {
  const written: unknown = hasLongDigits(json) ? JSON.parse(quoteLongNumbers(json)) : undefined
  const input = { part, shape, written, isOfTexts: false, standIns: new Map<string, number>() }
  const holder = { value: JSON.parse(given) as unknown }
  for (const change of takeTwins(input, holder, 'value').changes) change()
  for (const change of putIntegers(input, holder, 'value').changes) change()
  return holder.value
}

t.test('no schema and no value makes the reader throw', async () => {
  await loadAjv()
  const schema = hostileSchema.map((one): Json => {
    return JSON.parse(JSON.stringify(one).replaceAll('"type":"integer"', '"type":"integer","format":"int64"'))
  })
  const part = fc.constantFrom('body' as const, 'query' as const)
  inRuns(500, schema, jsonText, jsonText, part, (schema, json, other, part) => {
    const shape = shapeOf(schema, {}, { compile: compileConditions })
    for (const given of [json, other]) read(part, shape, json, given)
  })
})

const bodies: Readonly<Record<string, (length: number) => string>> = {
  'the same integer in a set': (length) => `{"set":[${'9007199254740993,'.repeat(length)}1]}`,
  'neighbours in a set': (length) =>
    `{"set":[${Array.from({ length }, (_, index) => 2n ** 60n + BigInt(index))}]}`,
  'names with twins': (length) =>
    `{"map":{${Array.from({ length }, (_, name) => `"${name}":[1],"${name}_str":["1"]`)}}}`,
  'faults below a long name': (length) => `{"map":{"${'k'.repeat(length)}":[${'1e30,'.repeat(60)}1]}}`,
}

// Other hostile bodies: test/growth.test.ts.
t.test('a body is read in linear time', async (t) => {
  const map = { type: 'object', additionalProperties: listOf() }
  const shape = shapeOf(objectOf({ set: { ...listOf(), uniqueItems: true }, map }) as Json)
  for (const [about, body] of Object.entries(bodies)) {
    const slow = await superlinearSeeds(['x'], (text) => read('body', shape, body(text.length)))
    t.strictSame(slow, [], about)
  }
})
