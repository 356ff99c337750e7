import type { IncomingHttpHeaders } from 'node:http'
import type { RequestFields } from '../../http/field-name.js'
import { parseHttpDate } from '../../http/http-date.js'
import { acceptsCoding, listedForm, plainTags, uncodedTags } from './compression.js'
import { isEntityTag, isWeak, parseEntityTags, strongMatch, weakMatch } from './entity-tag.js'

/** The validators of the selected representation before the method is performed (RFC 9110 §8.8). */
export interface Validators {
  /** Whether there is a current representation of the target resource. If `false`, the other members are ignored. */
  readonly exists?: boolean | undefined
  /** Entity tag, as in `ETag`. Any other text matches no tag. */
  readonly etag?: string | undefined
  /** Modification date, in milliseconds since the epoch; fractions of a second are ignored, as `Last-Modified` has none. */
  readonly lastModified?: number | undefined
}

/** The request that preconditions are evaluated for; a Fastify request is one. */
export interface ConditionalRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** Who sends it, if something in the app found out. */
  readonly caller?: unknown
  readonly raw: { readonly headersDistinct?: Readonly<Record<string, readonly string[] | undefined>> }
}

/**
 * The result of preconditions: perform the method (`proceed`), answer 304 (`not-modified`), or answer 412
 * (`precondition-failed`).
 */
export type PreconditionVerdict = 'proceed' | 'not-modified' | 'precondition-failed'

/** Whether a method reads: `GET` or `HEAD`. */
export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Whether a request has a precondition that an origin server evaluates (RFC 9110 §13.1.1–§13.1.4). */
export function isConditional(fields: RequestFields): boolean {
  return hasWritePrecondition(fields) || fields['if-modified-since'] !== undefined
}

/** Whether a request has a precondition that counts for a write. */
export function hasWritePrecondition(fields: RequestFields): boolean {
  return namesTags(fields) || fields['if-unmodified-since'] !== undefined
}

/** Whether a request has a precondition with entity tags. */
export function namesTags(fields: RequestFields): boolean {
  return fields['if-none-match'] !== undefined || fields['if-match'] !== undefined
}

/**
 * Whether a response with this status to a GET or HEAD has the selected representation, or a part of it: 200, 203 and
 * 206 (RFC 9110 §15.3.1, §15.3.4, §15.3.7). Preconditions are evaluated for no other response (§13.2.1).
 */
export function hasRepresentation(status: number): boolean {
  return status === 200 || status === 203 || status === 206
}

/** Evaluates the preconditions of a request. Tags with a content coding count as the tag of the uncoded content. */
export function evaluateRequest(
  { method, headers, raw }: ConditionalRequest,
  validators: Validators,
  now: number,
): PreconditionVerdict {
  const { etag } = validators
  // Of a repeated date, `headers` has the first only, but such a field is ignored (RFC 9110 §13.1.3, §13.1.4).
  const dates = (name: 'if-modified-since' | 'if-unmodified-since') =>
    headers[name] === undefined ? undefined : (raw.headersDistinct?.[name] ?? headers[name])
  const fields = {
    'if-match': uncoded(headers['if-match'], etag, isRead(method) ? uncodedTags : plainTags),
    'if-none-match': uncoded(headers['if-none-match'], etag, (tags, tag) =>
      uncodedTags(tags, tag, codingsOf(headers)),
    ),
    'if-modified-since': dates('if-modified-since'),
    'if-unmodified-since': dates('if-unmodified-since'),
  }
  return evaluatePreconditions(method, fields, validators, now)
}

function uncoded(
  tags: string | undefined,
  etag: string | undefined,
  replace: (tags: string, etag: string) => string,
): string | undefined {
  return tags === undefined || etag === undefined ? tags : replace(tags, etag)
}

/** Returns the entity tag of a 304: the form by which the client has it, with a content coding or without. */
export function tagOfNotModified(headers: IncomingHttpHeaders, etag: string): string {
  return listedForm(etag, headers['if-none-match'] ?? '', codingsOf(headers))
}

// A cache sends the tags of all that it stored (RFC 9111 §4.3.1), also of codings that this client does not accept.
function codingsOf(headers: IncomingHttpHeaders): (coding: string) => boolean {
  return (coding) => acceptsCoding(headers['accept-encoding']?.toString(), coding)
}

/** Evaluates preconditions in the order of RFC 9110 §13.2.2. */
export function evaluatePreconditions(
  method: string,
  fields: RequestFields,
  validators: Validators,
  now?: number,
): PreconditionVerdict {
  // §13.2.1: methods that neither select nor modify a representation.
  if (method === 'OPTIONS' || method === 'TRACE' || method === 'CONNECT') return 'proceed'
  const reads = isRead(method)

  const ifMatch = textOf(fields['if-match'])
  if (ifMatch !== undefined) {
    // Step 1.
    if (!ifMatchHolds(ifMatch, validators)) return 'precondition-failed'
  } else {
    // Step 2; §13.1.4: ignored beside If-Match.
    const since = dateOf(fields['if-unmodified-since'], now)
    const modified = modifiedAt(validators)
    if (since !== null && modified !== null) {
      // §8.8.2.2: within the same second the resource may change again, and a date would not tell the two apart.
      const isWeak = !reads && now !== undefined && now < modified + 1000
      if (isWeak || modified > since) return 'precondition-failed'
    }
  }

  const ifNoneMatch = textOf(fields['if-none-match'])
  if (ifNoneMatch !== undefined) {
    // Step 3.
    const holds = ifNoneMatchHolds(ifNoneMatch, validators)
    if (holds === null) return reads ? 'proceed' : 'precondition-failed'
    if (!holds) return reads ? 'not-modified' : 'precondition-failed'
  } else if (reads) {
    // Step 4; §13.1.3: ignored beside If-None-Match, and for other methods.
    const since = dateOf(fields['if-modified-since'], now)
    const modified = modifiedAt(validators)
    if (since !== null && modified !== null && modified <= since) return 'not-modified'
  }
  // Step 5 is about Range, which this package does not serve. Step 6.
  return 'proceed'
}

function modifiedAt({ exists, lastModified }: Validators): number | null {
  if (exists === false || lastModified === undefined || !Number.isFinite(lastModified)) return null
  return Math.floor(lastModified / 1000) * 1000
}

/** RFC 9110 §13.1.1. */
function ifMatchHolds(fieldValue: string, { exists, etag }: Validators): boolean {
  if (exists === false) return false
  if (fieldValue === etag && isEntityTag(etag)) return !isWeak(etag)
  const listed = parseEntityTags(fieldValue)
  if (listed === '*') return true
  if (listed === null || etag === undefined || !isEntityTag(etag)) return false
  return listed.some((tag) => strongMatch(tag, etag))
}

/** RFC 9110 §13.1.2; `null` if the field value is neither `*` nor a list. */
function ifNoneMatchHolds(fieldValue: string, { exists, etag }: Validators): boolean | null {
  if (fieldValue === etag && isEntityTag(etag)) return exists === false
  const listed = parseEntityTags(fieldValue)
  if (listed === null) return null
  if (exists === false) return true
  if (listed === '*') return false
  return etag === undefined || !isEntityTag(etag) || !listed.some((tag) => weakMatch(tag, etag))
}

function textOf(field: string | readonly string[] | undefined): string | undefined {
  return field === undefined || typeof field === 'string' ? field : field.join(', ')
}

function dateOf(field: string | readonly string[] | undefined, now: number | undefined): number | null {
  const [date, ...others] = [field ?? []].flat()
  return date === undefined || others.length > 0 ? null : parseHttpDate(date, now)
}

/** The `detail` of a 428. */
export const howToGuard = 'Send If-Match with the ETag of what was read, or If-None-Match: * to create'

/** Returns the `detail` of a 412: what failed, and what to do. */
export function failureDetail({
  'if-match': match,
  'if-none-match': noneMatch,
}: IncomingHttpHeaders): string {
  if (match !== undefined) {
    const tags = parseEntityTags(match)
    if (tags === null) return `If-Match ${listExpected}`
    if (tags !== '*' && tags.every(isWeak))
      return 'If-Match compares strong entity tags; one that begins with W/ never matches (RFC 9110 §13.1.1)'
    return 'If-Match does not name the current representation: read it again'
  }
  if (noneMatch !== undefined) {
    if (parseEntityTags(noneMatch) === null) return `If-None-Match ${listExpected}`
    return 'If-None-Match names what exists already'
  }
  return 'It was modified since, or less than a second ago: read it again, and send its ETag in If-Match'
}

const listExpected =
  'must be * or a list of entity tags, each in double quotes as in ETag, such as "v7" (RFC 9110 §8.8.3)'
