import { timeOf } from '../../http/date-time.js'

/** Maximum number of items of a list that are read. */
const maxItems = 1_000

/** When a payload was last modified. */
export interface PayloadDate {
  /** To the second, in milliseconds since the epoch, and never later than now (RFC 9110 §8.8.2.1). */
  readonly time: number
  /** Whether it is the latest date of the items of a list, which does not change when an item leaves the list. */
  readonly isOfItems: boolean
}

/**
 * Returns when a payload was last modified, by a member of it such as `updated_at`: its own, or the latest of a list,
 * which is the payload itself or the only array in it (`{ "users": [...] }`).
 *
 * Returns `null` if that is not known: there is no such member, one item of the list has none, or a value is neither a
 * `Date` nor RFC 3339 text, or the list is empty, there are several lists, or more than 1,000 items. The date of some
 * items alone could be older than the change of another item.
 *
 * Reads own properties only.
 *
 * @param now milliseconds since the epoch
 */
export function payloadDate(payload: unknown, member: string, now: number): PayloadDate | null {
  try {
    if (!isObject(payload)) return null
    const isOfItems = !Object.hasOwn(payload, member)
    const items = !isOfItems ? [payload] : Array.isArray(payload) ? payload : onlyArray(payload)
    if (items === null || items.length > maxItems) return null
    const time = latestOf(items, now, (item) =>
      isObject(item) && Object.hasOwn(item, member) ? item[member] : undefined,
    )
    return time === null ? null : { time, isOfItems }
  } catch {
    // A getter of a member that the response schema may leave out.
    return null
  }
}

/**
 * Returns the latest of several times, each a `Date` or RFC 3339 text: to the second, in milliseconds since the epoch,
 * and never later than `now`. Returns `null` for no times, and if one of them is anything else.
 */
export function latestTime(times: readonly unknown[], now: number): number | null {
  return latestOf(times, now, (time) => time)
}

// Times of this form sort as text, to the second, so only the latest is parsed: 2 µs instead of 250 for 50 items.
const sortable =
  /^(?!0000)\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?Z$/

function latestOf(items: readonly unknown[], now: number, dateOf: (item: unknown) => unknown): number | null {
  let latest = Number.NEGATIVE_INFINITY
  let latestText = ''
  // Not `every`, which skips holes.
  for (const item of items) {
    const value = dateOf(item)
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

function onlyArray(payload: Readonly<Record<string, unknown>>): readonly unknown[] | null {
  const arrays = Object.values(payload).filter((value) => Array.isArray(value))
  return arrays.length === 1 ? (arrays[0] ?? null) : null
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
