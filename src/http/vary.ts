import { isFieldName } from './field-name.js'
import { listMembers } from './list-header.js'

/** Adds names to a `Vary` (RFC 9110 §12.5.5), each once. @throws TypeError for a name that is not a field name */
export function mergeVary(
  current: string | readonly string[] | undefined,
  names: string | readonly string[],
): string {
  const before = members(current ?? '')
  const added = members(names)
  for (const name of added) {
    if (!isFieldName(name)) throw new TypeError(`Vary cannot have ${JSON.stringify(name)}: not a field name`)
  }
  const merged = new Map<string, string>()
  for (const name of before.concat(added)) {
    if (name === '*') return '*'
    const key = name.toLowerCase()
    if (!merged.has(key)) merged.set(key, name)
  }
  return [...merged.values()].join(', ')
}

/** Returns a function that adds the names to a `Vary`. It keeps its last result, because most responses have the same `Vary`. */
export function varyMerger(names: string | readonly string[]): (current: string | undefined) => string {
  let lastCurrent: string | undefined
  let lastMerged = mergeVary(undefined, names)
  return function addToVary(current) {
    if (current !== lastCurrent) {
      lastMerged = mergeVary(current, names)
      lastCurrent = current
    }
    return lastMerged
  }
}

function members(value: string | readonly string[]): string[] {
  return listMembers(typeof value === 'string' ? value : value.join(','))
}
