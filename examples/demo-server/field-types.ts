import type { JsonSchema } from './declaration.js'

/** Free text of one line: no control characters, no lone surrogates (neither fits into the database), not blank. */
export function line(maxLength: number, description: string): JsonSchema {
  return { type: 'string', minLength: 1, maxLength, pattern: '^(?!\\s*$)[^\\p{Cc}\\p{Cs}]+$', description }
}

/** The id of an item of another collection. */
export function reference(description: string): JsonSchema {
  return { type: 'integer', format: 'int64', minimum: 0, description }
}

/** An amount in the minor unit of its currency, such as cents. */
export function minorUnits(description: string): JsonSchema {
  return { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description }
}

/** A currency by its ISO 4217 code. */
export const currency: JsonSchema = {
  type: 'string',
  pattern: '^[A-Z]{3}$',
  description: 'Currency, ISO 4217',
}

/** One of the listed words. */
export function oneOf(values: readonly string[], description: string): JsonSchema {
  return { type: 'string', enum: values, description }
}

/**
 * A point in time, RFC 3339. Narrower than the format by itself, so that every value fits into the database: years
 * 1900–2099, offsets up to 14 hours, no leap seconds.
 */
export function timestamp(description: string): JsonSchema {
  return {
    type: 'string',
    format: 'date-time',
    pattern:
      '^(19|20)\\d{2}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:[0-5]\\d(\\.\\d{1,9})?([Zz]|[+-](0\\d|1[0-3]):[0-5]\\d|[+-]14:00)$',
    description,
  }
}

/** The same values, or `null`. */
export function nullable(schema: JsonSchema): JsonSchema {
  return { ...schema, type: [schema.type, 'null'] }
}
