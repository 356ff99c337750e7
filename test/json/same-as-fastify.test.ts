/** Random schemas, and values that handlers should not give: the bytes are those of Fastify, apart from the twins. */
// The differences that there are stand in docs/integer-twins.md.
import fc from 'fast-check'
import t from 'tap'
import { integerTwins } from '../../src/index.js'
import type { Json } from '../../src/schema/json-schema.js'
import { fastifyWriter, ourWriter } from '../schema/compiled.js'
import { parseExact, twinFaults, withoutTwins, writeExact } from '../schema/exact-tree.js'
import { hostileSchema, spoiledBy, valueFor } from '../schema/hostile.js'
import { anySample } from '../schema/random-schemas.js'
import { appOf } from '../support/app.js'

type Stringify = (value: unknown) => string

const refused = 'refused'
const choices = fc.array(fc.nat(), { minLength: 60, maxLength: 60 })
const valuesPerSchema = 25
const pairs = process.env.CI ? 50_000 : 4_000

t.test(`${pairs} random pairs of a schema and a value: the same bytes, or both refuse it`, async (t) => {
  const seen = { written: 0, refused: 0, unreadable: 0 }
  const property = fc.property(hostileSchema, choices, (schema, choices) => {
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
      if (expected !== refused && outcome(JSON.parse, expected) === refused) continue
      for (const writer of ours) same(outcome(writer as Stringify, given()), expected)
    }
  })
  const details = fc.check(property, { numRuns: pairs / valuesPerSchema })
  t.notOk(details.failed, `${fc.defaultReportMessage(details)} ${JSON.stringify(seen)}`)
  // A run of mutation tests ends early.
  if (details.interrupted) return
  // Schemas that cannot be compared are not tried.
  const tried = seen.written + seen.refused
  t.ok(tried > pairs / 10, `enough pairs: ${JSON.stringify(seen)}`)
  t.ok(Math.min(seen.written, seen.refused) > tried / 20, `of both kinds: ${JSON.stringify(seen)}`)
  t.ok(seen.unreadable < pairs / valuesPerSchema / 5, 'most schemas can be read')
})

t.test('the bytes are those of Fastify plus the twins, each after its integer', async () => {
  const sample = anySample({ choices: true, wide: true, open: true })
  const property = fc.property(sample, ({ schema, shared, payloads }) => {
    const theirs = fastifyWriter(schema, shared)
    const ours = ourWriter(schema, { twins: true, shared })
    for (const { given, standIn, exact } of payloads) {
      // The writer does not change the payload.
      const tree = parseExact(ours(frozen(given)))
      same(writeExact(withoutTwins(tree)), exact(theirs(standIn)))
      same(twinFaults(tree).join('\n'), '')
    }
  })
  fc.assert(property, { numRuns: 100 })
})

const text = { type: 'string' }
const integer = { type: 'integer' }
const int64 = { ...integer, format: 'int64' }
const nullable = (type: string): Json => ({ type: [type, 'null'] })
const member = (schema: Json) => ({ type: 'object', properties: { a: schema } })

t.test('a payload that Fastify refuses is refused, also with a 64-bit integer', async (t) => {
  const rows: readonly (readonly [schema: ReturnType<typeof member>, values: readonly object[]])[] = [
    [member(nullable('string')), [{ a: { secret: 1 } }, { a: 12.5 }]],
    [member(nullable('integer')), [{ a: 1.5 }, { a: new Date(0) }, { a: '12' }]],
    [member(nullable('boolean')), [{ a: 'no' }, { a: 0 }]],
    [member(nullable('object')), [{ a: [1] }, { a: 'text' }]],
    [member({ type: 'array', items: text }), [{ a: [undefined, 'a'] }]],
    [{ ...member(text), required: ['z'] } as ReturnType<typeof member>, [{ a: 'x' }]],
    [member({ anyOf: [{ ...text, format: 'email' }, integer] }), [{ a: 'no address' }, { a: 1.5 }]],
  ]
  for (const [schema, values] of rows) {
    const beside = { ...schema, properties: { ...schema.properties, id: int64 } }
    for (const value of values) {
      const about = `${JSON.stringify(schema)} ${String(Object.values(value))}`
      t.throws(() => fastifyWriter(schema)(value), about)
      t.throws(() => ourWriter(beside, { twins: true })({ ...value, id: 5n }), about)
    }
  }
})

t.test('a BigInt.prototype.toJSON of the app changes no response', async (t) => {
  const app = await appOf(integerTwins)
  const value = { big: 2n ** 60n, small: 5n }
  app.get('/v1/users', () => value)
  app.get('/v1/orders', { schema: { response: { 200: member({}) } } }, () => ({ a: value }))
  const answers = () =>
    Promise.all(['/v1/users', '/v1/orders'].map(async (url) => (await app.inject(url)).body))
  const before = await answers()
  Object.defineProperty(BigInt.prototype, 'toJSON', { configurable: true, value: String })
  t.teardown(() => Reflect.deleteProperty(BigInt.prototype, 'toJSON'))
  t.strictSame(await answers(), before)
  t.match(before[0], '"small":5')
})

function hostileFor(schema: Json, choices: readonly number[], index: number): unknown {
  let at = index
  const value = valueFor(schema, () => choices[at++ % choices.length] ?? 0)
  // The first as it is.
  return index === 0 ? value : spoiledBy(value, 4 + (index % 5) * 3, choices.slice(index))
}

function outcome(stringify: (value: string) => unknown, value: unknown): string {
  return built(() => String(stringify(value as string))) ?? refused
}

function built<Result>(build: () => Result): Result | null {
  try {
    return build()
  } catch {
    return null
  }
}

function same(received: string, expected: string): void {
  if (received !== expected) throw new Error(`expected ${expected}\nreceived ${received}`)
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}
