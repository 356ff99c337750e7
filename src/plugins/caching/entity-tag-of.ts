import { formatEntityTag, isEntityTag } from '../../http/entity-tag.js'

/**
 * An entity tag as it is, or a strong one with the text between its quotes (RFC 9110 §8.8.3).
 *
 * @throws TypeError for characters that an entity tag cannot have, and for those beyond ASCII: Node.js sends these in
 * one encoding with a body and in another without, and so the tag that comes back would not be the one that was sent
 */
export function entityTagOf(text: string): string {
  if (beyondAscii.test(text)) {
    throw new TypeError(`an entity tag has characters beyond ASCII: ${JSON.stringify(text)}`)
  }
  return isEntityTag(text) ? text : formatEntityTag({ weak: false, opaque: text })
}

/**
 * The strong entity tag of a version, whatever is in it: a time as a database writes it has a space, which no tag can
 * have. Different versions have different tags.
 *
 * @throws URIError for half a surrogate pair
 */
export function tagOfVersion(version: string): string {
  const tag = `"${version}"`
  return isEntityTag(tag) && !encoded.test(version) ? tag : `"${encodeURIComponent(version)}"`
}

const beyondAscii = /[^\x20-\x7e]/
const encoded = /[^\x21-\x24\x26-\x7e]/
