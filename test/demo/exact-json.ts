// A string, which may hold digits, or a number.
const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g
const longInteger = /^-?\d{16,}$/
const marker = /^integer:(-?\d+)$/

/** Parses JSON; integers that a Number cannot hold become BigInts with all of their digits. */
export function parseExact(text: string): unknown {
  const marked = text.replace(token, (found) => (longInteger.test(found) ? `"integer:${found}"` : found))
  return JSON.parse(marked, (_name, value: unknown) => {
    const digits = typeof value === 'string' ? marker.exec(value)?.[1] : undefined
    if (digits === undefined) return value
    return Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits)
  })
}

/** Writes JSON; BigInts are written with all of their digits. */
export function writeExact(value: unknown): string {
  const marked = JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'bigint' ? `integer:${member}` : member,
  )
  return marked.replace(/"integer:(-?\d+)"/g, '$1')
}

/**
 * Says where, in something that {@link parseExact} gave, a string twin differs from its integer or a large integer has
 * none; `null` if nowhere.
 */
export function faultyTwin(value: unknown, path = ''): string | null {
  if (typeof value !== 'object' || value === null) return null
  const members = value as Readonly<Record<string, unknown>>
  for (const [name, member] of Object.entries(members)) {
    const twin = members[`${name}_str`]
    const isInteger = typeof member === 'bigint' || (typeof member === 'number' && twin !== undefined)
    if (isInteger && twin !== String(member)) return `${path}/${name}_str`
    const within = faultyTwin(member, `${path}/${name}`)
    if (within !== null) return within
  }
  return null
}
