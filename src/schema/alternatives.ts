import type { Ajv } from 'ajv'
import { exactJson, holdsBigInt } from '../json/exact-json.js'
import { decimalPattern, isDecimal, rangeOf } from '../json/int64.js'
import { isSchemaObject, type Json, mapSchema } from './json-schema.js'
import type { Alternative, SchemaReader } from './reader.js'

/** Whether a value is one that a schema is for; with `orLarge`, large integers count as integers. */
export type Match = (value: unknown, orLarge?: boolean) => boolean

/** Compiles a JSON Schema into the serializer that the app itself would use for it. */
export type CompileSerializer = (schema: Json) => (value: unknown) => string

export interface Option {
  readonly matches: Match
}

/**
 * Uses the option that matches. If none does, or only a later one that takes a BigInt for anything, large integers count:
 * where the use of one throws, the next is tried.
 */
export function choose<One extends Option, Result>(
  options: readonly One[],
  value: unknown,
  use: (one: One) => Result,
): Result | undefined {
  const found = options.find((one) => one.matches(value))
  if (found !== undefined && (found === options[0] || !holdsBigInt(value))) return use(found)
  let failure: { readonly error: unknown } | undefined
  for (const one of options) {
    if (!one.matches(value, true)) continue
    try {
      return use(one)
    } catch (error) {
      failure = { error }
    }
  }
  if (failure !== undefined) throw failure.error
  return undefined
}

export interface ShapeContext {
  readonly reader: SchemaReader
  /** Compiles the app's own serializers, which tell alternatives apart. */
  readonly compile: CompileSerializer
  /** Whether declared 64-bit integers differ from other integers, and large integers are integers in every form. */
  readonly int64: boolean
}

export function optionsOf(
  group: readonly Alternative[],
  context: ShapeContext,
): readonly (Alternative & Option)[] {
  const hasNumbers = context.int64 && group.some(({ condition }) => mayBeNumber(condition))
  const matchOf = (condition: Json): Match => {
    const strict = matcher(condition, context)
    if (!hasNumbers) return strict
    const large = matcher(condition, context, withLargeIntegers)
    let declaresInt64: boolean | undefined
    // Values that JSON does not have, such as Infinity, are not large integers.
    const mayBeLarge = (value: unknown): boolean => {
      declaresInt64 ??= /"format":"u?int64"/.test(JSON.stringify(context.reader.bundle(condition)))
      return typeof value !== 'number' && (declaresInt64 || holdsBigInt(value))
    }
    return (value, orLarge = false) => (orLarge && mayBeLarge(value) && large(value)) || strict(value)
  }
  if (group.every(({ isMet }) => isMet))
    return group.map((one) => ({ ...one, matches: matchOf(one.condition) }))
  // The branches of an `if` share their condition.
  const [{ condition }] = group as readonly [Alternative, ...Alternative[]]
  const isMet = matchOf(condition)
  return group.map((one) => ({ ...one, matches: (value) => isMet(value, true) === one.isMet }))
}

function matcher(
  condition: Json,
  { reader, compile }: ShapeContext,
  change = (bundle: Json): Json => bundle,
): (value: unknown) => boolean {
  let stringify: ((value: unknown) => string) | undefined
  return (value) => {
    // Compiled when first needed: most alternatives never are.
    stringify ??= compile(
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      change(reader.bundle({ if: condition, then: { const: 1 }, else: { const: 0 } })),
    )
    return stringify(value) === '1'
  }
}

function mayBeNumber(condition: Json): boolean {
  return /"(?:integer|number|\$ref)"/.test(JSON.stringify(condition))
}

const notJson: Json = { not: { type: ['string', 'number', 'object', 'array', 'boolean', 'null'] } }
const decimalText: Json = { type: 'string', pattern: decimalPattern, not: { type: 'object' } }

function withLargeIntegers(schema: Json): Json {
  return mapSchema(schema, (one) => {
    const types = [one.type].flat()
    if (!types.includes('integer') && !types.includes('number')) return one
    const large = rangeOf(one.format) === null ? [notJson] : [notJson, decimalText]
    return { anyOf: [one, ...large] }
  })
}

export function isLargeInteger(value: unknown, isInt64: boolean): boolean {
  return typeof value === 'bigint' || (isInt64 && typeof value === 'string' && isDecimal(value))
}

/** The test by which Fastify's serializer tells one type of a list (`type: ['string', 'null']`) from the others. */
export function isOfListedType(type: string): Match {
  return listedTypes[type] ?? (() => false)
}

const listedTypes: Readonly<Record<string, Match>> = {
  string: isTextLike,
  array: Array.isArray,
  integer: (value) => Number.isInteger(value) || value === null,
  object: (value) => typeof value === 'object' && !Array.isArray(value),
  number: (value) => typeof value === 'number' || value === null,
  boolean: (value) => typeof value === 'boolean' || value === null,
}

// An object has text if its `toString` is not that of Object: a date, or an array, whose text is its items.
function isTextLike(value: unknown): boolean {
  if (typeof value === 'string' || value === null) return true
  if (typeof value !== 'object') return false
  if (value instanceof Date || value instanceof RegExp) return true
  return typeof value.toString === 'function' && value.toString !== Object.prototype.toString
}

let ajv: Ajv | undefined

/** Loads Ajv, which not every app that imports this package needs. Call it before {@link compileConditions}. */
export async function loadAjv(): Promise<void> {
  const { Ajv } = await import('ajv')
  ajv ??= new Ajv({ strict: false, validateSchema: false, validateFormats: false, logger: false })
}

/** Compiles the conditions of alternatives where the serializer of the app cannot tell whether they hold. */
export const compileConditions: CompileSerializer = (schema) => {
  if (!isSchemaObject(schema) || schema.if === undefined) return (value) => exactJson(value, false) ?? 'null'
  if (ajv === undefined) throw new TypeError('Ajv is not loaded')
  const { if: condition, definitions = {} } = schema
  const holds = ajv.compile({ definitions, allOf: [condition] })
  return (value) => (holds(value) ? '1' : '0')
}
