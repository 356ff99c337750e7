import type { Int64Range } from '../json/int64.js'
import type { Match, Option } from './alternatives.js'
import type { Json } from './json-schema.js'

/** What a schema says of a value, as Fastify's serializer reads it. */
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

/** The formats by which a string, or a Date, is written. */
export type TextFormat = 'date-time' | 'date' | 'time' | 'unsafe'

/** The shape of an object. */
export type ObjectShape = Extract<Shape, { kind: 'object' }>

interface ObjectForm {
  readonly kind: 'object'
  /** Declared members, those that are required first: the order in which Fastify's serializer writes them. */
  readonly members: readonly Member[]
  /** Names that are required and not declared. */
  readonly alsoRequired: readonly string[]
  readonly patterns: readonly { readonly pattern: RegExp; readonly shape: Shape }[]
  /** Shape of members that are not declared; `null` where they are dropped. */
  readonly rest: Shape | null
  /** Whether the schema forbids members that it does not declare (`additionalProperties: false`). */
  readonly isClosed?: true
}

/** A declared member of an object. */
export interface Member {
  readonly name: string
  readonly shape: Shape
  readonly required: boolean
  /** JSON of the default, for a value that is left out; `null` for none. */
  readonly fallback: string | null
}

/** One of several shapes, and the values it is for. */
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
