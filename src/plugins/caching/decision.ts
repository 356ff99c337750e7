import type { Effect } from '../../convention/steps.js'
import { headerOf, isBytes, isResponse } from '../../fastify/reply.js'
import { withPrivate } from '../../http/cache-control.js'
import { formatHttpDate, parseHttpDate } from '../../http/http-date.js'
import { isObject } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { byteTag, entityTagOf, tagOfVersion } from './entity-tag.js'
import { latestTime, payloadDate } from './last-modified.js'
import type { RouteValidators } from './options.js'
import type { CachingPlan } from './plan.js'
import {
  type ConditionalRequest,
  evaluateRequest,
  hasRepresentation,
  hasWritePrecondition,
  isConditional,
  isRead,
  namesTags,
  type PreconditionVerdict,
  tagOfNotModified,
  type Validators,
} from './preconditions.js'

/** The status and headers of a response so far; a Fastify reply is one. */
export interface ResponseHead {
  readonly statusCode: number
  getHeader(name: string): number | string | string[] | undefined
}

/** Validators found in the payload of the handler. */
export interface PayloadValidators extends Validators {
  /** Whether `lastModified` is the latest date of the items of a list, and so validates nothing. */
  readonly isOfItems: boolean
}

/** A response that is about to be sent. */
export interface Exchange {
  readonly request: ConditionalRequest
  readonly reply: ResponseHead
  readonly payload: unknown
  /** What {@link payloadValidators} returned. It counts as if it were in the headers. */
  readonly found: PayloadValidators | null
  /** Whether a plugin may compress the response. */
  readonly isCompressed: boolean
}

/** What caching changes in a response. */
export interface ResponseChanges {
  /** Send the response, or a 304 or 412 instead. */
  readonly verdict: PreconditionVerdict
  /** Header fields to set. */
  readonly headers: Readonly<Record<string, string>>
  /** Names of headers to remove. */
  readonly removed: readonly string[]
  /** Whether a 200 lacks `Last-Modified`, and the route reports it. */
  readonly lacksDate: boolean
}

const validators = ['etag', 'last-modified'] as const
const none: readonly string[] = []

/** The headers that an error does not have. */
export const removedFromErrors: readonly string[] = [...validators, 'expires']

/**
 * The headers that a 304 does not have (RFC 9110 §15.4.5): metadata of the representation, which the cache has already,
 * and the framing of content. `Content-Length` would have to be that of the 200, which is not known before it is
 * serialized (§8.6).
 */
const removedFrom304: readonly string[] = [
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
]

// §15.4.5: with an ETag, a 304 needs no Last-Modified.
const removedFromTagged304: readonly string[] = [...removedFrom304, 'last-modified']

/** Returns what caching changes in a response. */
export function decideResponse(plan: CachingPlan, exchange: Exchange): ResponseChanges {
  const { request, reply, payload, found, isCompressed } = exchange
  const ofFetch = isResponse(payload)
  const status = ofFetch ? payload.status : reply.statusCode
  const isError = status >= 400
  const reads = isRead(request.method)
  const headers: Record<string, string> = {}
  const changes = { verdict: 'proceed' as const, headers, removed: none, lacksDate: false }
  const { plain, compressed } = plan.vary()
  const vary = isCompressed && reads && !isError ? compressed : plain
  if (vary !== null) setIfOther(headers, reply, 'vary', vary(headerOf(reply, 'vary')))
  if (isError) {
    setIfOther(headers, reply, 'cache-control', 'no-store')
    return { ...changes, removed: removedFromErrors }
  }
  const current = headerOf(reply, 'cache-control')
  if (!reads) {
    if (current === undefined) headers['cache-control'] = 'no-store'
    if (found?.etag !== undefined && headerOf(reply, 'etag') === undefined) headers.etag = found.etag
    return changes
  }
  const cacheControl = cacheControlFor(plan, request, status, current)
  if (cacheControl !== null) headers['cache-control'] = cacheControl
  const expires = expiresFor(plan, reply, status)
  if (expires !== null) headers.expires = expires
  if (status === 304) return notModified(changes, request, reply, headerOf(reply, 'etag'))
  if (!hasRepresentation(status)) {
    // The validators of a 204 may be those of the resource as it is now (§15.3.5).
    return status === 204 ? changes : { ...changes, removed: validators }
  }
  if (ofFetch) return changes

  const given = headerOf(reply, 'etag')
  const etag = given ?? found?.etag ?? (status === 200 ? tagOfBytes(plan, payload) : undefined)
  if (given === undefined && etag !== undefined) headers.etag = etag
  const needsDate = plan.reportsMissingDate && status === 200 && request.method === 'GET'
  changes.lacksDate =
    needsDate && headerOf(reply, 'last-modified') === undefined && found?.lastModified === undefined
  if (!isConditional(request.headers)) return changes
  const now = plan.now()
  const verdict = evaluateRequest(request, { etag, lastModified: modifiedAt(reply, found, now) }, now)
  if (verdict === 'not-modified') return notModified(changes, request, reply, etag)
  if (verdict === 'proceed') return changes
  const { vary: varies } = headers
  const refused = { ...(varies !== undefined && { vary: varies }), 'cache-control': 'no-store' }
  return { verdict, headers: refused, removed: removedFromErrors, lacksDate: false }
}

function setIfOther(headers: Record<string, string>, reply: ResponseHead, name: string, value: string): void {
  if (headerOf(reply, name) !== value) headers[name] = value
}

function cacheControlFor(
  plan: CachingPlan,
  request: ConditionalRequest,
  status: number,
  current: string | undefined,
): string | null {
  if (plan.cacheControl === null || (isPermanentRedirect(status) && !plan.isOfRoute)) return null
  // A pending operation has another status soon, and a redirect to a login is not to be stored as long as the response.
  const ofStatus =
    status === 202 ? 'no-store' : isTemporaryRedirect(status) && plan.isStored ? 'no-cache' : undefined
  const given = plan.isConfidential ? 'no-store' : (current ?? ofStatus)
  const isKnown = request.caller !== undefined && request.caller !== null
  const isPrivate = isKnown || plan.isAuthenticated(request)
  if (given === undefined) return isPrivate ? plan.privateCacheControl : plan.cacheControl
  const value = isPrivate ? withPrivate(given) : given
  return value === current ? null : value
}

// A cache may store it as it is (RFC 9110 §15.1).
function isPermanentRedirect(status: number): boolean {
  return status === 301 || status === 308
}

function expiresFor({ expires, now }: CachingPlan, reply: ResponseHead, status: number): string | null {
  if (expires === null || isTemporaryRedirect(status) || reply.getHeader('expires') !== undefined) return null
  return expires.at > now() ? expires.value : null
}

function isTemporaryRedirect(status: number): boolean {
  return status === 302 || status === 303 || status === 307
}

function tagOfBytes({ etag, tagsEmpty }: CachingPlan, payload: unknown): string | undefined {
  if (etag === false || !isBytes(payload) || (payload.length === 0 && !tagsEmpty)) return undefined
  return etag === 'weak' ? `W/${byteTag(payload)}` : byteTag(payload)
}

/** Returns the date that `If-Modified-Since` and `If-Unmodified-Since` are compared with. */
function modifiedAt(reply: ResponseHead, found: PayloadValidators | null, now: number): number | undefined {
  const date = headerOf(reply, 'last-modified')
  const { lastModified, isOfItems = false } = found ?? {}
  if (date === undefined) return isOfItems ? undefined : lastModified
  // An item that leaves a list does not change the dates of the others.
  if (isOfItems && lastModified !== undefined && date === formatHttpDate(lastModified)) return undefined
  return parseHttpDate(date, now) ?? undefined
}

function notModified(
  changes: ResponseChanges,
  { headers }: ConditionalRequest,
  reply: ResponseHead,
  etag: string | undefined,
): ResponseChanges {
  const { etag: _ofTheBytes, ...others } = changes.headers
  const verdict = 'not-modified'
  if (etag === undefined) return { ...changes, verdict, removed: removedFrom304 }
  const listed = tagOfNotModified(headers, etag)
  const tag = listed === headerOf(reply, 'etag') ? {} : { etag: listed }
  return { ...changes, verdict, headers: { ...others, ...tag }, removed: removedFromTagged304 }
}

const titles: Readonly<Record<string, string>> = {
  'cache-control': 'Cache-Control',
  expires: 'Expires',
  vary: 'Vary',
}

/** Returns the changes of a response one by one, as `report` mode counts them. */
export function effectsOf(
  { verdict, headers, removed, lacksDate }: ResponseChanges,
  { reply, found }: Pick<Exchange, 'reply' | 'found'>,
): Effect[] {
  const effects: Effect[] = lacksDate ? [missingDate] : []
  for (const [rule, value] of Object.entries(headers)) {
    const given = rule === 'etag' ? 'would get an ETag' : `would get ${titles[rule]}: ${value}`
    effects.push({ rule, given, headers: { [rule]: value } })
  }
  if (found?.lastModified !== undefined && headerOf(reply, 'last-modified') === undefined) {
    const lastModified = { 'last-modified': formatHttpDate(found.lastModified) }
    effects.push({ rule: 'last-modified', given: 'would get Last-Modified', headers: lastModified })
  }
  const lost = verdict === 'proceed' ? removed.filter((name) => headerOf(reply, name) !== undefined) : []
  if (lost.length > 0) effects.push({ rule: 'error', given: `would lose ${lost.join(', ')}` })
  if (verdict === 'not-modified') effects.push({ rule: 'not-modified', given: 'would be answered with 304' })
  if (verdict === 'precondition-failed') {
    const refusal = new ProblemError('precondition-failed')
    effects.push({ rule: 'precondition', given: 'its precondition fails', refusal })
  }
  return effects
}

/** What a 200 without `Last-Modified` is noted as. */
export const missingDate: Effect = Object.freeze({
  rule: 'last-modified',
  given: 'a 200 without Last-Modified',
  notice: 'each rule',
})

/**
 * Returns the validators in the payload of a handler: those that `validatorsOf` reads, and else the date of the member
 * `lastModified`. Returns `null` if there are none.
 *
 * @throws whatever `validatorsOf` throws
 */
export function payloadValidators(
  plan: CachingPlan,
  { request, reply, payload }: Pick<Exchange, 'request' | 'reply' | 'payload'>,
): PayloadValidators | null {
  const { statusCode } = reply
  const isResource = statusCode === 200 || statusCode === 201
  const own: RouteValidators | null | undefined =
    plan.validatorsOf && isResource && isObject(payload) ? plan.validatorsOf(payload, request) : null
  const { etag, lastModified } = own ? readValidators(own, plan.now()) : ({} as Validators)
  if (lastModified !== undefined) return { etag, lastModified, isOfItems: false }
  const isDated = statusCode === 200 && plan.lastModified !== false && isRead(request.method)
  const date =
    isDated && reply.getHeader('last-modified') === undefined
      ? payloadDate(payload, plan.lastModified, plan.now())
      : null
  if (date === null) return etag === undefined ? null : { etag, isOfItems: false }
  return { etag, lastModified: date.time, isOfItems: date.isOfItems }
}

/** Returns what happens to a read before the handler runs, by the validators that were found. */
export function decideRead(
  request: ConditionalRequest,
  found: Validators | null,
  now: number,
): PreconditionVerdict {
  if (found === null || !isConditional(request.headers)) return 'proceed'
  // The tag of the bytes is known after the handler only.
  if (found.etag === undefined && namesTags(request.headers)) return 'proceed'
  return evaluateRequest(request, found, now)
}

/** Returns what happens to a write before the handler runs, by the validators that were found. */
export function decideWrite(
  request: ConditionalRequest,
  found: Validators | null,
  now: number,
): PreconditionVerdict {
  const { method } = request
  // RFC 9110 §13.2.1: without the precondition these would be a 404; only PUT creates a resource.
  if (found === null && (method === 'PATCH' || method === 'DELETE')) return 'proceed'
  return evaluateRequest(request, found ?? { exists: false }, now)
}

/** Returns whether the precondition of a write is to be evaluated, is missing, or is not needed. */
export function writePrecondition(
  { isPreconditionRequired }: CachingPlan,
  { method, headers }: ConditionalRequest,
): 'evaluate' | 'missing' | 'none' {
  if (hasWritePrecondition(headers)) return 'evaluate'
  return isPreconditionRequired && method !== 'OPTIONS' ? 'missing' : 'none'
}

/** Returns validators as they are compared and sent: the tag in quotes, the time to the second and not later than now. */
export function readValidators(found: RouteValidators, now: number): Validators {
  if ('then' in found) throw new TypeError('config.caching.validatorsOf must be synchronous')
  const { etag, lastModified, version } = found
  const tag =
    etag !== undefined ? entityTagOf(etag) : version === undefined ? undefined : tagOfVersion(String(version))
  const date = typeof lastModified === 'number' ? new Date(lastModified) : lastModified
  return { etag: tag, lastModified: latestTime([date], now) ?? undefined }
}
