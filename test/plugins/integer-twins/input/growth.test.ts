/** What makes integers of a body exact takes time in proportion to it. Other hostile bodies: test/growth.test.ts. */
import t from 'tap'
import { hasLongDigits, quoteLongNumbers } from '../../../../src/json/exact-json.js'
import { putIntegers, takeTwins } from '../../../../src/plugins/integer-twins/input.js'
import { shapeOf } from '../../../../src/schema/shape-reader.js'
import { superlinearSeeds } from '../../../support/growth.js'

const ids = { type: 'array', items: { type: 'integer', format: 'int64' } }
const shape = shapeOf({
  type: 'object',
  properties: { set: { ...ids, uniqueItems: true }, map: { type: 'object', additionalProperties: ids } },
})

const bodies: Readonly<Record<string, (length: number) => string>> = {
  'the same integer in a set': (length) => `{"set":[${'9007199254740993,'.repeat(length)}1]}`,
  'neighbours in a set': (length) =>
    `{"set":[${Array.from({ length }, (_, index) => 2n ** 60n + BigInt(index))}]}`,
  'names with twins': (length) =>
    `{"map":{${Array.from({ length }, (_, name) => `"${name}":[1],"${name}_str":["1"]`)}}}`,
  'faults below a long name': (length) => `{"map":{"${'k'.repeat(length)}":[${'1e30,'.repeat(60)}1]}}`,
}

for (const [about, body] of Object.entries(bodies)) {
  t.test(`a body is read in linear time: ${about}`, async (t) => {
    t.strictSame(await superlinearSeeds(['x'], (text) => read(body(text.length))), [])
  })
}

function read(text: string): unknown {
  const written: unknown = hasLongDigits(text) ? JSON.parse(quoteLongNumbers(text)) : undefined
  const standIns = new Map<string, number>()
  const input = { part: 'body', shape, written, isOfTexts: false, standIns } as const
  const holder = { value: JSON.parse(text) as unknown }
  for (const change of takeTwins(input, holder, 'value').changes) change()
  for (const change of putIntegers(input, holder, 'value').changes) change()
  return holder.value
}
