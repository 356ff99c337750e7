import crypto from 'node:crypto'
import { timeOf } from '../../http/dates.js'

// RFC 9110 §8.8.3: etagc = %x21 / %x23-7E / obs-text. Node.js gives each byte of obs-text as one character.
const tag = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"'
const element = `[ \\t]*(?:${tag}[ \\t]*)?`
const wholeTag = new RegExp(`^${tag}$`)
const anyTag = new RegExp(tag, 'g')
const wholeList = new RegExp(`^${element}(?:,${element})*$`)

/** Whether a text is an entity tag, such as `"v7"` or `W/"v7"` (RFC 9110 §8.8.3). */
export function isEntityTag(text: string): boolean {
  return wholeTag.test(text)
}

/**
 * Returns the value of `If-Match` or `If-None-Match` (RFC 9110 §13.1.1, §13.1.2): `*`, or its entity tags; `null` for
 * anything else, such as `*` in a list.
 */
export function parseEntityTags(fieldValue: string): '*' | readonly string[] | null {
  if (/^[ \t]*\*[ \t]*$/.test(fieldValue)) return '*'
  return wholeList.test(fieldValue) ? (fieldValue.match(anyTag) ?? []) : null
}

/** Returns an entity tag as it is, and any other text as a strong one. @throws TypeError */
export function entityTagOf(text: string): string {
  const etag = isEntityTag(text) ? text : `"${text}"`
  if (!isEntityTag(etag) || /[^\x20-\x7e]/.test(etag)) {
    throw new TypeError(
      `an entity tag has visible ASCII characters and no quotes, received ${JSON.stringify(text)}`,
    )
  }
  return etag
}

/**
 * Returns the strong entity tag of a version, percent-encoded if a tag cannot have a character of it, as with the space
 * in a time of a database. Different versions have different tags.
 *
 * @throws URIError for a lone surrogate
 */
export function tagOfVersion(version: string): string {
  return /[^\x21\x23\x24\x26-\x7e]/.test(version) ? `"${encodeURIComponent(version)}"` : `"${version}"`
}

/** Returns a strong entity tag of bytes, the same in all processes. It does not resist forged collisions. */
export function byteTag(bytes: string | Uint8Array): string {
  // 27 digits of Base64 are 20 bytes without padding.
  return `"${sha1(bytes).slice(0, 27)}"`
}

// Node.js 20.12 and later have `crypto.hash`, which costs half as much.
const sha1: (bytes: string | Uint8Array) => string =
  typeof crypto.hash === 'function'
    ? (bytes) => crypto.hash('sha1', bytes, 'base64')
    : (bytes) => crypto.createHash('sha1').update(bytes).digest('base64')

/** Returns the entity tag of a representation in a content coding; a weak one is that of all codings. */
export function codedTag(etag: string, coding: string): string {
  return etag.startsWith('"') ? `${etag.slice(0, -1)}--${coding}"` : etag
}

/** Maximum number of items of a list that are read. */
const maxItems = 1_000

/**
 * Returns when a payload was last modified, by a member of it such as `updated_at`: its own, or the latest of a list,
 * which is the payload itself or the only array in it (`{ "users": [...] }`).
 *
 * Returns `null` if that is not known: an item has no valid date, the list is empty or has more than 1,000 items, or there
 * are several. The date of some items alone could be older than the change of another item. `isOfItems` tells a date of
 * items, which does not change when an item leaves the list.
 */
export function payloadDate(payload: unknown, member: string, now: number) {
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
