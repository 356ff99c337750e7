import { valueTwin } from '../json/exact-json.js'
import { arrayTwin, int64Digits } from '../json/integer-text.js'
import { choose } from './alternatives.js'
import { leavesOf, type Member, type Shape, someShape } from './shape.js'

const suffix = '_str'

/** Returns the name of the string twin of an integer. */
export function twinName(name: string): string {
  return `${name}${suffix}`
}

/** Returns the name of the integer of a twin; `null` if the name is not the name of a twin. */
export function numberName(name: string): string | null {
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : null
}

/** Whether a shape is a declared 64-bit integer. */
export function isInt64(shape: Shape): boolean {
  return shape.kind === 'integer' && shape.int64 !== null
}

/** Whether a member of the shape has a declared twin: it may be a 64-bit integer, or an array of them. */
export function isTwinned(shape: Shape): boolean {
  return [...leavesOf([shape])].some(isInt64)
}

/** Whether every value of the shape has such a twin: 64-bit integers have, unless they are one of several alternatives. */
export function isAlwaysTwinned(shape: Shape): boolean {
  if (shape.kind !== 'choice') return isTwinned(shape)
  return (
    isTwinned(shape) && shape.options.every(({ shape: one }) => one.kind === 'null' || isAlwaysTwinned(one))
  )
}

/** Whether a value of the shape may be an integer, or an array with some, so that it may need a twin. */
export function mayBeInteger(shape: Shape): boolean {
  return [...leavesOf([shape])].some(
    ({ kind }) => kind === 'integer' || kind === 'number' || kind === 'anything',
  )
}

/** Whether a 64-bit integer is declared anywhere in the shape. */
export function containsInt64(shape: Shape): boolean {
  return someShape(shape, isInt64)
}

/** Writes the twin of a value of a shape, `null` where it needs none. */
export function twinWriter(shape: Shape): (value: unknown) => string | null {
  switch (shape.kind) {
    case 'integer': {
      const { int64 } = shape
      if (int64 === null) return valueTwin
      // The writer of the number itself has reported lost digits already.
      return (value) => {
        const digits = int64Digits(value, int64, () => {})
        return digits === null ? 'null' : `"${digits}"`
      }
    }
    case 'number':
    case 'anything':
      return valueTwin
    case 'array': {
      const isDeclared = isTwinned(shape)
      const empty = shape.nullable ? 'null' : '[]'
      return (value) =>
        Array.isArray(value) ? arrayTwin(value, isDeclared) : isDeclared && value === null ? empty : null
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

/** Returns a test of objects: whether a member of the object is followed by its twin. */
export function twinTest({ name, shape, fallback }: Member): (object: object) => boolean {
  const twinOf = twinWriter(shape)
  const isDefaultTwinned = isTwinned(shape) && withTwin(name, fallback) !== fallback
  return (object) => {
    const value = (object as Readonly<Record<string, unknown>>)[name]
    return value === undefined ? isDefaultTwinned : twinOf(value) !== null
  }
}

/** JSON of the default of a 64-bit integer, which is a number in the schema, followed by its twin. */
export function withTwin(name: string, fallback: string | null): string | null {
  if (fallback === null || !/^-?\d+$/.test(fallback)) return fallback
  return `${fallback},${JSON.stringify(twinName(name))}:"${fallback}"`
}
