import type { Int64Range } from '../../json/int64.js'
import { mentionsInt64 } from '../../json-schema/int64-mentions.js'
import {
  int64RangeOf,
  type Json,
  mapSchema,
  type SchemaObject,
  type SchemaStore,
} from '../../json-schema/json-schema.js'
import { writtenOut } from '../../json-schema/written-out.js'

/**
 * The schema of parameters in a path or a query as the document is to show them: a 64-bit integer is a text of digits, which
 * a client that has no such numbers can send exactly.
 */
export function withDigits(schema: Json, shared: SchemaStore): Json {
  if (!mentionsInt64(schema)) return schema
  const plain = writtenOut(schema, shared, (part) => part)
  return mapSchema(plain, (part) => {
    const range = int64RangeOf(part)
    return range === null ? part : digitsOf(part, range)
  })
}

function digitsOf(part: SchemaObject, range: Int64Range): SchemaObject {
  const { format: _, minimum: _a, maximum: _b, exclusiveMinimum: _c, exclusiveMaximum: _d, ...rest } = part
  const { multipleOf: _e, type, default: fallback, enum: values, description, ...others } = rest
  const types = [type].flat().map((one) => (one === 'integer' ? 'string' : one)) as string[]
  const { description: bounds, ...form } = digitBounds(part, range)
  return {
    ...others,
    type: types.length === 1 ? (types[0] as string) : types,
    ...form,
    description: typeof description === 'string' ? `${description}; ${bounds}` : bounds,
    ...(fallback === undefined ? {} : { default: asText(fallback) }),
    ...(Array.isArray(values) ? { enum: values.map(asText) } : {}),
  }
}

/** The bounds of a 64-bit integer in the schema of its digits. `description` has those that a pattern cannot express. */
export function digitBounds(
  { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: SchemaObject,
  { min, max }: Int64Range,
): { readonly pattern: string; readonly maxLength: number; readonly description: string } {
  const above = [minimum, isNumber(exclusiveMinimum) ? Math.floor(exclusiveMinimum) + 1 : undefined]
  const below = [maximum, isNumber(exclusiveMaximum) ? Math.ceil(exclusiveMaximum) - 1 : undefined]
  const from = above.filter(isNumber).map((bound) => BigInt(Math.ceil(bound)))
  const to = below.filter(isNumber).map((bound) => BigInt(Math.floor(bound)))
  const lowest = from.reduce((one, other) => (one > other ? one : other), min)
  const highest = to.reduce((one, other) => (one < other ? one : other), max)
  const sign = lowest < 0n ? '-' : ''
  return {
    pattern: `^${sign === '' ? '' : '-?'}[0-9]+$`,
    maxLength: `${sign}${max}`.length,
    description: `an integer from ${lowest} to ${highest}${isNumber(multipleOf) ? `, a multiple of ${multipleOf}` : ''}`,
  }
}

function isNumber(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function asText(value: Json): Json {
  return typeof value === 'number' ? String(value) : value
}
