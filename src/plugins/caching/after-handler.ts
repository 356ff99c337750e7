import type { FastifyReply, FastifyRequest } from 'fastify'
import { headerOf } from '../../fastify/header-of.js'
import { trailerNames } from '../../fastify/internals.js'
import { discard, isBytes, isResponse } from '../../fastify/payloads.js'
import { formatHttpDate, parseHttpDate } from '../../http/http-date.js'
import { carriesRepresentation, type PreconditionVerdict } from '../../http/preconditions.js'
import { refuseFailed } from './before-handler.js'
import { byteTag } from './byte-tag.js'
import { tagWhatIsCoded } from './coded-response.js'
import { isConditional, tagForCaller, verdictOn } from './conditional-request.js'
import type { CachingCounts } from './counts.js'
import { dropFor304, dropValidators, forbidStoring, setFreshness, varyByCoding } from './headers.js'
import { payloadDate } from './last-modified.js'
import type { CachingPlan } from './plan.js'

type Next = (error: Error | null, payload?: unknown) => void
/** A hook that looks at what is sent. */
export type FinishHook = (request: FastifyRequest, reply: FastifyReply, payload: unknown, next: Next) => void

/** Where a reply keeps the `Last-Modified` that was taken from the items of a list. */
export const dateOfItems = Symbol('fastify-conventions.caching.dateOfItems')

/** The `preSerialization` hook that takes `Last-Modified` from what the handler returns, before it is projected. */
export function dateFromPayload(plan: CachingPlan, member: string): FinishHook {
  return function dateFromPayloadOnPreSerialization(_request, reply, payload, next) {
    if (reply.statusCode === 200 && !reply.hasHeader('last-modified')) {
      const latest = payloadDate(payload, member, plan.now())
      if (latest !== null) {
        const date = formatHttpDate(latest.time)
        reply.header('last-modified', date)
        if (latest.isOfItems) (reply as WithDateOfItems)[dateOfItems] = date
      }
    }
    next(null, payload)
  }
}

/** The hook that does nothing. */
export function letThrough(
  _request: FastifyRequest,
  _reply: FastifyReply,
  payload: unknown,
  next: Next,
): void {
  next(null, payload)
}

/** What the hook that finishes an answer is told beside the plan. */
export interface Surroundings {
  /** Does a plugin compress what this hook lets through? */
  readonly isCompressed: () => boolean
  /** Called for a 200 of GET without `Last-Modified`. */
  readonly onMissing: (request: FastifyRequest) => void
  /** Does the handler answer HEAD without making the bytes that GET would have? */
  readonly isBodiless: boolean
}

/** The `onSend` hook of a route that is read: caching headers, validators, and what preconditions come to. */
export function finishReading(
  plan: CachingPlan,
  counts: CachingCounts,
  { isCompressed, onMissing, isBodiless }: Surroundings,
): FinishHook {
  function setValidators(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
    if (plan.etag !== false && !reply.hasHeader('etag') && isBytes(payload)) {
      // Nothing is not what the GET would have sent.
      if (payload.length > 0 || !isBodiless) {
        const tag = byteTag(payload)
        reply.header('etag', plan.etag === 'weak' ? `W/${tag}` : tag)
      }
    }
    if (plan.tellsMissing && request.method === 'GET' && !reply.hasHeader('last-modified')) onMissing(request)
  }

  function answerNotModified(request: FastifyRequest, reply: FastifyReply, payload: unknown, next: Next) {
    discard(payload)
    reply.code(304)
    const etag = headerOf(reply, 'etag')
    if (etag !== undefined) reply.header('etag', tagForCaller(request, etag))
    dropFor304(reply)
    // Node.js refuses to send trailers without content (RFC 9112 §7.1.2).
    for (const name of trailerNames(reply)) reply.removeTrailer(name)
    next(null, null)
  }

  return function finishReadingOnSend(request, reply, payload, next) {
    const status = isResponse(payload) ? payload.status : reply.statusCode
    if (status >= 400) {
      forbidStoring(reply)
      next(null, payload)
      return
    }
    setFreshness(request, reply, plan, status)
    const compressed = isCompressed()
    if (compressed) varyByCoding(reply)
    if (status === 304) {
      answerNotModified(request, reply, payload, next)
      return
    }
    if (!carriesRepresentation(status) || isResponse(payload)) {
      // Those of `validators` belong to the representation. A 204 may say what there is now (RFC 9110 §15.3.5).
      if (!carriesRepresentation(status) && status !== 204) dropValidators(reply)
      next(null, payload)
      return
    }
    if (status === 200) setValidators(request, reply, payload)
    const verdict = isConditional(request.headers) ? verdictOnReply(request, reply, plan) : 'proceed'
    if (verdict === 'proceed') {
      if (compressed) tagWhatIsCoded(reply)
      next(null, payload)
    } else if (verdict === 'precondition-failed') {
      discard(payload)
      refuseFailed(request, reply, counts, next)
    } else {
      counts.notModifiedAfterHandler++
      answerNotModified(request, reply, payload, next)
    }
  }
}

/** The `onSend` hook of a route that is not read: nothing of it is stored. */
export function finishWriting(
  _request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: Next,
): void {
  if (reply.statusCode >= 400) forbidStoring(reply)
  else if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  next(null, payload)
}

function verdictOnReply(
  request: FastifyRequest,
  reply: FastifyReply,
  plan: CachingPlan,
): PreconditionVerdict {
  const now = plan.now()
  const etag = headerOf(reply, 'etag')
  const date = headerOf(reply, 'last-modified')
  // An item that leaves a list does not change the date of the others, so that date validates nothing.
  const isOfItems = date === undefined || date === (reply as WithDateOfItems)[dateOfItems]
  const lastModified = isOfItems ? undefined : (parseHttpDate(date, now) ?? undefined)
  return verdictOn(request, { etag, lastModified }, now)
}

interface WithDateOfItems extends FastifyReply {
  [dateOfItems]?: string | undefined
}
