import { markedLiteral } from './long-literals.js'

/**
 * Puts the marked long integers of an exactly parsed body into the same body as the app has it: parsed by its own
 * parser, rounded, and changed by its hooks as may be. Where the app has put another value, that stays.
 *
 * @param body what the app has; changed in place
 * @param marked the value of `parseExact` of the same text
 * @returns the body, and how many marks are in it
 */
export function markBody(
  body: unknown,
  marked: unknown,
): { readonly value: unknown; readonly marks: number } {
  const holder: Holder = { value: body }
  return { marks: mark(holder, { value: marked }, 0), value: holder.value }
}

type Holder = Record<string | number, unknown>

const deepest = 500

// What was parsed has nothing but members of its own: no arrays of them are made on the way.
function mark(values: Holder, marked: Holder, depth: number): number {
  let marks = 0
  for (const name in marked) {
    const one = marked[name]
    if (typeof one === 'string') {
      const literal = markedLiteral(one)
      if (literal === null || !Object.hasOwn(values, name) || values[name] !== Number(literal)) continue
      values[name] = one
      marks++
    } else if (isContainer(one) && depth < deepest && Object.hasOwn(values, name)) {
      const value = values[name]
      if (isContainer(value)) marks += mark(value, one, depth + 1)
    }
  }
  return marks
}

function isContainer(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null
}
