import { isFieldName } from './field-name.js'

/**
 * A `Vary` with more names in it (RFC 9110 §12.5.5): without repeats, whatever their case, in the order and the spelling
 * in which they came first. `*` says that anything may make a difference, and so it stands alone. What others have
 * written into `current` is kept, even what is no field name.
 *
 * @param current the value so far; `undefined` or `''` for none
 * @param names one or several, each may be a list as the header has it
 * @throws TypeError for a name that no header field can have
 */
export function mergeVary(
  current: string | readonly string[] | undefined,
  names: string | readonly string[],
): string {
  const before = members(current ?? '')
  const added = members(names)
  for (const name of added) {
    if (!isFieldName(name)) throw new TypeError(`Vary cannot name ${JSON.stringify(name)}: no header field`)
  }
  const merged: string[] = []
  const known: string[] = []
  for (const name of before.length === 0 ? added : before.concat(added)) {
    if (name === '*') return '*'
    const key = name.toLowerCase()
    if (known.includes(key)) continue
    known.push(key)
    merged.push(name)
  }
  return merged.join(', ')
}

function members(value: string | readonly string[]): string[] {
  const text = typeof value === 'string' ? value : value.join(',')
  const found: string[] = []
  for (const member of text.split(',')) {
    const name = member.trim()
    if (name !== '') found.push(name)
  }
  return found
}
