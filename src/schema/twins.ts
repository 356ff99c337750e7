import { arrayTwin, int64Digits, valueTwin } from '../json/int64.js'
import { choose } from './alternatives.js'
import { type Json, schemaText } from './json-schema.js'
import { leavesOf, type Shape, someShape } from './shape.js'

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

export function containsInt64(shape: Shape): boolean {
  return someShape(shape, isInt64)
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
  // Found once for each object: schemas are not changed after a route has been given them.
  const known = found.get(schema)
  if (known !== undefined) return known
  const mentions = /"format":"u?int64"|"\$ref"/.test(schemaText(schema as Json) ?? '')
  found.set(schema, mentions)
  return mentions
}
