import fc from 'fast-check'
import type { Json, SchemaStore } from '../../src/schema/json-schema.js'

/** A response schema, the shared schemas that it refers to, and payloads that are made for it. */
export interface Sample {
  readonly schema: Json
  readonly shared: SchemaStore
  readonly payloads: readonly Payload[]
}

/** A payload as a handler hands it over, and the same for a writer that cannot write long integers. */
export interface Payload {
  readonly given: unknown
  /** The payload with a safe Number in place of each integer that is no such Number. */
  readonly standIn: unknown
  /** What the JSON of the stand-in stands for. */
  readonly exact: (json: string) => string
}

/** A schema in which references are still what they refer to, and three values that are made for it. */
export interface Draft {
  readonly schema: Json
  readonly values: readonly unknown[]
}

/** An integer in one of the forms in which handlers have it. */
export class Integer {
  readonly given: bigint | string

  constructor(digits: bigint, form: 'bigint' | 'text') {
    this.given = form === 'bigint' ? digits : digits.toString()
  }
}

/** Three values. */
export function times<Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value[]> {
  return fc.array(value, { minLength: 3, maxLength: 3 })
}

/** A draft of a schema and values for it. */
export function drafted(schema: Json, value: fc.Arbitrary<unknown>): fc.Arbitrary<Draft> {
  return times(value).map((values) => ({ schema, values }))
}

const target = '$target'

/** The schema that refers to the nearest one around it that is referred to. */
export const self: Json = { [target]: 'self' }

/** The draft with a reference in place of the schema. */
export function referredTo({ schema, values }: Draft): Draft {
  const refers = typeof schema === 'object' && schema !== null && target in schema
  return { schema: refers || typeof schema !== 'object' ? schema : { [target]: schema }, values }
}

/** The sample of a draft: with what it refers to among its own definitions, or as shared schemas. */
export function sampleOf({ schema, values }: Draft, refs: 'local' | 'shared'): Sample {
  const definitions: Record<string, Json> = {}
  const place = (part: Json, around: string): Json => {
    if (typeof part !== 'object' || part === null) return part
    if (Array.isArray(part)) return part.map((one) => place(one, around))
    const referred = (part as Record<string, Json>)[target]
    if (referred === 'self') return { $ref: around }
    if (referred === undefined) {
      return Object.fromEntries(Object.entries(part).map(([key, one]) => [key, place(one, around)]))
    }
    const id = `s${Object.keys(definitions).length}`
    const $ref = refs === 'local' ? `#/definitions/${id}` : `${id}#`
    definitions[id] = {}
    const placed = place(referred, $ref) as object
    definitions[id] = refs === 'local' ? { ...placed } : { $id: id, ...placed }
    return { $ref }
  }
  const root = { type: 'object', required: ['root'], properties: { root: place(schema, '') } }
  return {
    schema: refs === 'local' ? { ...root, definitions } : root,
    shared: refs === 'local' ? {} : definitions,
    payloads: values.map((value) => payloadOf({ root: value })),
  }
}

const firstStandIn = 7_777_000_000_000

function payloadOf(value: unknown): Payload {
  const digits: string[] = []
  return {
    given: replaced(value, ({ given }) => given),
    standIn: replaced(value, ({ given }) => firstStandIn + digits.push(String(given)) - 1),
    exact: (json) => json.replace(/\b7777\d{9}\b/g, (token) => digits[Number(token) - firstStandIn] ?? token),
  }
}

function replaced(value: unknown, by: (integer: Integer) => unknown): unknown {
  if (value instanceof Integer) return by(value)
  if (Array.isArray(value)) return value.map((item) => replaced(item, by))
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaced(one, by)]))
}
