import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Effect, PayloadStep, RequestStep, StepResult } from '../../convention/steps.js'
import { tagInFormat } from '../../fastify/formats.js'
import { discard, headerOf, isResponse } from '../../fastify/reply.js'
import { replySlot, requestSlot } from '../../fastify/slots.js'
import { formatHttpDate } from '../../http/http-date.js'
import { isPromise, type MaybeAsync, withValue } from '../../maybe-async.js'
import { ProblemError } from '../../problem/problem-error.js'
import { codedTag } from './compression.js'
import {
  decideRead,
  decideResponse,
  decideWrite,
  type Exchange,
  effectsOf,
  missingDate,
  type PayloadValidators,
  payloadValidators,
  readValidators,
  removedFromErrors,
  writePrecondition,
} from './decision.js'
import type { ResourceVersion, RouteValidators } from './options.js'
import type { CachingPlan } from './plan.js'
import {
  failureDetail,
  hasRepresentation,
  howToGuard,
  isRead,
  type PreconditionVerdict,
  type Validators,
} from './preconditions.js'

/** How many conditional requests were answered without all of the work, since the start. */
export interface CachingCounts {
  /** 304 from `validators`: the handler did not run. */
  notModifiedBeforeHandler: number
  /** 304 after the handler: its response was not sent. */
  notModifiedAfterHandler: number
  /** 412: a precondition did not hold. */
  preconditionFailed: number
}

export const expectedVersion = requestSlot<ResourceVersion | null | undefined>('expectedVersion')
export const foundInPayload = replySlot<PayloadValidators>('caching.found')

/** Evaluates preconditions by the validators of the route, before the handler runs. */
export function checkPreconditions(
  plan: CachingPlan,
  counts: CachingCounts,
  find: NonNullable<CachingPlan['validators']>,
): RequestStep {
  const isReport = plan.mode === 'report'
  const found = (request: FastifyRequest): MaybeAsync<RouteValidators | null> => {
    const validators = find(request)
    // Query builders are not promises, but can be awaited.
    return isPromise(validators) ? Promise.resolve(validators) : validators
  }

  // A function of the app is not called in `report` mode.
  return (request) =>
    isRead(request.method) ? (isReport ? undefined : checkRead(request)) : checkWrite(request)

  function checkRead(request: FastifyRequest): StepResult {
    return withValue(found(request), (validators) => {
      const now = plan.now()
      const known = validators ? readValidators(validators, now) : null
      // The plugin `formats` completes the tag when the response is sent.
      const etag = known?.etag && tagInFormat(request, known.etag)
      const verdict = decideRead(request, known && { ...known, etag }, now)
      const set = { rule: 'validators', given: '', headers: fieldsOf(known ?? {}) }
      if (verdict === 'proceed') return set
      if (verdict === 'precondition-failed') return refusalOf(request, counts)
      counts.notModifiedBeforeHandler++
      return [set, { rule: 'not-modified', given: '', answer: { status: 304 } }]
    })
  }

  function checkWrite(request: FastifyRequest): StepResult {
    const need = writePrecondition(plan, request)
    if (need === 'none') return undefined
    if (need === 'missing') {
      const refusal = new ProblemError('precondition-required', { detail: howToGuard })
      return { rule: 'precondition', given: 'has no precondition', refusal }
    }
    if (isReport) {
      const refusal = new ProblemError('precondition-failed')
      return { rule: 'precondition', given: 'would be refused if its precondition fails', refusal }
    }
    return withValue(found(request), (validators) => {
      // Set for a 404 too: another request may create the resource before the handler runs.
      expectedVersion.set(request, validators ? validators.version : null)
      const now = plan.now()
      const verdict: PreconditionVerdict = decideWrite(
        request,
        validators ? readValidators(validators, now) : null,
        now,
      )
      return verdict === 'proceed' ? undefined : refusalOf(request, counts)
    })
  }
}

function refusalOf(request: FastifyRequest, counts: CachingCounts): Effect {
  counts.preconditionFailed++
  const refusal = new ProblemError('precondition-failed', { detail: failureDetail(request.headers) })
  return { rule: 'precondition', given: 'its precondition fails', refusal }
}

/** Reads the validators from what the handler returned. */
export function readPayload(plan: CachingPlan): PayloadStep {
  const isReport = plan.mode === 'report'
  return function readPayloadValidators(request, reply, payload) {
    let found: PayloadValidators | null
    try {
      found = payloadValidators(plan, { request, reply, payload })
    } catch (error) {
      if (!isReport) throw error
      return failure('etag', 'validatorsOf', error)
    }
    if (found === null) return undefined
    if (isReport || found.isOfItems) foundInPayload.set(reply, found)
    if (isReport) return undefined
    const { etag, lastModified } = found
    const headers = fieldsOf({
      etag: reply.hasHeader('etag') ? undefined : etag,
      lastModified: reply.hasHeader('last-modified') ? undefined : lastModified,
    })
    return { rule: 'validators', given: '', headers }
  }
}

function fieldsOf({ etag, lastModified }: Validators): Record<string, string> {
  const fields: Record<string, string> = {}
  if (etag !== undefined) fields.etag = etag
  if (lastModified !== undefined) fields['last-modified'] = formatHttpDate(lastModified)
  return fields
}

/** Completes the headers of a response, and answers 304 or 412 in its place. */
export function finishResponse(
  plan: CachingPlan,
  counts: CachingCounts,
  isHeadSibling: boolean,
): PayloadStep {
  let isMissingDateNoted = false
  if (plan.mode === 'report') return countChanges(plan)

  return function finish(request, reply, payload) {
    const changes = decideResponse(plan, exchangeOf(request, reply, payload))
    const { verdict, headers, removed } = changes
    if (verdict === 'not-modified') {
      // The handler may have answered 304 itself.
      if (reply.statusCode !== 304 && !isResponse(payload)) counts.notModifiedAfterHandler++
      return {
        rule: 'response',
        given: '',
        headers,
        change() {
          discard(payload)
          removeHeaders(reply, removed)
          reply.code(304)
        },
        // The hook of Fastify on the HEAD route that it adds to a GET route fails without a payload.
        payload: isHeadSibling ? '' : null,
      }
    }
    const effect: Effect = {
      rule: 'response',
      given: '',
      headers,
      change: removed.length > 0 ? () => removeHeaders(reply, removed) : undefined,
      payload: isHeadSibling && payload === null ? '' : undefined,
    }
    if (verdict === 'precondition-failed') {
      discard(payload)
      return [effect, refusalOf(request, counts)]
    }
    // Once per route, because counting costs as much as all other work here.
    if (!changes.lacksDate || isMissingDateNoted) return effect
    isMissingDateNoted = true
    return [missingDate, effect]
  }
}

/** Counts the changes of a response in `report` mode. */
function countChanges(plan: CachingPlan): PayloadStep {
  return function count(request, reply, payload) {
    const exchange = exchangeOf(request, reply, payload)
    try {
      return effectsOf(decideResponse(plan, exchange), exchange)
    } catch (error) {
      return failure('cache-control', 'isAuthenticated', error)
    }
  }
}

function exchangeOf(request: FastifyRequest, reply: FastifyReply, payload: unknown): Exchange {
  const found = foundInPayload.get(reply) ?? null
  // Plugins that compress decorate replies so.
  return { request, reply, payload, found, isCompressed: 'compress' in reply }
}

/** Says for `report` mode that a function of the app throws, which `enforce` would answer with 500. */
function failure(rule: string, name: string, error: unknown): Effect {
  const refusal = new ProblemError('internal-server-error')
  return { rule, given: `${name} would fail: ${String(error)}`, refusal }
}

/** Changes what other hooks have made of a response: the tag of coded content, and the length of a 304 to HEAD. */
export const completeLast: PayloadStep = function completeLast({ method }, reply, payload) {
  const { statusCode } = reply
  if (statusCode === 304) {
    if (!reply.hasHeader('content-length')) return undefined
    return { rule: 'not-modified', given: '', change: () => reply.removeHeader('content-length') }
  }
  if (!('compress' in reply) || !isRead(method) || !hasRepresentation(statusCode) || isResponse(payload)) {
    return undefined
  }
  const etag = headerOf(reply, 'etag')
  const coding = headerOf(reply, 'content-encoding') ?? 'identity'
  if (etag === undefined || coding === 'identity') return undefined
  return { rule: 'etag', given: 'would get another ETag', headers: { etag: codedTag(etag, coding) } }
}

/** Makes a response one that no cache stores, without validators. */
export function forbidStoring(reply: FastifyReply): Effect {
  return {
    rule: 'cache-control',
    given: 'would get Cache-Control: no-store',
    headers: { 'cache-control': 'no-store' },
    change: () => removeHeaders(reply, removedFromErrors),
  }
}

// In Fastify, removing a header makes all later work on the headers slow, even if the header was not there.
function removeHeaders(reply: FastifyReply, names: readonly string[]): void {
  for (const name of names) if (reply.hasHeader(name)) reply.removeHeader(name)
}
