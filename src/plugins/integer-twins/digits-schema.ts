import type { Int64Range } from '../../json/int64.js'
import { int64RangeOf, type Json, mapSchema, type SchemaObject } from '../../schema/json-schema.js'
import type { SchemaReader } from '../../schema/reader.js'
import { mentionsInt64 } from '../../schema/twins.js'
import { writtenOut } from '../../schema/written-out.js'

export function withDigits(schema: Json, reader: SchemaReader): Json {
  if (!mentionsInt64(schema)) return schema
  const plain = writtenOut(schema, reader)
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

/** `description` has those that a pattern cannot express. */
export function digitBounds(
  schema: SchemaObject,
  range: Int64Range,
): { readonly pattern: string; readonly maxLength: number; readonly description: string } {
  const { min, max } = boundsOf(schema, range)
  const { multipleOf } = schema
  const sign = min < 0n ? '-' : ''
  return {
    pattern: `^${sign === '' ? '' : '-?'}[0-9]+$`,
    maxLength: `${sign}${range.max}`.length,
    description: `an integer from ${min} to ${max}${isNumber(multipleOf) ? `, a multiple of ${multipleOf}` : ''}`,
  }
}

function boundsOf(
  { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: SchemaObject,
  { min, max }: Int64Range,
): Int64Range {
  const above = [minimum, isNumber(exclusiveMinimum) ? Math.floor(exclusiveMinimum) + 1 : undefined]
  const below = [maximum, isNumber(exclusiveMaximum) ? Math.ceil(exclusiveMaximum) - 1 : undefined]
  const from = above.filter(isNumber).map((bound) => BigInt(Math.ceil(bound)))
  const to = below.filter(isNumber).map((bound) => BigInt(Math.floor(bound)))
  return {
    min: from.reduce((one, other) => (one > other ? one : other), min),
    max: to.reduce((one, other) => (one < other ? one : other), max),
  }
}

function isNumber(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function asText(value: Json): Json {
  return typeof value === 'number' ? String(value) : value
}
