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
export type Found = FoundInteger | FoundWithin
export type FoundWithin = ReadonlyMap<string | number, Found>

/** What was found for the value itself; for an array of one that became its item too. */
export function integerOf(found: Found | undefined): FoundInteger | undefined {
  const own = found instanceof Map ? found.get(0) : found
  return own instanceof Map ? undefined : (own as FoundInteger | undefined)
}

/** What was found for an item; for an item that became an array too. */
export function ofItem(found: Found | undefined, index: number): Found | undefined {
  if (found instanceof Map) return found.get(index)
  return index === 0 ? found : undefined
}

/** What was found for a member. */
export function ofMember(found: Found | undefined, name: string): Found | undefined {
  return found instanceof Map ? found.get(name) : undefined
}
