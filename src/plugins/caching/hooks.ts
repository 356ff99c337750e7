import type { FastifyReply, FastifyRequest } from 'fastify'
import { discard, headerOf, isBytes, isRead, isResponse } from '../../convention/exchange.js'
import { replyHeaders } from '../../convention/internals.js'
import { tagInFormat } from '../../convention/selection.js'
import { replySlot, requestSlot } from '../../convention/slots.js'
import type { Effect, PayloadStep, RequestStep, Steps } from '../../convention/steps.js'
import { formatHttpDate, parseHttpDate } from '../../http/dates.js'
import { contentFields } from '../../http/error-headers.js'
import { withPrivate } from '../../http/header-fields.js'
import { isObject } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { isPromise } from '../../time/async.js'
import { byteTag } from './byte-tag.js'
import { correctDates } from './cache-control.js'
import type { FindValidators, ResourceVersion, RouteValidators } from './options.js'
import type { CachingPlan } from './plan.js'
import {
  codedTag,
  entityTagOf,
  evaluatePreconditions,
  failureDetail,
  ignoresDate,
  isConditional,
  latestTime,
  namesTags,
  payloadDate,
  tagOfNotModified,
  tagOfVersion,
  type Validators,
} from './preconditions.js'

export const expectedVersion = requestSlot<ResourceVersion | null | undefined>('expectedVersion')

export function stepsOf(plan: CachingPlan): Steps {
  const { isReport, reads, validators, validatorsOf, lastModified } = plan
  const readsPayload = (validatorsOf !== undefined && !isReport) || (reads && lastModified !== false)
  return {
    preHandler: validators && checkPreconditions(plan, validators),
    preSerialization: readsPayload ? readPayload(plan) : undefined,
    onSend: finishResponse(plan),
    lastOnSend: isReport || !reads ? undefined : completeLast(plan),
    // A response may fail after `onSend`, in a later hook or in a stream, and is an error then.
    onError: isReport ? undefined : (_request, reply) => forbidStoring(reply),
  }
}

function checkPreconditions(plan: CachingPlan, find: FindValidators): RequestStep {
  return function checkBeforeHandler(request, reply) {
    const { method } = request
    const reads = isRead(method)
    if (!reads && !isConditional(request))
      return plan.isPreconditionRequired && method !== 'OPTIONS' ? missingPrecondition() : undefined
    if (plan.isReport) return reads ? undefined : unknownPrecondition
    const found = find(request)
    if (!isPromise(found)) return check(plan, request, reply, found)
    // Query builders are not promises, but can be awaited.
    return Promise.resolve(found).then((validators) => check(plan, request, reply, validators))
  }
}

function check(
  plan: CachingPlan,
  request: FastifyRequest,
  reply: FastifyReply,
  found: RouteValidators | null,
) {
  const { method, headers } = request
  const now = plan.now()
  const validators = found ? readValidators(found, request, now) : null
  if (isRead(method)) {
    if (validators === null) return undefined
    knownValidators.set(reply, validators)
    // The tag of the bytes is known after the handler only.
    if (!isConditional(request) || (validators.etag === undefined && namesTags(headers))) return undefined
  } else {
    // Set for a 404 too: another request may create the resource before the handler runs.
    expectedVersion.set(request, found ? found.version : null)
    // RFC 9110 §13.2.1: without the precondition these would be a 404; only PUT creates a resource.
    if (!found && (method === 'PATCH' || method === 'DELETE')) return undefined
    if (plan.isPreconditionRequired && ignoresDate(request, validators, now)) return missingPrecondition()
  }
  const verdict = evaluatePreconditions(request, validators, now)
  if (verdict === 'proceed') return undefined
  return verdict === 'not-modified' ? answer304 : refusalOf(request)
}

function missingPrecondition(): Effect {
  const detail = 'Send If-Match with the ETag of what was read, or If-None-Match: * to create'
  const refusal = new ProblemError('precondition-required', { detail })
  return { rule: 'precondition', given: 'has no precondition', refusal }
}

const unknownPrecondition: Effect = {
  rule: 'precondition',
  given: 'would be refused if its precondition fails',
  refusal: new ProblemError('precondition-failed'),
}

/** Returns validators as they are compared and sent: the tag in quotes, the time to the second and not later than now. */
function readValidators(found: RouteValidators, request: FastifyRequest, now: number): KnownValidators {
  if ('then' in found) throw new TypeError('config.caching.validatorsOf must be synchronous')
  const { etag, lastModified, version } = found
  const ofVersion = version === undefined ? undefined : tagOfVersion(String(version))
  const tag = etag === undefined ? ofVersion : entityTagOf(etag)
  const date = lastModified === undefined ? null : latestTime([new Date(lastModified)], now)
  return {
    // The tag in the response to a write names the stored resource, in any format of that response.
    etag: tag !== undefined && isRead(request.method) ? tagInFormat(request, tag) : tag,
    lastModified: date ?? undefined,
    isOfItems: false,
  }
}

/** Reads the validators in what the handler returned, before anything else changes it. */
function readPayload(plan: CachingPlan): PayloadStep {
  const { isReport, lastModified: member, validatorsOf } = plan
  return function readPayloadValidators(request, reply, payload) {
    const { statusCode } = reply
    if (statusCode !== 200 && statusCode !== 201) return undefined
    let known = knownValidators.get(reply)
    const own = validatorsOf && !isReport && isObject(payload) ? validatorsOf(payload, request) : null
    if (own) {
      const read = readValidators(own, request, plan.now())
      const { etag = read.etag, lastModified = read.lastModified } = known ?? {}
      known = { etag, lastModified, isOfItems: false }
    }
    const isDated = known?.lastModified !== undefined || member === false
    if (!isDated && statusCode === 200 && isRead(request.method)) {
      const date = payloadDate(payload, member, plan.now())
      if (date !== null) known = known === undefined ? date : { etag: known.etag, ...date }
    }
    if (known !== undefined) knownValidators.set(reply, known)
    return undefined
  }
}

type Headers = Record<string, string>

/** Validators of a response that are known before its bytes are. Those in its headers take precedence. */
export interface KnownValidators extends Validators {
  /** Whether `lastModified` is the latest date of the items of a list, and so validates nothing. */
  readonly isOfItems: boolean
}

const knownValidators = replySlot<KnownValidators>('caching.validators')

const notModified = { rule: 'not-modified', given: 'would be answered with 304' }
const answer304: Effect = { ...notModified, answer: { status: 304 } }
const missingDate: Effect = {
  rule: 'last-modified',
  given: 'a 200 without Last-Modified',
  notice: 'each rule',
}
const noStore = Object.freeze({ 'cache-control': 'no-store' })
const unstored: Effect = { rule: 'headers', given: 'cache-control: no-store', headers: noStore }

function refusalOf({ headers }: FastifyRequest, fields: Headers = {}): Effect {
  const detail = failureDetail(headers)
  const refusal = new ProblemError('precondition-failed', { detail, headers: { ...fields, ...noStore } })
  return { rule: 'precondition', given: 'its precondition fails', refusal }
}

const ofRepresentation: ReadonlySet<string> = new Set(['etag', 'last-modified', 'expires'])
const ofContent: ReadonlySet<string> = new Set(contentFields)
const notIn304: ReadonlySet<string> = new Set([...contentFields, 'last-modified'])

function forbidStoring(reply: FastifyReply, plan?: CachingPlan): Effect | undefined {
  const vary = plan && varyOf(plan, reply)
  const headers = vary === undefined ? noStore : { ...noStore, vary }
  if (Object.keys(replyHeaders(reply)).some((name) => ofRepresentation.has(name)))
    return { ...unstored, headers, change: () => removeHeaders(reply, ofRepresentation) }
  const isForbidden = headerOf(reply, 'cache-control') === 'no-store' && vary === undefined
  return isForbidden ? undefined : { ...unstored, headers }
}

/** The step of a path without a route, where the hooks of a route do not run. A page that is sent there is the app's own. */
export const finishUnknown: PayloadStep = (_request, reply) =>
  reply.statusCode < 400 ? undefined : forbidStoring(reply)

function finishResponse(plan: CachingPlan): PayloadStep {
  return function finish(request, reply, payload) {
    const status = isResponse(payload) ? payload.status : reply.statusCode
    if (status >= 400) return forbidStoring(reply, plan)
    return isRead(request.method)
      ? finishRead(plan, request, reply, payload, status)
      : finishWrite(plan, reply)
  }
}

function finishWrite(plan: CachingPlan, reply: FastifyReply): Effect | undefined {
  const known = knownValidators.get(reply)
  const isSilent = !reply.hasHeader('cache-control')
  if (known === undefined) return isSilent ? unstored : undefined
  const headers: Headers = isSilent ? { ...noStore } : {}
  if (known.etag !== undefined && !reply.hasHeader('etag')) headers.etag = known.etag
  setDate(headers, known, headerOf(reply, 'last-modified'))
  return effectOf(plan, headers)
}

function finishRead(
  plan: CachingPlan,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  status: number,
): Effect | readonly Effect[] | undefined {
  const headers: Headers = {}
  const current = headerOf(reply, 'cache-control')
  const cacheControl = cacheControlOf(plan, request, status, current)
  if (cacheControl !== '' && cacheControl !== current) headers['cache-control'] = cacheControl
  const vary = varyOf(plan, reply)
  if (vary !== undefined) headers.vary = vary
  if (!hasRepresentation(status) && status !== 304) return effectOf(plan, headers)

  const { expires } = plan
  const ownExpires = headerOf(reply, 'expires')
  if (ownExpires === undefined && expires !== null && expires.at > plan.now()) headers.expires = expires.text
  const known = knownValidators.get(reply)
  const ownTag = headerOf(reply, 'etag')
  const ownDate = headerOf(reply, 'last-modified')
  const hasOwnDates = ownExpires !== undefined || ownDate !== undefined
  const corrected = hasOwnDates ? correctDates(reply, ownExpires, ownDate, plan.now()) : undefined
  const isMade = status === 200 && plan.tagsBytes && isBytes(payload) && payload.length > 0
  const etag = ownTag ?? known?.etag ?? (isMade ? byteTag(payload) : undefined)
  const isSent = isResponse(payload) || !isConditional(request)
  const verdict =
    isSent || status === 304
      ? 'proceed'
      : evaluatePreconditions(request, { etag, lastModified: dateOf(known, ownDate, plan) }, plan.now())
  if (verdict === 'precondition-failed') {
    if (!plan.isReport) discard(payload)
    return refusalOf(request, vary === undefined ? {} : { vary })
  }
  if (verdict === 'not-modified' || status === 304) {
    if (plan.isReport) return status === 304 ? effectOf(plan, headers) : notModified
    const sent = etag && tagOfNotModified(request, etag)
    if (sent !== undefined && sent !== ownTag) headers.etag = sent
    // RFC 9110 §15.4.5: with an `ETag`, a 304 needs no `Last-Modified`.
    if (etag === undefined) setDate(headers, known, ownDate)
    const effect = send304(request, reply, payload, headers, etag === undefined ? ofContent : notIn304)
    return corrected === undefined ? effect : [corrected, effect]
  }
  if (etag !== undefined && ownTag === undefined) headers.etag = etag
  setDate(headers, known, ownDate)
  const effect = effectOf(plan, headers)
  const isDated = known?.lastModified !== undefined || ownDate !== undefined
  const isMissing = plan.notesMissingDate && !isDated && status === 200 && request.method === 'GET'
  if (corrected === undefined && !isMissing) return effect
  return [corrected, isMissing ? missingDate : undefined, effect].filter((one) => one !== undefined)
}

// In a function of its own, so that other responses make no closure. A member beside a spread takes some 290 bytes.
function send304(
  { method }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  headers: Headers,
  removed: ReadonlySet<string>,
): Effect {
  return {
    rule: notModified.rule,
    given: notModified.given,
    headers,
    change() {
      discard(payload)
      removeHeaders(reply, removed)
      reply.code(304)
    },
    // The hook of Fastify on the HEAD route that it adds to a GET route fails without a payload.
    payload: method === 'HEAD' ? '' : null,
  }
}

/** Whether a response to a GET or HEAD is the representation or a part of it (RFC 9110 §15.3.1, §15.3.4, §15.3.7). */
function hasRepresentation(status: number): boolean {
  return status === 200 || status === 203 || status === 206
}

function cacheControlOf(
  plan: CachingPlan,
  request: FastifyRequest,
  status: number,
  current: string | undefined,
): string {
  if (plan.cacheControl === '') return ''
  if (plan.isConfidential) return 'no-store'
  const isPrivate = (request.caller ?? null) !== null || plan.isAuthenticated(request)
  if (current !== undefined) return isPrivate ? withPrivate(current) : current
  if (hasRepresentation(status) || status === 204 || status === 304)
    return isPrivate ? plan.privateCacheControl : plan.cacheControl
  // A permanent redirect may be stored as it is (RFC 9110 §15.1). A pending operation or a login is another response soon.
  return status === 301 || status === 308 ? '' : 'no-store'
}

function varyOf({ addVary }: CachingPlan, reply: FastifyReply): string | undefined {
  if (addVary === null) return undefined
  const current = headerOf(reply, 'vary')
  const vary = addVary(current)
  return vary === current ? undefined : vary
}

function dateOf(known: KnownValidators | undefined, own: string | undefined, { now }: CachingPlan) {
  if (own !== undefined) return parseHttpDate(own, now()) ?? undefined
  return known?.isOfItems === true ? undefined : known?.lastModified
}

function setDate(headers: Headers, known: Validators | undefined, own: string | undefined): void {
  if (own === undefined && known?.lastModified !== undefined)
    headers['last-modified'] = formatHttpDate(known.lastModified)
}

function effectOf({ isReport }: CachingPlan, headers: Headers): Effect | undefined {
  if (!isReport) return { rule: 'headers', given: '', headers }
  const told = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return told.length === 0 ? undefined : { rule: 'headers', given: told.join(', '), headers }
}

/** Changes what other hooks have made of a response: the tag of coded content, and the length of a 304 to HEAD. */
function completeLast(plan: CachingPlan): PayloadStep {
  return function complete({ method }, reply, payload) {
    const { statusCode } = reply
    if (statusCode === 304) {
      if (!reply.hasHeader('content-length')) return undefined
      return { ...notModified, change: () => reply.removeHeader('content-length') }
    }
    const isCoded = plan.isCompressed && isRead(method) && hasRepresentation(statusCode)
    const coding = isCoded && !isResponse(payload) ? headerOf(reply, 'content-encoding') : undefined
    if (coding === undefined || coding === 'identity') return undefined
    const etag = headerOf(reply, 'etag')
    if (etag === undefined) return undefined
    return { rule: 'headers', given: '', headers: { etag: codedTag(etag, coding) } }
  }
}

// In Fastify, removing a field makes all later work on the fields slow, even if the field was not there.
function removeHeaders(reply: FastifyReply, names: ReadonlySet<string>): void {
  for (const name of Object.keys(replyHeaders(reply))) if (names.has(name)) reply.removeHeader(name)
}
