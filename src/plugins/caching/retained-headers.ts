/**
 * Header fields that a 304 always leaves out, in lowercase: representation metadata that §15.4.5 of RFC 9110 does not
 * list, and what frames a content that a 304 does not have.
 *
 * - `Content-Type`, `Content-Encoding`, `Content-Language` (§8.3–8.5) and `Content-Disposition` (RFC 6266): the cache
 *   has them already.
 * - `Content-Length` (§8.6): might only be sent with the length of the 200, which is not known where nothing was
 *   serialized; `0` would be wrong.
 * - `Content-Range` (§14.4): belongs to 206 and 416.
 * - `Content-Digest`, `Repr-Digest` (RFC 9530), `Digest` and `Content-MD5`, which these replace: of content.
 * - `Transfer-Encoding` and `Trailer` (RFC 9112 §6.1, RFC 9110 §6.6.2): of content.
 */
export const droppedFrom304: ReadonlySet<string> = new Set([
  'content-type',
  'content-encoding',
  'content-language',
  'content-disposition',
  'content-length',
  'content-range',
  'content-digest',
  'repr-digest',
  'digest',
  'content-md5',
  'transfer-encoding',
  'trailer',
])

/**
 * Is a header field of the 200 to be left out of the 304 that stands for it (RFC 9110 §15.4.5)? `Last-Modified` stays
 * only where it is what guides cache updates: without an `ETag`. What is no representation metadata stays: CORS, rate
 * limits, `Link`, security headers, cookies, and whatever the service has of its own.
 *
 * @param name in lowercase
 * @param hasEtag has the response an `ETag`?
 */
export function isDroppedFrom304(name: string, hasEtag: boolean): boolean {
  return droppedFrom304.has(name) || (hasEtag && name === 'last-modified')
}
