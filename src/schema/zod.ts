import { z } from 'zod'
import { isWithin, parseInt64, rangeOf } from '../json/int64.js'
import { type SchemaDirection, zodOptions } from './provider-schema.js'

/** What {@link Int64} accepts. */
export type Int64Input = bigint | number | string

/**
 * A 64-bit integer of Zod 4: a BigInt for the handler and for the compiler, in requests and in responses. It is declared
 * `{ type: 'integer', format: 'int64' }`, so `integerTwins` writes all digits and the twin `<name>_str`, and reads both.
 * Without `integerTwins`, an integer that a Number cannot hold is sent as a string.
 *
 * Not for integers below 2^53: use `z.int()`.
 *
 * @example
 * ```ts
 * const User = z.object({ id: Int64(), name: z.string() })
 * ```
 */
export function Int64(): z.ZodCodec<z.ZodType<Int64Input, Int64Input>, z.ZodBigInt> {
  const sent = z.any().refine(isInt64, 'must be an integer of 64 bits') as z.ZodType<Int64Input, Int64Input>
  const schema = z.codec(sent, z.int64() as z.ZodBigInt, {
    decode: (value) => BigInt(value),
    encode: (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()),
  })
  schema._zod.toJSONSchema = () => ({ ...declaration })
  return schema
}

/**
 * The option `toJsonSchema` for Zod before 4.2 and for `zod/mini`, whose schemas do not give their JSON Schema themselves.
 *
 * @param schema as the route declares it
 * @param direction `input` for what a client sends, `output` for a response
 * @returns `undefined` for a schema that is not one of Zod 4
 */
export function toJsonSchema(schema: unknown, direction: SchemaDirection): object | undefined {
  if (typeof schema !== 'object' || schema === null || !('_zod' in schema)) return undefined
  const { $schema: _, ...json } = z.toJSONSchema(schema as z.ZodType, zodOptions(direction))
  return json
}

const declaration = { type: 'integer', format: 'int64' } as const

function isInt64(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value)
  if (typeof value === 'string') return parseInt64(value) !== null
  const range = rangeOf(declaration.format)
  return typeof value === 'bigint' && range !== null && isWithin(range, value)
}
