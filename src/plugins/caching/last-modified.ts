import { timeOf } from '../../http/dates.js'

/** Maximum number of items of a list that are read. */
const maxItems = 1_000

/** When a payload was last modified. */
export interface PayloadDate {
  /** To the second, in milliseconds since the epoch, and never later than now (RFC 9110 §8.8.2.1). */
  readonly lastModified: number
  /** Whether it is the latest date of the items of a list, which does not change when an item leaves the list. */
  readonly isOfItems: boolean
}

/**
 * Returns when a payload was last modified, by a member of it such as `updated_at`: its own, or the latest of a list,
 * which is the payload itself or the only array in it (`{ "users": [...] }`).
 *
 * Returns `null` if that is not known: an item has no valid date, the list is empty or has more than 1,000 items, or there
 * are several. The date of some items alone could be older than the change of another item.
 */
export function payloadDate(payload: unknown, member: string, now: number): PayloadDate | null {
  if (typeof payload !== 'object' || payload === null) return null
  try {
    const isOfItems = !Object.hasOwn(payload, member)
    const items = isOfItems ? listIn(payload) : [payload]
    if (items === null || items.length > maxItems) return null
    const lastModified = latestTime(items, now, member)
    return lastModified === null ? null : { lastModified, isOfItems }
  } catch {
    // A getter of a member that the response schema may leave out.
    return null
  }
}

function listIn(payload: object): readonly unknown[] | null {
  if (Array.isArray(payload)) return payload
  const arrays = Object.values(payload).filter((value) => Array.isArray(value))
  return arrays.length === 1 ? (arrays[0] ?? null) : null
}

// Times of this form sort as text, to the second, so only the latest is parsed: 2 µs instead of 250 for 50 items.
const sortable =
  /^(?!0000)\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?Z$/

/**
 * Returns the latest of several times, each a `Date` or RFC 3339 text, or of that member of each item: to the second, and
 * never later than now. Returns `null` for no times, and if one of them is anything else.
 */
export function latestTime(items: readonly unknown[], now: number, member?: string): number | null {
  let latest = Number.NEGATIVE_INFINITY
  let latestText = ''
  // Not `every`, which skips holes.
  for (const item of items) {
    const value = member === undefined ? item : ownMember(item, member)
    if (typeof value === 'string' && sortable.test(value)) {
      if (value > latestText) latestText = value
      continue
    }
    const time = timeOf(value)
    if (time === null) return null
    latest = Math.max(latest, time)
  }
  if (latestText !== '') latest = Math.max(latest, Date.parse(latestText))
  return Number.isFinite(latest) ? Math.floor(Math.min(latest, now) / 1000) * 1000 : null
}

function ownMember(item: unknown, member: string): unknown {
  const isObject = typeof item === 'object' && item !== null
  return isObject && Object.hasOwn(item, member) ? (item as Record<string, unknown>)[member] : undefined
}
