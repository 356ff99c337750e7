import { choose } from '../json/choose.js'
import { valueTwin } from '../json/exact-json.js'
import { arrayTwin, wideDigits } from '../json/integer-text.js'
import type { WideRange } from '../json/wide-range.js'
import type { Shape } from './schema-shape.js'
import { someShape } from './some-shape.js'

/** Name of the string twin of an integer. */
export function twinName(name: string): string {
  return `${name}_str`
}

/** Is it a declared 64-bit integer, or an array of them? Then it always has a twin. */
export function isWide(shape: Shape): boolean {
  if (shape.kind === 'integer') return shape.wide !== null
  if (shape.kind === 'array') return isWide(shape.items)
  if (shape.kind === 'tuple') return shape.items.some((item) => isWide(item.shape))
  return shape.kind === 'choice' && shape.options.some((option) => isWide(option.shape))
}

/** Has every value of the shape a twin? So it is with 64-bit integers, unless they are one of several alternatives. */
export function isAlwaysTwinned(shape: Shape): boolean {
  if (shape.kind !== 'choice') return isWide(shape)
  return isWide(shape) && shape.options.every(({ shape: one }) => one.kind === 'null' || isAlwaysTwinned(one))
}

/** May a value of the shape be an integer, or an array with some? Then it may have a twin. */
export function mayBeInteger(shape: Shape): boolean {
  if (shape.kind === 'array') return mayBeInteger(shape.items)
  if (shape.kind === 'tuple') return shape.rest || shape.items.some((item) => mayBeInteger(item.shape))
  if (shape.kind === 'choice') return shape.options.some((option) => mayBeInteger(option.shape))
  return shape.kind === 'integer' || shape.kind === 'number' || shape.kind === 'anything'
}

/** Writes the twin of a value of a shape, `null` where it needs none. */
export function twinWriter(shape: Shape): (value: unknown) => string | null {
  switch (shape.kind) {
    case 'integer':
      return shape.wide === null ? valueTwin : wideTwin(shape.wide)
    case 'number':
    case 'anything':
      return valueTwin
    case 'array':
    case 'tuple': {
      const wide = isWide(shape)
      const nothing = shape.nullable ? 'null' : '[]'
      return (value) =>
        Array.isArray(value) ? arrayTwin(value, wide) : wide && value === null ? nothing : null
    }
    case 'choice': {
      const options = shape.options.map((option) => ({ ...option, twinOf: twinWriter(option.shape) }))
      const ofNull = isWide(shape) ? 'null' : null
      return (value) =>
        value === null ? ofNull : (choose(options, value, ({ twinOf }) => twinOf(value)) ?? null)
    }
    default:
      return noTwin
  }
}

/** Of what never has a twin. */
export function noTwin(): null {
  return null
}

function wideTwin(range: WideRange): (value: unknown) => string {
  return (value) => {
    const digits = wideDigits(value, range, ignoreLoss)
    return digits === null ? 'null' : `"${digits}"`
  }
}

// The number itself has told of it already.
function ignoreLoss(): void {}

/** Is there a declared 64-bit integer anywhere in the shape? */
export function containsWide(shape: Shape): boolean {
  return someShape(shape, isWide)
}
