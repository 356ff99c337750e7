import { markedLiteral } from './long-literals.js'

/** Turns the marked strings in a value back into Numbers, as many as there are; however deep it is. */
export function unmark(root: object, marks: number): void {
  const left: object[] = [root]
  let remaining = marks
  for (let object = left.pop(); object !== undefined && remaining > 0; object = left.pop()) {
    const members = object as Record<string, unknown>
    for (const key of Object.keys(members)) {
      const value = members[key]
      if (typeof value === 'object' && value !== null) {
        left.push(value)
        continue
      }
      const literal = markedLiteral(value)
      if (literal === null) continue
      members[key] = Number(literal)
      remaining--
    }
  }
}
