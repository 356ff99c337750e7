import { utcDateTime } from '../../representation/date-time.js'
import { utcTextTime } from './utc-text-time.js'

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

  /** @returns is it a time? Of texts that look like UTC only the latest is read, in {@link upTo}. */
  take(time: unknown): boolean {
    // Texts in UTC are in the order of their times, up to the second that counts: one has to be read, not all.
    if (typeof time === 'string' && looksLikeUtc(time)) {
      if (time > this.#text) this.#text = time
      return true
    }
    const read =
      time instanceof Date ? time.getTime() : typeof time === 'string' ? readText(time) : Number.NaN
    if (read > this.#time) this.#time = read
    return !Number.isNaN(read)
  }

  /** To the second, and never later than `now`; `null` where there was none, or the latest text is no time. */
  upTo(now: number): number | null {
    const read = this.#text === '' ? this.#time : Math.max(this.#time, readText(this.#text))
    return Number.isFinite(read) ? Math.floor(Math.min(read, now) / 1000) * 1000 : null
  }
}

const letterZ = 0x5a

// 2026-11-20T08:00:00Z, 2026-11-20T08:00:00.000Z
function looksLikeUtc(text: string): boolean {
  const { length } = text
  return (length === 20 || length === 24) && text.charCodeAt(length - 1) === letterZ
}

function readText(text: string): number {
  const time = utcTextTime(text)
  return Number.isNaN(time) ? Date.parse(utcDateTime(text) ?? '') : time
}

function onlyList(payload: Readonly<Record<string, unknown>>): readonly unknown[] | null {
  const lists = Object.values(payload).filter((value) => Array.isArray(value))
  return lists.length === 1 ? (lists[0] ?? null) : null
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
