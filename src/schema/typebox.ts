import { Type } from 'typebox'

/** Options of {@link Int64}: keywords of JSON Schema, such as `description` or `minimum`. */
export interface Int64Options {
  readonly [keyword: string]: unknown
}

/**
 * A 64-bit integer of TypeBox: `{ type: 'integer', format: 'int64' }`, whose static type is `bigint`. `integerTwins` hands a
 * BigInt to the handler, and writes all digits and the twin `<name>_str`; without it, the type is wrong.
 *
 * Not for integers below 2^53: use `Type.Integer()`.
 *
 * @example
 * ```ts
 * const User = Type.Object({ id: Int64(), name: Type.String() })
 * ```
 */
export function Int64(options: Int64Options = {}): Type.TUnsafe<bigint> {
  return Type.Unsafe<bigint>({ ...options, type: 'integer', format: 'int64' })
}
