/** What became of a long integer when its input was made ready for validation. */
export interface FoundInteger {
  /** The Number that stands for it, or that a validator makes of the text that was left. */
  readonly standIn: number
  /** `null`: it is no integer that could be handed on. */
  readonly exact: bigint | null
  /** Why not. */
  readonly fault: string
}

/** The long integers of a value, along the keys that lead to them. */
export type Found = FoundInteger | FoundItems | FoundMembers

/** What was found in an array, by index. */
export type FoundItems = Found[]

/** What was found in an object. Most have one long integer, and then no map is made. */
export type FoundMembers = FoundMember | Map<string, Found>

interface FoundMember {
  readonly name: string
  readonly found: Found
}

/** With what was found in one more member. */
export function withFound(
  members: FoundMembers | undefined,
  name: string,
  found: Found | undefined,
): FoundMembers | undefined {
  if (found === undefined) return members
  if (members === undefined) return { name, found }
  const all = members instanceof Map ? members : new Map([[members.name, members.found]])
  return all.set(name, found)
}

/** What was found in a member. */
export function foundMember(found: Found | undefined, name: string): Found | undefined {
  if (found === undefined || Array.isArray(found) || isInteger(found)) return undefined
  if (found instanceof Map) return found.get(name)
  return found.name === name ? found.found : undefined
}

/** What was found in an item, or in the value that became the only item of an array. */
export function foundItem(found: Found | undefined, index: number): Found | undefined {
  if (Array.isArray(found)) return found[index]
  return index === 0 ? found : undefined
}

/** What was found for the value itself, or for the only item of an array that became the value. */
export function foundInteger(found: Found | undefined): FoundInteger | undefined {
  const own = Array.isArray(found) ? found[0] : found
  return own !== undefined && !Array.isArray(own) && isInteger(own) ? own : undefined
}

function isInteger(found: FoundInteger | FoundMembers): found is FoundInteger {
  return 'standIn' in found
}
