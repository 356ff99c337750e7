import { isDecimal } from '../json/int64.js'
import type { Match } from './schema-match.js'
import type { Json } from './schema-refs.js'
import type { Shape } from './schema-shape.js'

// The tests by which fast-json-stringify tells the types of a list (`type: ['string', 'null']`) and of a tuple apart.

/** Whether a value is of a type, where a schema has a list. Null is of every type but array, and is converted. */
export function isOfListedType(type: string): Match {
  return listed[type] ?? never
}

/**
 * Whether a value may stand in a place of a tuple, by the schema of that place.
 *
 * @param impliedType the type that other keywords imply, where the schema names none
 */
export function fitsTuple(
  item: Json,
  impliedType: (schema: Readonly<Record<string, Json>>) => string | undefined,
): Match {
  if (typeof item !== 'object' || item === null) return never
  const schema = item as Readonly<Record<string, Json>>
  const types = [schema.type ?? impliedType(schema) ?? []].flat() as readonly string[]
  const tests = types.map((type) => inTuple[type] ?? never)
  return (value) => (value === null && schema.nullable === true) || tests.some((test) => test(value))
}

/**
 * Whether a value is an integer in a form that fast-json-stringify takes for none: a BigInt, or, where the shape is
 * declared to be of 64 bits, its decimal text.
 */
export function isLargeInteger(value: unknown, shape: Shape): boolean {
  if (shape.kind !== 'integer' && shape.kind !== 'number') return false
  if (typeof value === 'bigint') return true
  return shape.kind === 'integer' && shape.wide !== null && typeof value === 'string' && isDecimal(value)
}

const never: Match = () => false

const listed: Readonly<Record<string, Match>> = {
  string: isTextLike,
  array: Array.isArray,
  integer: (value) => Number.isInteger(value) || value === null,
  object: (value) => typeof value === 'object' && !Array.isArray(value),
  number: (value) => typeof value === 'number' || value === null,
  boolean: (value) => typeof value === 'boolean' || value === null,
}

const inTuple: Readonly<Record<string, Match>> = {
  null: (value) => value === null,
  string: isTextLike,
  array: Array.isArray,
  integer: Number.isInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null && value.constructor === Object,
}

// What has a text of its own: also an array, whose text is its items.
function isTextLike(value: unknown): boolean {
  if (typeof value === 'string' || value === null) return true
  if (typeof value !== 'object') return false
  if (value instanceof Date || value instanceof RegExp) return true
  return typeof value.toString === 'function' && value.toString !== Object.prototype.toString
}
