/**
 * What this package writes is what Fastify writes, byte for byte, or both refuse it: for random schemas and for values
 * that handlers should not give. The differences that there are stand in docs/integer-twins.md.
 */
import fc from 'fast-check'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type ConventionsOptions, conventions, integerTwins } from '../../src/index.js'
import type { Json } from '../../src/schema/json-schema.js'
import { fastifyWriter, ourWriter } from '../schema/compiled.js'
import { hostileSchema, valueFor } from '../schema/hostile-schemas.js'
import { spoiledBy } from '../schema/hostile-values.js'
import { keepLogs } from '../support/logs.js'

type Stringify = (value: unknown) => string

const refused = 'refused'
const valuesPerSchema = 25
const pairs = process.env.CI ? 50_000 : 4_000
const routes = process.env.CI ? 400 : 60

t.test(`${pairs} random pairs of a schema and a value: the same bytes, or both refuse it`, async (t) => {
  const seen = { written: 0, refused: 0, unreadable: 0 }
  const property = fc.property(
    hostileSchema,
    fc.array(fc.nat(), { minLength: 60, maxLength: 60 }),
    (schema, choices) => {
      // What every object inherits is written by Fastify alone: the first difference in the list.
      if (JSON.stringify(schema).includes('constructor')) return
      const theirs = built(() => fastifyWriter(schema))
      const ours = [true, false].map((twins) => built(() => ourWriter(schema, { twins })))
      if (theirs === null || ours.includes(null)) {
        seen.unreadable++
        return
      }
      for (let index = 0; index < valuesPerSchema; index++) {
        const given = (): unknown => hostileFor(schema, choices, index)
        const expected = outcome(theirs, given())
        seen[expected === refused ? 'refused' : 'written']++
        // Text that is not JSON is not copied.
        if (!isJson(expected)) continue
        for (const writer of ours) {
          const received = outcome(writer as Stringify, given())
          if (received !== expected)
            throw new Error(`value ${index}: expected ${expected}, received ${received}`)
        }
      }
    },
  )
  const details = fc.check(property, { numRuns: pairs / valuesPerSchema })
  t.notOk(
    details.failed,
    `${fc.defaultReportMessage(details)} ${String(details.errorInstance)} ${JSON.stringify(seen)}`,
  )
  // Schemas that cannot be compared are not tried.
  const tried = seen.written + seen.refused
  t.ok(tried > pairs / 10, `enough pairs: ${JSON.stringify(seen)}`)
  t.ok(Math.min(seen.written, seen.refused) > tried / 20, `of both kinds: ${JSON.stringify(seen)}`)
  t.ok(seen.unreadable < pairs / valuesPerSchema / 5, 'most schemas can be read')
})

/** Ajv says of each random schema what its strict mode finds. */
const quiet = { serializerOpts: { ajv: { logger: false as const } } }

/** Routes of the same schemas and values, on bare Fastify and under conventions. */
t.test('the preset sends the same responses as bare Fastify', async (t) => {
  const samples = fc
    .sample(fc.tuple(hostileSchema, fc.array(fc.nat(), { minLength: 60, maxLength: 60 })), routes)
    .filter(([schema]) => built(() => fastifyWriter(schema)) !== null)
  const apps: readonly (readonly [name: string, app: FastifyInstance])[] = [
    ['bare', Fastify(quiet)],
    ['preset', await withPreset({})],
    ['preset without twins', await withPreset({ integerTwins: false })],
  ]
  for (const [, app] of apps) {
    for (const [index, [schema, choices]] of samples.entries()) {
      app.get(
        `/v1/rows/${index}/:value`,
        { schema: { response: { 200: structuredClone(schema) } } },
        (request, reply) => {
          const value = hostileFor(schema, choices, Number((request.params as { value: string }).value))
          // Fastify sends nothing for undefined, and strings, buffers and promises as they are.
          return typeof value === 'object' && value !== null ? reply.send(value) : reply.send({ value })
        },
      )
    }
    await app.ready()
  }
  const differences: string[] = []
  const counts = { written: 0, refused: 0 }
  for (const [index, [schema]] of samples.entries()) {
    for (let value = 0; value < 6; value++) {
      const answers = await Promise.all(apps.map(([, app]) => app.inject(`/v1/rows/${index}/${value}`)))
      const shown = answers.map(({ statusCode, body }) => (statusCode === 200 ? body : `${statusCode}`))
      counts[answers[0]?.statusCode === 200 ? 'written' : 'refused']++
      for (const [at, [name]] of apps.entries()) {
        if (shown[at] !== shown[0])
          differences.push(`${name}: ${JSON.stringify(schema)}, value ${value}: ${shown[0]}, ${shown[at]}`)
      }
    }
  }
  t.strictSame(differences, [])
  t.ok(counts.written > routes && counts.refused > routes / 5, JSON.stringify(counts))
})

async function withPreset(options: ConventionsOptions): Promise<FastifyInstance> {
  const app = Fastify(quiet)
  // No limits and no rules: what is written is compared. Tags and dates read the payload too, and change nothing.
  await app.register(conventions, {
    rateLimit: false,
    responseRules: false,
    fields: false,
    lists: false,
    pathGuard: false,
    ...options,
  })
  return app
}

const text = { type: 'string' }
const integer = { type: 'integer' }
const int64 = { ...integer, format: 'int64' }
const nullable = (type: string): Json => ({ type: [type, 'null'] })
const member = (schema: Json): Json => ({ type: 'object', properties: { a: schema } })

const refusedByBoth: readonly (readonly [schema: Json, values: readonly unknown[]])[] = [
  [member(nullable('string')), [{ a: { secret: 1 } }, { a: 12.5 }]],
  [member(nullable('integer')), [{ a: 1.5 }, { a: new Date(0) }, { a: '12' }]],
  [member(nullable('boolean')), [{ a: 'no' }, { a: 0 }]],
  [member(nullable('object')), [{ a: [1] }, { a: 'text' }]],
  [member({ type: 'array', items: text }), [{ a: [undefined, 'a'] }]],
  [{ type: 'object', required: ['z'], properties: { a: text } }, [{ a: 'x' }]],
  [member({ anyOf: [{ ...text, format: 'email' }, integer] }), [{ a: 'no address' }, { a: 1.5 }]],
]

t.test('a payload that Fastify refuses is refused, also with a 64-bit integer', async (t) => {
  for (const [schema, values] of refusedByBoth) {
    const beside = { ...(schema as object), properties: { ...propertiesOf(schema), id: int64 } }
    for (const value of values as object[]) {
      const about = `${JSON.stringify(schema)} ${String(Object.values(value))}`
      t.throws(() => fastifyWriter(schema)(value), about)
      for (const twins of [true, false]) t.throws(() => ourWriter(schema, { twins })(value), about)
      t.throws(() => ourWriter(beside, { twins: true })({ ...value, id: 5n }), about)
      const app = await withPreset({})
      app.get('/v1/users', { schema: { response: { 200: schema } } }, () => value)
      app.get('/v1/orders', { schema: { response: { 200: beside } } }, () => ({ ...value, id: 5n }))
      for (const url of ['/v1/users', '/v1/orders']) {
        const { statusCode, body } = await app.inject(url)
        t.equal(statusCode, 500, about)
        t.notMatch(body, /secret|no address|12/, 'without the value')
      }
    }
  }
})

t.test('a decimal string stays a string if an alternative allows strings', async (t) => {
  const schema = member({ anyOf: [int64, text] })
  const write = ourWriter(schema, { twins: true })
  for (const a of ['00123', '12', '']) t.equal(write({ a }), fastifyWriter(schema)({ a }))
  t.equal(write({ a: 12n }), '{"a":12,"a_str":"12"}')
  t.equal(write({ a: 12 }), '{"a":12,"a_str":"12"}')
})

t.test('a declared integer out of its range is a 500 without the value, and is logged', async (t) => {
  const logs = keepLogs('error')
  const app = Fastify({ logger: logs.logger })
  await app.register(conventions)
  app.get('/v1/users', { schema: { response: { 200: member(int64) } } }, () => ({ a: 2n ** 63n }))
  const { statusCode, body } = await app.inject('/v1/users')
  t.equal(statusCode, 500)
  t.notMatch(body, /9223372036854775808/)
  t.match(JSON.stringify(logs.lines), /out of the range of its format/)
})

t.test('a BigInt.prototype.toJSON of the app changes no response', async (t) => {
  const app = await withPreset({})
  const value = { big: 2n ** 60n, small: 5n }
  app.get('/v1/users', () => value)
  app.get('/v1/orders', { schema: { response: { 200: member({}) } } }, () => ({ a: value }))
  const before = await Promise.all(['/v1/users', '/v1/orders'].map((url) => app.inject(url)))
  Object.defineProperty(BigInt.prototype, 'toJSON', { configurable: true, value: String })
  t.teardown(() => Reflect.deleteProperty(BigInt.prototype, 'toJSON'))
  const after = await Promise.all(['/v1/users', '/v1/orders'].map((url) => app.inject(url)))
  t.strictSame(
    after.map(({ body }) => body),
    before.map(({ body }) => body),
  )
  t.match(after[0]?.body, '"small":5')
})

t.test('doubles of 16 digits and ids in strings are serialized once: no getter is read twice', async (t) => {
  let reads = 0
  const app = Fastify()
  await app.register(integerTwins)
  app.get('/v1/users', { schema: { response: { 200: member({}) } } }, () => ({
    get a() {
      reads++
      return { point: [0.1234567890123456, -73.98765432101234], id: '1234567890123456789' }
    },
  }))
  t.match((await app.inject('/v1/users')).body, '"1234567890123456789"')
  t.equal(reads, 1)
})

function propertiesOf(schema: Json): object {
  return (schema as { readonly properties: object }).properties
}

function hostileFor(schema: Json, choices: readonly number[], index: number): unknown {
  let at = index
  const value = valueFor(schema, () => choices[at++ % choices.length] ?? 0)
  // The first as it is.
  return index === 0 ? value : spoiledBy(value, 4 + (index % 5) * 3, choices.slice(index))
}

function outcome(stringify: Stringify, value: unknown): string {
  try {
    return String(stringify(value))
  } catch {
    return refused
  }
}

function built(build: () => Stringify): Stringify | null {
  try {
    return build()
  } catch {
    return null
  }
}

function isJson(text: string): boolean {
  if (text === refused) return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
