import Fastify from 'fastify'
import jsonBigint from 'json-bigint'
import { hasLongDigits } from '../../src/json/exact-json.js'
import { withLongNumbers } from '../../src/plugins/integer-twins/hooks.js'
import { type Input, putIntegers } from '../../src/plugins/integer-twins/input.js'
import { shapeOf } from '../../src/schema/shape-reader.js'
import { microScenario } from '../scenario.js'

const firstLargeId = 2n ** 53n + 1n
const long = bodyOf((index) => firstLargeId + BigInt(index * 7919))
const short = bodyOf((index) => 1_000_000n + BigInt(index * 7919))

const shape = shapeOf(
  {
    type: 'object',
    properties: {
      users: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            id: { type: 'integer', format: 'int64' },
            name: { type: 'string' },
            age: { type: 'integer' },
            active: { type: 'boolean' },
          },
        },
      },
    },
  },
  {},
)
const withBigInt = jsonBigint({ useNativeBigInt: true })
const parser = Fastify().getDefaultJsonParser('error', 'error')

/** The price of exact integers in a body. */
export default microScenario({
  title: 'parsing a body of 100 objects with an id, a name and two small members',
  baseline: 'native',
  callsPerRound: 400,
  sameResult: false,
  bounds: {
    exact: { max: 0.5, to: 'jsonBigint' },
    exactShort: { max: 1.05, to: 'fastifyShort' },
  },
  variants: {
    native: { about: 'JSON.parse; the ids are beyond 2^53 and lose digits', run: () => JSON.parse(long) },
    jsonBigint: { about: 'json-bigint, to BigInts', run: () => withBigInt.parse(long) },
    exact: { about: 'the exact parser, the ids declared int64: to BigInts', run: () => exact(long) },
    fastifyShort: {
      about: "Fastify's own parser; no number has 16 digits",
      run: () => parseAsFastify(short),
    },
    exactShort: {
      about: 'the exact parser, nothing declared',
      run: () => read(short),
    },
    exactShortDeclared: {
      about: 'the exact parser, the ids declared int64: to BigInts as well',
      run: () => exact(short),
    },
  },
})

function bodyOf(idOf: (index: number) => bigint): string {
  const users = Array.from(
    { length: 100 },
    (_, index) =>
      `{"id":${idOf(index)},"name":"Customer number ${index}","age":${20 + (index % 50)},"active":${index % 2 === 0}}`,
  )
  return `{"users":[${users.join(',')}]}`
}

function exact(text: string): unknown {
  const { value, written } = read(text)
  const holder = { body: value }
  const input: Input = { part: 'body', shape, written, isOfTexts: false, standIns: new Map() }
  for (const change of putIntegers(input, holder, 'body').changes) change()
  return holder.body
}

function read(text: string): { value: unknown; written: unknown } {
  return { value: parseAsFastify(text), written: hasLongDigits(text) ? withLongNumbers(text) : undefined }
}

function parseAsFastify(text: string): unknown {
  let result: unknown
  parser(undefined as never, text, (error, body) => {
    if (error) throw error
    result = body
  })
  return result
}
