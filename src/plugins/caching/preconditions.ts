import type { IncomingHttpHeaders } from 'node:http'
import { isRead } from '../../convention/exchange.js'
import { otherFormats, tagOfFormat } from '../../convention/selection.js'
import { parseHttpDate, timeOf } from '../../http/dates.js'
import { firstMembers, isRepeated, memberParts } from '../../http/header-fields.js'

/** The validators of the current representation (RFC 9110 §8.8). */
export interface Validators {
  readonly etag?: string | undefined
  /** Modification date, in milliseconds since the epoch; fractions of a second are ignored, as `Last-Modified` has none. */
  readonly lastModified?: number | undefined
}

interface ConditionalRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly raw: { readonly rawHeaders: readonly string[] }
}

/** Perform the method (`proceed`), answer 304 (`not-modified`), or answer 412 (`precondition-failed`). */
export type PreconditionVerdict = 'proceed' | 'not-modified' | 'precondition-failed'

/** Whether a request has a precondition that an origin server evaluates (RFC 9110 §13.1.1–§13.1.4). */
export function isConditional({ method, headers }: ConditionalRequest): boolean {
  return (
    namesTags(headers) ||
    headers['if-unmodified-since'] !== undefined ||
    (headers['if-modified-since'] !== undefined && isRead(method))
  )
}

/** Whether a write has no precondition but a date that is invalid, or with which no date compares (RFC 9110 §13.1.4). */
export function ignoresDate(
  request: ConditionalRequest,
  validators: Validators | null,
  now: number,
): boolean {
  const isDated = validators?.lastModified !== undefined
  return !namesTags(request.headers) && (!isDated || dateOf(request, 'if-unmodified-since', now) === null)
}

export function hasCredentials({ headers }: Pick<ConditionalRequest, 'headers'>): boolean {
  return headers.authorization !== undefined || headers.cookie !== undefined
}

export function namesTags(headers: IncomingHttpHeaders): boolean {
  return headers['if-none-match'] !== undefined || headers['if-match'] !== undefined
}

/**
 * Evaluates preconditions in the order of RFC 9110 §13.2.2.
 *
 * @param validators those of the current representation; `null` if there is none
 */
export function evaluatePreconditions(
  request: ConditionalRequest,
  validators: Validators | null,
  now: number,
): PreconditionVerdict {
  const { method, headers } = request
  // §13.2.1: methods that neither select nor modify a representation.
  if (method === 'OPTIONS' || method === 'TRACE' || method === 'CONNECT') return 'proceed'
  const reads = isRead(method)
  const modified = validators?.lastModified
  const second = modified === undefined ? undefined : Math.floor(modified / 1000) * 1000

  if (headers['if-match'] !== undefined) {
    // Step 1.
    if (!ifMatchHolds(request, headers['if-match'], validators)) return 'precondition-failed'
  } else if (second !== undefined) {
    // Step 2; §13.1.4: ignored beside If-Match.
    const since = dateOf(request, 'if-unmodified-since', now)
    // §8.8.2.2: within the same second the resource may change again, and a date would not tell the two apart.
    const isWeakDate = !reads && now < second + 1000
    if (since !== null && (isWeakDate || second > since)) return 'precondition-failed'
  }

  if (headers['if-none-match'] !== undefined) {
    // Step 3.
    const holds = ifNoneMatchHolds(request, headers['if-none-match'], validators)
    if (reads) return holds === false ? 'not-modified' : 'proceed'
    return holds === true ? 'proceed' : 'precondition-failed'
  }
  if (reads && second !== undefined) {
    // Step 4; §13.1.3: ignored beside If-None-Match, and for other methods.
    const since = dateOf(request, 'if-modified-since', now)
    if (since !== null && second <= since) return 'not-modified'
  }
  // Step 5 is about Range, which this package does not serve. Step 6.
  return 'proceed'
}

/** RFC 9110 §13.1.1: by strong comparison. */
function ifMatchHolds(request: ConditionalRequest, field: string, validators: Validators | null): boolean {
  const listed = parseEntityTags(field)
  if (validators === null || listed === '*') return validators !== null
  if (listed === null || validators.etag === undefined) return false
  const forms = formsOf(request, validators.etag)
  return listed.some((tag) => !tag.startsWith('W/') && forms.includes(tag))
}

/** RFC 9110 §13.1.2: by weak comparison. Returns `null` if the field value is neither `*` nor a list. */
function ifNoneMatchHolds(
  request: ConditionalRequest,
  field: string,
  validators: Validators | null,
): boolean | null {
  const etag = validators?.etag
  // Most clients send the tag as they got it.
  if (field === etag && isEntityTag(etag)) return false
  const listed = parseEntityTags(field)
  if (listed === null) return null
  if (validators === null || listed === '*') return validators === null
  const forms = etag === undefined ? [] : formsOf(request, etag).map(opaqueTag)
  return !listed.some((tag) => forms.includes(opaqueTag(tag)))
}

/** Returns the entity tag of a 304: the form by which the client has it, with a content coding or without. */
export function tagOfNotModified(request: ConditionalRequest, etag: string): string {
  const field = request.headers['if-none-match']
  if (field === undefined || field.includes(etag)) return etag
  return formsOf(request, etag).find((form) => field.includes(form)) ?? etag
}

const codings: readonly string[] = ['br', 'deflate', 'gzip', 'zstd']

/**
 * Returns the tags by which a client may know a representation. For a read, those in codings that the client accepts: a
 * cache sends the tags of all that it stored (RFC 9111 §4.3.1). For a write, all of the resource, however it was read.
 */
function formsOf({ method, headers }: ConditionalRequest, etag: string): readonly string[] {
  if (isRead(method)) return inCodings(etag, acceptedCodings(headers['accept-encoding']))
  const tags = [etag, ...otherFormats.map((format) => tagOfFormat(etag, format))]
  return tags.flatMap((tag) => inCodings(tag, codings))
}

function inCodings(etag: string, accepted: readonly string[]): readonly string[] {
  return [etag, ...accepted.map((coding) => codedTag(etag, coding))]
}

/** Returns the codings that `Accept-Encoding` accepts (RFC 9110 §12.5.3). Without the field, plugins do not compress. */
function acceptedCodings(field: string | readonly string[] = ''): readonly string[] {
  const weights = firstMembers(String(field)).map((member): [string, boolean] => {
    const [name = '', weight = ''] = memberParts(member)
    return [name.toLowerCase(), !/^q\s*=\s*0(?:\.0*)?$/i.test(weight)]
  })
  const accepted = new Map(weights)
  return codings.filter((coding) => accepted.get(coding) ?? accepted.get('*') ?? false)
}

function opaqueTag(etag: string): string {
  return etag.replace(/^W\//, '')
}

function dateOf(
  { headers, raw }: ConditionalRequest,
  name: 'if-modified-since' | 'if-unmodified-since',
  now: number,
): number | null {
  const value = headers[name]
  // Of a repeated date, `headers` has the first only, but such a field is ignored (RFC 9110 §13.1.3, §13.1.4).
  return value === undefined || isRepeated(raw.rawHeaders, name) ? null : parseHttpDate(value, now)
}

export function failureDetail(headers: IncomingHttpHeaders): string {
  if (headers['if-match'] !== undefined) {
    return 'If-Match does not name the current representation: read it again, and send its ETag, with its quotes and without W/'
  }
  return headers['if-none-match'] !== undefined
    ? 'If-None-Match names what exists already, or is not * or a list of entity tags in quotes'
    : 'It was modified since, or less than a second ago: read it again, and send its ETag in If-Match'
}

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

/** Returns the value of `If-Match` or `If-None-Match`: `*`, or its entity tags; `null` for anything else. */
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

/** Returns the strong entity tag of a version, percent-encoded if a tag cannot have its characters. @throws URIError */
export function tagOfVersion(version: string): string {
  return /[^\x21\x23\x24\x26-\x7e]/.test(version) ? `"${encodeURIComponent(version)}"` : `"${version}"`
}

/** Returns the entity tag of a representation in a content coding; a weak one is that of all codings. */
export function codedTag(etag: string, coding: string): string {
  return etag.startsWith('"') ? `${etag.slice(0, -1)}--${coding}"` : etag
}

const maxItems = 1_000

/**
 * Returns when a payload was last modified, by a member of it such as `updated_at`: its own, or the latest of a list, which is
 * the payload itself or the only array in it; `null` if not all items have a valid date, and for more than 1,000 of them.
 * A date of items does not change when one leaves the list.
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

/** Returns the latest of several times, or of that member of each item, to the second and not after now; `null` if one is none. */
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
