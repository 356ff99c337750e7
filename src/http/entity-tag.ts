/** An entity tag (RFC 9110 §8.8.3). */
export interface EntityTag {
  /** Marked by `W/`: two representations that share the tag may differ in bytes (§8.8.1). */
  readonly weak: boolean
  /** What stands between the double quotes. */
  readonly opaque: string
}

const doubleQuote = 0x22

/** Longest list of entity tags that is read, in characters: as much as Node.js takes for a whole header section. */
export const longestEntityTagList = 16_384

/** Most entity tags that are read from one list. */
export const mostEntityTags = 1_000

/**
 * The value of `If-Match` or `If-None-Match`: `*`, or a list of entity tags (RFC 9110 §13.1.1, §13.1.2), with the
 * empty elements and the optional whitespace that §5.6.1 has recipients take. `null` for what is neither, a list with
 * `*` among others included, and beyond {@link longestEntityTagList} and {@link mostEntityTags}.
 */
export function parseEntityTags(fieldValue: string): '*' | EntityTag[] | null {
  const { length } = fieldValue
  if (length > longestEntityTagList) return null
  const tags: EntityTag[] = []
  let at = afterWhitespace(fieldValue, 0)
  if (fieldValue[at] === '*') return afterWhitespace(fieldValue, at + 1) === length ? '*' : null
  while (at < length) {
    if (fieldValue[at] !== ',') {
      const tag = entityTagAt(fieldValue, at)
      if (tag === null || tags.length === mostEntityTags) return null
      tags.push(tag)
      at = afterWhitespace(fieldValue, at + lengthOf(tag))
      if (at < length && fieldValue[at] !== ',') return null
    }
    at = afterWhitespace(fieldValue, at + 1)
  }
  return tags
}

/** The value of `ETag`: one entity tag, nothing around it; `null` for anything else. */
export function parseEntityTag(fieldValue: string): EntityTag | null {
  const tag = entityTagAt(fieldValue, 0)
  return tag !== null && lengthOf(tag) === fieldValue.length ? tag : null
}

/**
 * Whether a text is an entity tag, quotes included, and so can be sent as `ETag`: `"v7"` and `W/"v7"` are, `v7` is
 * not. Builds nothing.
 */
export function isEntityTag(text: string): boolean {
  const close = closingQuote(text, isMarkedWeak(text, 0) ? 2 : 0)
  return close !== -1 && close === text.length - 1
}

/**
 * An entity tag as `ETag` and the conditional fields write it.
 *
 * @throws TypeError for characters that a tag cannot have: controls, spaces, double quotes, what is beyond one byte
 */
export function formatEntityTag({ weak, opaque }: EntityTag): string {
  const text = weak ? `W/"${opaque}"` : `"${opaque}"`
  if (!isEntityTag(text)) {
    throw new TypeError(`an entity tag has characters that it cannot have: ${JSON.stringify(opaque)}`)
  }
  return text
}

/** Strong comparison (RFC 9110 §8.8.3.2): both are not weak, and the same character by character. */
export function strongMatch(one: EntityTag, other: EntityTag): boolean {
  return !one.weak && !other.weak && one.opaque === other.opaque
}

/** Weak comparison (RFC 9110 §8.8.3.2): the same character by character, whether marked as weak or not. */
export function weakMatch(one: EntityTag, other: EntityTag): boolean {
  return one.opaque === other.opaque
}

function entityTagAt(text: string, at: number): EntityTag | null {
  const weak = isMarkedWeak(text, at)
  const open = weak ? at + 2 : at
  const close = closingQuote(text, open)
  return close === -1 ? null : { weak, opaque: text.slice(open + 1, close) }
}

function lengthOf(tag: EntityTag): number {
  return tag.opaque.length + (tag.weak ? 4 : 2)
}

// §8.8.3: %s"W/" is case-sensitive.
function isMarkedWeak(text: string, at: number): boolean {
  return text.startsWith('W/', at)
}

/** Where the opaque tag ends that begins at `open`; -1 where none begins there. */
function closingQuote(text: string, open: number): number {
  if (text.charCodeAt(open) !== doubleQuote) return -1
  for (let at = open + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === doubleQuote) return at
    // §8.8.3: etagc = %x21 / %x23-7E / obs-text; Node.js hands each byte of obs-text over as one character.
    if (code < 0x21 || code === 0x7f || code > 0xff) return -1
  }
  return -1
}

function afterWhitespace(text: string, from: number): number {
  let at = from
  while (text[at] === ' ' || text[at] === '\t') at++
  return at
}
