// Content codings that plugins apply to what a handler answers (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
const codings = ['br', 'deflate', 'gzip', 'zstd'] as const

/**
 * The entity tag of a representation once it has a content coding: a strong tag stands for bytes, and these are others
 * (RFC 9110 §8.8.3.3). A weak tag holds for both.
 */
export function codedTag(etag: string, coding: string): string {
  return etag.startsWith('"') ? `${etag.slice(0, -1)}--${coding}"` : etag
}

/** A list of entity tags in which those that {@link codedTag} makes of a tag are the tag itself. */
export function uncodedTags(fieldValue: string, etag: string): string {
  if (!fieldValue.includes('--')) return fieldValue
  return codings.reduce((value, coding) => value.replaceAll(codedTag(etag, coding), etag), fieldValue)
}

/** The form of a tag in which a list of entity tags names it: with a coding where the caller has it so, else as it is. */
export function tagAsNamed(etag: string, fieldValue: string): string {
  if (!fieldValue.includes('--') || fieldValue.includes(etag)) return etag
  const coding = codings.find((one) => fieldValue.includes(codedTag(etag, one)))
  return coding === undefined ? etag : codedTag(etag, coding)
}
