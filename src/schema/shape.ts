import { arrayTwin, type Int64Range, int64Digits, valueTwin } from '../json/int64.js'
import { kept } from '../kept.js'
import { choose, type Match, type Option } from './alternatives.js'
import { type Json, schemaText } from './json-schema.js'

export type Shape = ShapeBase &
  (
    | { readonly kind: 'text'; readonly format: TextFormat | null }
    /** `int64`: the range of a declared 64-bit integer, `null` for another. */
    | { readonly kind: 'integer'; readonly int64: Int64Range | null }
    | { readonly kind: 'number' | 'boolean' | 'null' | 'anything' }
    | { readonly kind: 'constant'; readonly json: string }
    | ObjectForm
    /** `isSet`: whether items have to differ. */
    | { readonly kind: 'array'; readonly items: Shape; readonly isSet: boolean }
    | { readonly kind: 'tuple'; readonly schema: Json; readonly items: readonly Shape[] }
    | { readonly kind: 'choice'; readonly options: readonly ShapeOption[] }
  )

interface ShapeBase {
  readonly nullable: boolean
  /** The values that a list of types allows besides null. */
  readonly allows?: Match
}

export type TextFormat = 'date-time' | 'date' | 'time' | 'unsafe'

export type ObjectShape = Extract<Shape, { kind: 'object' }>

interface ObjectForm {
  readonly kind: 'object'
  /** Declared members, those that are required first: the order in which Fastify's serializer writes them. */
  readonly members: readonly Member[]
  readonly alsoRequired: readonly string[]
  readonly patterns: readonly { readonly pattern: RegExp; readonly shape: Shape }[]
  /** Shape of members that are not declared; `null` where they are dropped. */
  readonly rest: Shape | null
  /** Whether the schema forbids members that it does not declare (`additionalProperties: false`). */
  readonly isClosed?: true
}

export interface Member {
  readonly name: string
  readonly shape: Shape
  readonly required: boolean
  /** JSON of the default, for a value that is left out; `null` for none. */
  readonly fallback: string | null
}

export interface ShapeOption extends Option {
  readonly shape: Shape
}

export const anything: Shape = { kind: 'anything', nullable: true }

/** The shapes that are reached from others, and these; each once. */
function reached(shapes: readonly Shape[], partsOf: (shape: Shape) => readonly Shape[]): Shape[] {
  const found = new Set(shapes)
  // The loop also visits the shapes that it adds to the set.
  for (const shape of found) for (const part of partsOf(shape)) found.add(part)
  return [...found]
}

export function someShape(shape: Shape, test: (shape: Shape) => boolean): boolean {
  return reached([shape], partsOf).some(test)
}

/** The shapes among which the values of shapes are, or the items of these values; each once. */
export function leavesOf(shapes: readonly Shape[]): Shape[] {
  return reached(shapes, (shape) => (shape.kind === 'array' || shape.kind === 'choice' ? partsOf(shape) : []))
}

function partsOf(shape: Shape): readonly Shape[] {
  switch (shape.kind) {
    case 'object': {
      const named = [...shape.members, ...shape.patterns].map((part) => part.shape)
      return shape.rest === null ? named : [...named, shape.rest]
    }
    case 'array':
      return [shape.items]
    case 'tuple':
      return shape.items
    case 'choice':
      return shape.options.map((option) => option.shape)
    default:
      return []
  }
}

const suffix = '_str'

export function twinName(name: string): string {
  return `${name}${suffix}`
}

/** Returns the name of the integer of a twin; `null` if the name is not the name of a twin. */
export function numberName(name: string): string | null {
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : null
}

export function isInt64(shape: Shape): boolean {
  return shape.kind === 'integer' && shape.int64 !== null
}

/** Whether a value of the shape may be a 64-bit integer, or an array with some. */
export function isTwinned(shape: Shape): boolean {
  return leavesOf([shape]).some(isInt64)
}

export function isAlwaysTwinned(shape: Shape): boolean {
  if (shape.kind !== 'choice') return isTwinned(shape)
  return (
    isTwinned(shape) && shape.options.every(({ shape: one }) => one.kind === 'null' || isAlwaysTwinned(one))
  )
}

/** Whether a value of the shape may be an integer, or an array with some, so that it may need a twin. */
export function mayBeInteger(shape: Shape): boolean {
  return leavesOf([shape]).some(({ kind }) => kind === 'integer' || kind === 'number' || kind === 'anything')
}

const withInt64 = new WeakMap<Shape, boolean>()

/** Asked for each value of a request, so without a closure. */
export function containsInt64(shape: Shape): boolean {
  const known = withInt64.get(shape)
  if (known !== undefined) return known
  const contains = someShape(shape, isInt64)
  withInt64.set(shape, contains)
  return contains
}

/** Writes the twin of a value of a shape, `null` where it needs none. */
export function twinWriter(shape: Shape): (value: unknown) => string | null {
  switch (shape.kind) {
    case 'integer': {
      const { int64 } = shape
      if (int64 === null) return valueTwin
      return (value) => {
        const digits = int64Digits(value, int64)
        return digits === null ? 'null' : `"${digits}"`
      }
    }
    case 'number':
    case 'anything':
      return valueTwin
    case 'array': {
      if (!isTwinned(shape)) return valueTwin
      const empty = shape.nullable ? 'null' : '[]'
      return (value) => (Array.isArray(value) ? arrayTwin(value, true) : value === null ? empty : null)
    }
    case 'choice': {
      const options = shape.options.map((option) => ({ ...option, twinOf: twinWriter(option.shape) }))
      const ofNull = isTwinned(shape) ? 'null' : null
      return (value) =>
        value === null ? ofNull : (choose(options, value, ({ twinOf }) => twinOf(value)) ?? null)
    }
    default:
      return () => null
  }
}

const found = new WeakMap<object, boolean>()

/** Whether a schema mentions a 64-bit integer, or another schema, which may declare some and need not be known yet. */
export function mentionsInt64(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  // Schemas are not changed after a route has been given them.
  return kept(found, schema, () => /"format":"u?int64"|"\$ref"/.test(schemaText(schema as Json) ?? ''))
}
