import { unsafeDigits } from '../../json/integer-text.js'
import { anything, type Shape } from '../../json-schema/shape.js'

/** What string twins are about in a value; each the path of the first one, `null` for none. */
export interface TwinPaths {
  /** An integer that has a twin when the value is written. */
  readonly twin: string | null
  /** A declared 64-bit integer that is a Number beyond 2^53: its digits are lost. */
  readonly lost: string | null
}

/** Looks for integers with twins in a value of a shape, within bounds: 20 levels deep, 10,000 values. */
export function twinPaths(value: unknown, shape: Shape = anything): TwinPaths {
  const paths = { twin: null as string | null, lost: null as string | null }
  let visits = 0
  const visit = (one: unknown, declared: Shape, path: string, depth: number): void => {
    const of = chosen(declared, one)
    if (of.kind === 'integer' && of.int64 !== null) {
      if (isLost(one)) paths.lost ??= path
      else paths.twin ??= path
    } else if (unsafeDigits(one) !== null) {
      paths.twin ??= path
    } else if (typeof one === 'object' && one !== null && depth <= deepest) {
      for (const [key, inner] of Object.entries(one)) {
        if (++visits > mostVisits || (paths.twin !== null && paths.lost !== null)) return
        const within = shapeIn(of, key)
        if (within !== null && inner !== undefined)
          visit(inner, within, path === '' ? key : `${path}.${key}`, depth + 1)
      }
    }
  }
  visit(value, shape, '', 0)
  return paths
}

const deepest = 20
const mostVisits = 10_000

function chosen(shape: Shape, value: unknown): Shape {
  let one = shape
  for (let depth = 0; one.kind === 'choice' && depth <= deepest; depth++) {
    one = one.options.find(({ matches }) => matches(value))?.shape ?? anything
  }
  return one
}

function isLost(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
}

// `null`: it is not written.
function shapeIn(shape: Shape, key: string): Shape | null {
  switch (shape.kind) {
    case 'array':
      return shape.items
    case 'object': {
      const member = shape.members.find(({ name }) => name === key)
      return member?.shape ?? shape.patterns.find(({ pattern }) => pattern.test(key))?.shape ?? shape.rest
    }
    case 'tuple':
    case 'anything':
      return anything
    default:
      return null
  }
}
