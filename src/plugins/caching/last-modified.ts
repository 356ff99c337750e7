import { utcDateTime } from '../../http/date-time.js'
import { isUtcText, utcTextTime } from '../../http/utc-text-time.js'

/**
 * When a payload was last modified, by a member of it such as `updated_at`: its own, or the latest of a list, which is
 * the payload itself or the only list in it (`{ "users": [...] }`). To the second, in milliseconds since the epoch, and
 * never later than `now` (RFC 9110 §8.8.2.1).
 *
 * `null` where that is not known: no such member, one item of the list without it or with something else than a `Date`
 * or RFC 3339 text, an empty list, several lists, or more than `limit` items. A date of some items alone could be
 * older than the change of another.
 *
 * Reads own properties only; at most `limit` items.
 */
export function latestModified(payload: unknown, member: string, limit: number, now: number): number | null {
  try {
    return latestOf(payload, member, limit, now)
  } catch {
    // A getter that throws: the serializer meets it, if the response schema has the member at all.
    return null
  }
}

function latestOf(payload: unknown, member: string, limit: number, now: number): number | null {
  if (!isObject(payload)) return null
  const latest = new Latest()
  if (Object.hasOwn(payload, member)) return latest.take(payload[member]) ? latest.upTo(now) : null
  const items = Array.isArray(payload) ? payload : onlyList(payload)
  if (items === null || items.length > limit) return null
  for (const item of items) {
    if (!isObject(item) || !Object.hasOwn(item, member) || !latest.take(item[member])) return null
  }
  return latest.upTo(now)
}

/**
 * The latest of several times, each a `Date` or RFC 3339 text; to the second, in milliseconds since the epoch, and never
 * later than `now`. `null` for none, and where one of them is something else.
 */
export function latestTime(times: readonly unknown[], now: number): number | null {
  const latest = new Latest()
  return times.every((time) => latest.take(time)) ? latest.upTo(now) : null
}

/** The latest of the times that it takes. */
class Latest {
  #time = Number.NEGATIVE_INFINITY
  #text = ''

  /** @returns whether it is a time. Of texts that sort by their time, only the latest is read, in {@link upTo}. */
  take(time: unknown): boolean {
    if (typeof time === 'string' && isUtcText(time)) {
      if (time > this.#text) this.#text = time
      return true
    }
    const read =
      time instanceof Date
        ? time.getTime()
        : typeof time === 'string'
          ? Date.parse(utcDateTime(time) ?? '')
          : Number.NaN
    if (read > this.#time) this.#time = read
    return !Number.isNaN(read)
  }

  /** To the second, and never later than `now`; `null` where there was none. */
  upTo(now: number): number | null {
    const read = this.#text === '' ? this.#time : Math.max(this.#time, utcTextTime(this.#text))
    return Number.isFinite(read) ? Math.floor(Math.min(read, now) / 1000) * 1000 : null
  }
}

/** Whether a payload says itself when it was modified, rather than by the items of a list in it. */
export function isDated(payload: unknown, member: string): boolean {
  return isObject(payload) && Object.hasOwn(payload, member)
}

function onlyList(payload: Readonly<Record<string, unknown>>): readonly unknown[] | null {
  const lists = Object.values(payload).filter((value) => Array.isArray(value))
  return lists.length === 1 ? (lists[0] ?? null) : null
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
