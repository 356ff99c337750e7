import { utcDateTime } from '../../representation/date-time.js'

const utcText = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/

/**
 * When a payload was last modified, by a member of it such as `updated_at`: its own, or the latest of a list, which is
 * the payload itself or the only list in it (`{ "users": [...] }`). To the second, in milliseconds since the epoch, and
 * never later than `now` (RFC 9110 §8.8.2.1).
 *
 * `null` where that is not known: no such member, one item of the list without it or with something else than a `Date`
 * or RFC 3339 text, an empty list, several lists, or more than `limit` items. A date of some items alone could be
 * older than the change of another, and a 304 for it would be wrong.
 *
 * Reads own properties only; at most `limit` items.
 */
export function latestModified(payload: unknown, member: string, limit: number, now: number): number | null {
  if (!isObject(payload)) return null
  if (Object.hasOwn(payload, member)) return latestTime([payload[member]], now)
  const items = Array.isArray(payload) ? payload : onlyList(payload)
  if (items === null || items.length > limit) return null
  const times: unknown[] = []
  for (const item of items) {
    if (!isObject(item) || !Object.hasOwn(item, member)) return null
    times.push(item[member])
  }
  return latestTime(times, now)
}

/**
 * The latest of several times, each a `Date` or RFC 3339 text; to the second, in milliseconds since the epoch, and never
 * later than `now`. `null` for none, and where one of them is something else.
 */
export function latestTime(times: readonly unknown[], now: number): number | null {
  let latest = Number.NEGATIVE_INFINITY
  let latestText = ''
  for (const time of times) {
    if (typeof time === 'string' && utcText.test(time)) {
      // Texts in UTC are in the order of their times, up to the second that counts: one has to be read, not all.
      if (time > latestText) latestText = time
      continue
    }
    const read =
      time instanceof Date ? time.getTime() : typeof time === 'string' ? readText(time) : Number.NaN
    if (Number.isNaN(read)) return null
    latest = Math.max(latest, read)
  }
  if (latestText !== '') latest = Math.max(latest, readText(latestText))
  return Number.isFinite(latest) ? Math.floor(Math.min(latest, now) / 1000) * 1000 : null
}

function readText(text: string): number {
  return Date.parse(utcDateTime(text) ?? '')
}

function onlyList(payload: Readonly<Record<string, unknown>>): readonly unknown[] | null {
  const lists = Object.values(payload).filter((value) => Array.isArray(value))
  return lists.length === 1 ? (lists[0] ?? null) : null
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
