import { Ajv, type ErrorObject, type Options } from 'ajv'
import { parseExact } from '../../../../src/json/exact-body.js'
import { digitsOfBody } from '../../../../src/json/exact-digits.js'
import { loadAjv } from '../../../../src/json-schema/schema-match.js'
import type { SchemaStore } from '../../../../src/json-schema/schema-refs.js'
import type { ExactDigits } from '../../../../src/plugins/integer-twins/input/scalar-input.js'
import { applyWide } from '../../../../src/plugins/integer-twins/input/wide-apply.js'
import type { WideRefusal } from '../../../../src/plugins/integer-twins/input/wide-faults.js'
import { readWide } from '../../../../src/plugins/integer-twins/input/wide-input.js'
import {
  compileWidePlan,
  type WidePlan,
  type WidePlanOptions,
} from '../../../../src/plugins/integer-twins/input/wide-plan.js'

await loadAjv()

/** What comes of an input: what the handler gets, or what is answered instead. */
export type Received =
  | { readonly value: unknown }
  | { readonly refusal: WideRefusal }
  | { readonly errors: readonly ErrorObject[] }

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>

export const int64: Schema = { type: 'integer', format: 'int64' }
export const uint64: Schema = { type: 'integer', format: 'uint64' }

export const fromInt64 = 'must be an integer from -9223372036854775808 to 9223372036854775807'
export const fromUint64 = 'must be an integer from 0 to 18446744073709551615'

/** The options of Fastify's own validator, which converts types. */
const converting: Options = { coerceTypes: 'array', useDefaults: true, removeAdditional: true }
const anyInteger = { type: 'number', validate: Number.isInteger } as const
const formats = { int64: anyInteger, uint64: anyInteger }

/** An object with declared members. */
export function objectOf(properties: Schema, more: Schema = {}): Schema {
  return { type: 'object', properties, ...more }
}

/** The plan of a schema that declares 64-bit integers. */
export function planOf(schema: Schema, options: WidePlanOptions = { place: 'body' }): WidePlan {
  const plan = compileWidePlan(schema, options)
  if (plan === null) throw new Error('there is nothing declared')
  return plan
}

/** The way of a JSON body, from its text to the handler. */
export function received(schema: Schema, text: string, shared: Record<string, Schema> = {}): Received {
  const { value, marks } = parseExact(text, JSON.parse)
  return walk(schema, value, { marks }, { place: 'body', shared }, converting)
}

/** The same where the body is parsed already, as a framework does it. */
export function quickly(schema: Schema, text: string): Received {
  const { value, digits } = digitsOfBody(JSON.parse(text), text, JSON.parse)
  return walk(schema, value, digits, { place: 'body' }, converting)
}

/** The same with a validator that converts nothing. */
export function receivedStrictly(schema: Schema, text: string): Received {
  const { value, marks } = parseExact(text, JSON.parse)
  return walk(schema, value, { marks }, { place: 'body' }, {})
}

/** The way of a path or a query, from its strings to the handler. */
export function receivedText(schema: Schema, value: unknown, place: 'path' | 'query' = 'query'): Received {
  return walk(schema, value, {}, { place }, converting)
}

function walk(
  schema: Schema,
  given: unknown,
  digits: ExactDigits,
  options: WidePlanOptions,
  ajv: Options,
): Received {
  const plan = planOf(schema, options)
  const { value, found, refusal } = readWide(plan, given, digits)
  if (refusal !== null) return { refusal }
  const validate = newAjv(options.shared ?? {}, ajv).compile(schema)
  if (!validate(value)) return { errors: validate.errors ?? [] }
  const applied = applyWide(plan, value, found)
  return applied.refusal === null ? { value: applied.value } : { refusal: applied.refusal }
}

function newAjv(shared: SchemaStore, options: Options): Ajv {
  const ajv = new Ajv({ strict: false, formats, ...options })
  for (const schema of Object.values(shared)) ajv.addSchema(schema as Schema)
  return ajv
}
