import Fastify from 'fastify'
import jsonBigint from 'json-bigint'
import { hasLongDigits } from '../../src/json/json-text.js'
import { quoteLongNumbers } from '../../src/json/parse-exact.js'
import { putExactIntegers } from '../../src/plugins/integer-twins/int64-input.js'
import { int64PlacesOf } from '../../src/plugins/integer-twins/int64-places.js'
import { microScenario } from '../scenario.js'

const firstLargeId = 2n ** 53n + 1n
const long = bodyOf((index) => firstLargeId + BigInt(index * 7919))
const short = bodyOf((index) => 1_000_000n + BigInt(index * 7919))

const places = int64PlacesOf(
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
  if (places === null) throw new Error('there is nothing declared')
  const input = { ...read(text), isOfTexts: false, distinct: null }
  putExactIntegers({ ...places, part: 'body' }, input)
  return input.value
}

function read(text: string): { value: unknown; written: unknown } {
  const written: unknown = hasLongDigits(text) ? JSON.parse(quoteLongNumbers(text)) : undefined
  return { value: parseAsFastify(text), written }
}

function parseAsFastify(text: string): unknown {
  let result: unknown
  parser(undefined as never, text, (error, body) => {
    if (error) throw error
    result = body
  })
  return result
}
