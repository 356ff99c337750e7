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
  return { marks: mark(holder, 'value', marked, 0), value: holder.value }
}

type Holder = Record<string | number, unknown>

const deepest = 500

function mark(holder: Holder, key: string | number, marked: unknown, depth: number): number {
  const value = Object.hasOwn(holder, key) ? holder[key] : undefined
  const literal = markedLiteral(marked)
  if (literal !== null) {
    if (value !== Number(literal)) return 0
    holder[key] = marked
    return 1
  }
  if (!isContainer(marked) || !isContainer(value) || depth >= deepest) return 0
  let marks = 0
  for (const [name, inner] of Object.entries(marked)) marks += mark(value, name, inner, depth + 1)
  return marks
}

function isContainer(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null
}
