import crypto from 'node:crypto'

/** Maximum length of a list of entity tags, in characters: that of a header section in Node.js. */
export const maxListLength = 16_384

/** Maximum number of entity tags in a list. */
export const maxListedTags = 1_000

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
 * anything else, such as `*` in a list, and beyond {@link maxListLength} and {@link maxListedTags}.
 */
export function parseEntityTags(fieldValue: string): '*' | readonly string[] | null {
  if (fieldValue.length > maxListLength) return null
  if (/^[ \t]*\*[ \t]*$/.test(fieldValue)) return '*'
  if (!wholeList.test(fieldValue)) return null
  const tags = fieldValue.match(anyTag) ?? []
  return tags.length > maxListedTags ? null : tags
}

/** Whether two entity tags match by strong comparison (RFC 9110 §8.8.3.2): equal, and neither is weak. */
export function strongMatch(one: string, other: string): boolean {
  return one === other && !isWeak(one)
}

/** Whether two entity tags match by weak comparison (RFC 9110 §8.8.3.2): equal but for `W/`. */
export function weakMatch(one: string, other: string): boolean {
  return one.slice(isWeak(one) ? 2 : 0) === other.slice(isWeak(other) ? 2 : 0)
}

/** Whether an entity tag is weak. */
export function isWeak(etag: string): boolean {
  return etag.startsWith('W/')
}

/** Returns an entity tag as it is, and any other text as a strong one (RFC 9110 §8.8.3). */
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

/**
 * Returns a strong entity tag of the bytes of a representation (RFC 9110 §8.8.3): equal for equal bytes, in all processes
 * and versions of the service. It is not secret and does not resist forged collisions.
 */
export function byteTag(bytes: string | Uint8Array): string {
  // 27 digits of Base64 are 20 bytes without padding.
  return `"${sha1(bytes).slice(0, 27)}"`
}

// Node.js 20.12 and later have `crypto.hash`, which costs half as much.
const sha1: (bytes: string | Uint8Array) => string =
  typeof crypto.hash === 'function' ? (bytes) => crypto.hash('sha1', bytes, 'base64') : sha1ByPieces

/** Returns the same digest on a Node.js without `crypto.hash`. */
export function sha1ByPieces(bytes: string | Uint8Array): string {
  return crypto.createHash('sha1').update(bytes).digest('base64')
}
