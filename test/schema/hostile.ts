import fc from 'fast-check'
import type { Json } from '../../src/schema/json-schema.js'

type Schema = { readonly [keyword: string]: Json }

const types = ['string', 'integer', 'number', 'boolean']
const scalar: fc.Arbitrary<Schema> = fc.constantFrom<Schema>(
  ...types.flatMap((type) => [{ type }, { type, nullable: true }, { type: [type, 'null'] }]),
  ...['date-time', 'date', 'time', 'email'].map((format) => ({ type: 'string', format })),
  { type: ['string', 'null'], format: 'date-time' },
  { type: ['null', 'boolean'], nullable: true },
  { type: 'null' },
  { type: ['null'] },
  { type: ['string', 'integer', 'null'] },
  { type: ['integer', 'boolean'] },
  { type: ['object', 'array', 'number'], properties: { a: { type: 'string' } }, items: { type: 'integer' } },
  { const: 'a' },
  { type: ['string', 'null'], const: 'a' },
  { type: 'string', nullable: true, const: 'a' },
  { type: 'string', default: 'd"' },
  ...[{ enum: ['a', 'b'] }, { minimum: 1 }, { maxLength: 5 }, { type: 'string', maxLength: 3 }, {}],
)

const name = fc.constantFrom('a', 'b', 'id', 'name', 'x-y', 'toJSON', 'length', 'constructor')

/** Random schemas, also such that few values fit. The definition `self` is the schema itself. */
export const hostileSchema: fc.Arbitrary<Schema> = fc
  .letrec<{ any: Schema; object: Schema }>((tie) => {
    const any = tie('any')
    const object = fc
      .record({
        properties: fc.dictionary(name, any, { maxKeys: 4, noNullPrototype: true }),
        required: fc.uniqueArray(fc.oneof(name, fc.constant('z')), { maxLength: 1 }),
        more: fc.oneof(
          { weight: 5, arbitrary: fc.constant({}) },
          fc.constantFrom<Schema>(
            ...[{ nullable: true }, { additionalProperties: false }, { additionalProperties: true }],
            { patternProperties: { '^n': { type: 'integer' } }, additionalProperties: { type: 'boolean' } },
          ),
          fc.constant<Schema>({ type: ['object', 'null'] }),
        ),
      })
      .map(({ properties, required, more }) => ({ type: 'object', properties, required, ...more }))
    const array = fc
      .tuple(any, fc.constantFrom<Schema>({}, { nullable: true }, { type: ['array', 'null'] }))
      .map(([items, more]) => ({ type: 'array', items, ...more }))
    const tuple = fc
      .tuple(fc.array(any, { minLength: 1, maxLength: 3 }), fc.boolean())
      .map(([items, additionalItems]) => ({ type: 'array', items, additionalItems }))
    const choice = fc
      .tuple(fc.constantFrom('anyOf', 'oneOf'), fc.array(any, { minLength: 1, maxLength: 3 }))
      .map(([keyword, options]) => ({ [keyword]: options }))
    const condition = fc
      .tuple(any, object, object)
      .map((schemas) => Object.fromEntries(schemas.map((one, index) => [['if', 'then', 'else'][index], one])))
    return {
      object,
      any: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        { weight: 6, arbitrary: scalar },
        { weight: 3, arbitrary: tie('object') },
        { weight: 2, arbitrary: array },
        { weight: 1, arbitrary: tuple },
        { weight: 2, arbitrary: choice },
        { weight: 1, arbitrary: condition },
      ),
    }
  })
  // Fastify completes the schemas that it is given: none is used twice.
  .any.map((schema) => JSON.parse(JSON.stringify(schema)))

/** A value that is roughly made for a schema. */
export function valueFor(schema: Json, next: () => number): unknown {
  if (typeof schema !== 'object' || schema === null) return next()
  const { type, properties, items, anyOf, oneOf, then, const: constant, format } = schema as Schema
  if (constant !== undefined) return constant
  const options = (anyOf ?? oneOf) as Json[] | undefined
  if (options !== undefined) return valueFor(options[next() % options.length] ?? {}, next)
  if (then !== undefined) return valueFor(then, next)
  const types = [type ?? 'string'].flat() as string[]
  switch (types[next() % types.length]) {
    case 'string':
      if (format === 'date-time') return next() % 2 === 0 ? new Date(next() * 1e6) : '2026-11-20T08:00:00Z'
      return next() % 5 === 0 ? new Date(next()) : `text ${next() % 3}`
    case 'integer':
      return next() % 1_000
    case 'number':
      return (next() % 1_000) / 8
    case 'boolean':
      return next() % 2 === 0
    case 'null':
      return null
    case 'array':
      if (Array.isArray(items)) return (items as Json[]).map((item) => valueFor(item, next))
      return Array.from({ length: next() % 4 }, () => valueFor((items as Json | undefined) ?? {}, next))
    default:
      return Object.fromEntries(
        Object.entries((properties ?? {}) as Schema)
          .filter(() => next() % 6 !== 0)
          .map(([key, property]) => [key, valueFor(property, next)]),
      )
  }
}

class Point {
  readonly x = 1
  readonly y = 'two'
  get z(): number {
    return 3
  }
}

class Hex {
  toJSON(): string {
    return '65f1a2'
  }
  toString(): string {
    return 'hex'
  }
}

/** Values that no handler should give, made afresh each time: a writer that changes one must not be hidden by the next. */
function hostileValues(): unknown[] {
  return [
    ...[null, undefined, true, 0, -0, 1.5, 1e21, 2 ** 53, Number.NaN, Infinity, -Infinity],
    ...['', '12', '00123', 'no', 'lone \ud800 surrogate "', 'long '.repeat(1_200), '2026-11-20T08:00:00Z'],
    ...['ada@example.org', [], [1], ['a', undefined], Object.assign([], { 1: 'a', length: 3 }), [[null]]],
    ...[{}, { secret: 1 }, { a: 'a', b: 2, id: 3, name: null }, Object.create(null)],
    ...[Object.assign(Object.create(null), { a: 'a', id: 1 }), Object.create({ a: 'inherited' })],
    ...[new Point(), new Hex(), new Date(0), new Date(Number.NaN), /source"/, new Map([['a', 1]])],
    ...[new Set(['a']), Buffer.from('a'), new Uint8Array([1, 2]), new Number(5), new String('boxed')],
    ...[new Boolean(false), { toJSON: () => ({ a: 'made', id: 1 }) }, { toJSON: () => null }],
    ...[{ toJSON: () => 'text' }, { toString: () => 'own' }, { valueOf: () => 5 }],
    ...[withGetter(() => 'from a getter'), withGetter(() => JSON.parse('a getter that throws'))],
    ...[
      Symbol('symbol'),
      () => 'function',
      new Error('an error'),
      Promise.resolve(1),
      new Proxy({ a: 1 }, {}),
    ],
  ]
}

function withGetter(get: () => unknown): object {
  return Object.defineProperty({}, 'a', { enumerable: true, get })
}

/** Replaces parts of a value, each with a chance of one in `rarity`, by hostile ones; `choices` decides. */
export function spoiledBy(value: unknown, rarity: number, choices: readonly number[]): unknown {
  let at = 0
  const next = (): number => choices[at++ % choices.length] ?? 0
  const spoil = (part: unknown, depth: number): unknown => {
    if (next() % rarity === 0) {
      const values = hostileValues()
      return values[next() % values.length]
    }
    if (depth > 8 || typeof part !== 'object' || part === null || part instanceof Date) return part
    if (Array.isArray(part)) return part.map((item) => spoil(item, depth + 1))
    return Object.fromEntries(Object.entries(part).map(([key, one]) => [key, spoil(one, depth + 1)]))
  }
  return spoil(value, 0)
}
