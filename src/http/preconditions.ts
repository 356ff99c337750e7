import { isEntityTag, parseEntityTag, parseEntityTags, strongMatch, weakMatch } from './entity-tag.js'
import { parseHttpDate } from './http-date.js'

/** What is known of the selected representation before the method is performed (RFC 9110 §8.8). */
export interface Validators {
  /**
   * Is there a current representation of the target resource? `true` by default; `false` makes the other members
   * count for nothing.
   */
  readonly exists?: boolean | undefined
  /** Entity tag, as `ETag` has it. What is no entity tag matches none. */
  readonly etag?: string | undefined
  /** Modification date, in milliseconds since the epoch; the fraction of a second is cut off, as `Last-Modified` does. */
  readonly lastModified?: number | undefined
}

/** Header fields of a request, by their names in lowercase, as Node.js has them. */
export type RequestFields = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * What the preconditions of a request come to: perform the method (`proceed`), answer 304 (`not-modified`), or answer
 * 412 (`precondition-failed`).
 */
export type PreconditionVerdict = 'proceed' | 'not-modified' | 'precondition-failed'

/**
 * Evaluates the preconditions of a request as an origin server has to: RFC 9110 §13.2.2, step by step.
 *
 * The caller keeps §13.2.1: preconditions count only where the same request without them would be answered by a 2xx or
 * 412 (see {@link preconditionsCount}).
 *
 * What the RFC leaves open, settled on the side of not losing anything:
 * - `If-Match` that is neither `*` nor a list fails: §13.1.1 ends with "Otherwise, the condition is false".
 * - `If-None-Match` that is neither does not make a GET or HEAD a 304: a full answer is always right. Any other method
 *   is not performed: how to treat an invalid field is the recipient's choice (§2.4), and whoever sent it asked not to
 *   overwrite something. Two lines `If-None-Match: *` come as such a value, `*, *`.
 * - A date that is no HTTP-date is ignored (§13.1.3, §13.1.4), and so is one without a date to compare it to.
 *
 * Node.js joins repeated lines of `If-Match` and `If-None-Match` by a comma, as §5.3 allows for lists. Of repeated
 * `If-Modified-Since` and `If-Unmodified-Since` it keeps the first, though §13.1.3 and §13.1.4 have a list of dates
 * ignored; give an array (`headersDistinct` of the message) to keep to the letter.
 *
 * @param method as sent; methods are case-sensitive (§9.1)
 * @param now milliseconds since the epoch, for years of two digits; the current time by default
 */
export function evaluatePreconditions(
  method: string,
  fields: RequestFields,
  validators: Validators,
  now?: number,
): PreconditionVerdict {
  // §13.2.1: methods that neither select nor modify a representation.
  if (method === 'OPTIONS' || method === 'TRACE' || method === 'CONNECT') return 'proceed'
  const reads = method === 'GET' || method === 'HEAD'

  const ifMatch = listOf(fields['if-match'])
  if (ifMatch !== undefined) {
    // Step 1.
    if (!ifMatchHolds(ifMatch, validators)) return 'precondition-failed'
  } else {
    // Step 2; §13.1.4: ignored beside If-Match.
    const since = dateOf(fields['if-unmodified-since'], now)
    const modified = since === null ? null : modificationDate(validators)
    if (since !== null && modified !== null && modified > since) return 'precondition-failed'
  }

  const ifNoneMatch = listOf(fields['if-none-match'])
  if (ifNoneMatch !== undefined) {
    // Step 3.
    const holds = ifNoneMatchHolds(ifNoneMatch, validators)
    if (holds === null) return reads ? 'proceed' : 'precondition-failed'
    if (!holds) return reads ? 'not-modified' : 'precondition-failed'
  } else if (reads) {
    // Step 4; §13.1.3: ignored beside If-None-Match, and for other methods.
    const since = dateOf(fields['if-modified-since'], now)
    const modified = since === null ? null : modificationDate(validators)
    if (since !== null && modified !== null && modified <= since) return 'not-modified'
  }
  // Step 5 is about the Range field, which this package does not serve. Step 6.
  return 'proceed'
}

/**
 * Whether an answer of this status to a GET or HEAD carries the selected representation, or a part of it: 200, 203 and
 * 206 (RFC 9110 §15.3.1, §15.3.4, §15.3.7). Preconditions are about that representation and count for no other answer:
 * a 202 says that it is not there yet, and redirects and failures take precedence (§13.2.1).
 */
export function carriesRepresentation(status: number): boolean {
  return status === 200 || status === 203 || status === 206
}

/**
 * The modification date to the second, as `Last-Modified` tells it (RFC 9110 §8.8.2); `null` where there is none, and
 * where there is no representation.
 */
export function modificationDate({ exists, lastModified }: Validators): number | null {
  if (exists === false || lastModified === undefined || !Number.isFinite(lastModified)) return null
  return Math.floor(lastModified / 1000) * 1000
}

/** RFC 9110 §13.1.1. */
function ifMatchHolds(fieldValue: string, { exists, etag }: Validators): boolean {
  if (exists === false) return false
  if (fieldValue === etag && isEntityTag(etag)) return etag.startsWith('"')
  const listed = parseEntityTags(fieldValue)
  if (listed === '*') return true
  const current = etag === undefined ? null : parseEntityTag(etag)
  if (listed === null || current === null) return false
  return listed.some((tag) => strongMatch(tag, current))
}

/** RFC 9110 §13.1.2; `null` where the field value is neither `*` nor a list. */
function ifNoneMatchHolds(fieldValue: string, { exists, etag }: Validators): boolean | null {
  if (fieldValue === etag && isEntityTag(etag)) return exists === false
  const listed = parseEntityTags(fieldValue)
  if (listed === null) return null
  if (exists === false) return true
  if (listed === '*') return false
  const current = etag === undefined ? null : parseEntityTag(etag)
  return current === null || !listed.some((tag) => weakMatch(tag, current))
}

function listOf(field: string | readonly string[] | undefined): string | undefined {
  return field === undefined || typeof field === 'string' ? field : field.join(', ')
}

function dateOf(field: string | readonly string[] | undefined, now: number | undefined): number | null {
  if (field === undefined) return null
  if (typeof field === 'string') return parseHttpDate(field, now)
  const [only, ...others] = field
  return only === undefined || others.length > 0 ? null : parseHttpDate(only, now)
}
