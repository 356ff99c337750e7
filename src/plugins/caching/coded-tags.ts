// Content codings that plugins apply to what a handler answers (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
const codings = ['br', 'deflate', 'gzip', 'zstd'] as const

/**
 * The entity tag of a representation once it has a content coding: a strong tag stands for bytes, and these are others
 * (RFC 9110 §8.8.3.3). A weak tag holds for both.
 */
export function codedTag(etag: string, coding: string): string {
  return etag.startsWith('"') ? `${etag.slice(0, -1)}--${coding}"` : etag
}

/**
 * A list of entity tags in which those that {@link codedTag} makes of a tag are the tag itself.
 *
 * @param isTaken the codings that may stand for it; all of them by default
 */
export function uncodedTags(fieldValue: string, etag: string, isTaken = (_coding: string) => true): string {
  if (!fieldValue.includes('--')) return fieldValue
  // A function: `$` is a character like others in a tag.
  return codings.reduce(
    (value, coding) => (isTaken(coding) ? value.replaceAll(codedTag(etag, coding), () => etag) : value),
    fieldValue,
  )
}

/**
 * The form of a tag in which a list of entity tags names it: with a coding where the caller has it so, else as it is.
 *
 * @param isTaken the codings that may stand for it; all of them by default
 */
export function tagAsNamed(etag: string, fieldValue: string, isTaken = (_coding: string) => true): string {
  if (!fieldValue.includes('--') || fieldValue.includes(etag)) return etag
  const coding = codings.find((one) => isTaken(one) && fieldValue.includes(codedTag(etag, one)))
  return coding === undefined ? etag : codedTag(etag, coding)
}

/**
 * Does an `Accept-Encoding` name a content coding as acceptable (RFC 9110 §12.5.3)? Without the header none is applied,
 * and so a caller has none.
 */
export function acceptsCoding(acceptEncoding: string | undefined, coding: string): boolean {
  const weights = new Map<string, boolean>()
  for (const member of (acceptEncoding ?? '').toLowerCase().split(',')) {
    const [name = '', weight = ''] = member.split(';', 2)
    weights.set(name.trim(), !refused.test(weight))
  }
  return weights.get(coding) ?? weights.get('*') ?? false
}

const refused = /^\s*q\s*=\s*0(?:\.0*)?\s*$/
