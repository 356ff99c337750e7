import type { FastifyReply, FastifyRequest } from 'fastify'
import { byteTag } from '../../http/caching/byte-tag.js'
import { tagAsNamed } from '../../http/caching/coded-tags.js'
import { formatHttpDate, parseHttpDate } from '../../http/caching/http-date.js'
import { latestModified } from '../../http/caching/last-modified.js'
import type { PreconditionVerdict } from '../../http/caching/preconditions.js'
import { droppedFrom304, isDroppedFrom304 } from '../../http/caching/retained-headers.js'
import { refuseFailed } from './before-handler.js'
import type { CachingCounts } from './caching-counts.js'
import type { CachingPlan } from './caching-plan.js'
import { tagWhatIsCoded } from './coded-response.js'
import { isConditional, verdictOn } from './conditional-request.js'
import { headerOf } from './reply-helpers.js'

type Next = (error: Error | null, payload?: unknown) => void
type Hook = (request: FastifyRequest, reply: FastifyReply, payload: unknown, next: Next) => void

/** Items of a list that are looked at for the latest. */
export const mostItems = 1_000

/** The `preSerialization` hook that takes `Last-Modified` from what the handler returns, before it is projected. */
export function dateFromPayload(plan: CachingPlan, member: string): Hook {
  return function dateFromPayloadOnPreSerialization(_request, reply, payload, next) {
    if (reply.statusCode === 200 && !reply.hasHeader('last-modified')) {
      const latest = latestModified(payload, member, mostItems, plan.now())
      if (latest !== null) reply.header('last-modified', formatHttpDate(latest))
    }
    next(null, payload)
  }
}

/** The `onSend` hook of a route that is read: caching headers, validators, and what preconditions come to. */
export function finishReading(
  plan: CachingPlan,
  counts: CachingCounts,
  { isCompressed, onMissing }: { isCompressed: () => boolean; onMissing: (request: FastifyRequest) => void },
): Hook {
  function setHeaders(request: FastifyRequest, reply: FastifyReply): void {
    if (plan.cacheControl !== null && !reply.hasHeader('cache-control')) {
      const value = plan.isAuthenticated(request) ? plan.privateCacheControl : plan.cacheControl
      // An operation that goes on says something else each time.
      reply.header('cache-control', reply.statusCode === 202 ? 'no-store' : value)
    }
    if (plan.expires !== null && !reply.hasHeader('expires')) reply.header('expires', plan.expires)
  }

  return function finishReadingOnSend(request, reply, payload, next) {
    const status = reply.statusCode
    if (status >= 400) {
      forbidStoring(reply)
      next(null, payload)
      return
    }
    setHeaders(request, reply)
    const compressed = isCompressed()
    if (compressed) reply.header('vary', withAcceptEncoding(headerOf(reply, 'vary')))
    if (status === 304) {
      dropFor304(reply)
      next(null, null)
      return
    }
    if (status !== 200) {
      next(null, payload)
      return
    }
    if (plan.etag !== false && !reply.hasHeader('etag') && isBytes(payload)) {
      const tag = byteTag(payload)
      reply.header('etag', plan.etag === 'weak' ? `W/${tag}` : tag)
    }
    if (plan.tellsMissing && !reply.hasHeader('last-modified')) onMissing(request)
    const verdict = isConditional(request.headers) ? verdictOnReply(request, reply, plan) : 'proceed'
    if (verdict === 'proceed') {
      if (compressed) tagWhatIsCoded(reply)
      next(null, payload)
      return
    }
    discard(payload)
    if (verdict === 'precondition-failed') {
      // Hooks do not run again for an error in one of them.
      forbidStoring(reply)
      refuseFailed(request, reply, counts, next)
    } else {
      counts.notModifiedAfterHandler++
      reply.code(304)
      const etag = headerOf(reply, 'etag')
      if (etag !== undefined) reply.header('etag', tagAsNamed(etag, request.headers['if-none-match'] ?? ''))
      dropFor304(reply)
      next(null, null)
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

const ofRepresentation = ['etag', 'last-modified', 'expires'] as const

/** An error is of the moment, and none of the representation that was to be sent. */
export function forbidStoring(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
  for (const name of ofRepresentation) drop(reply, name)
}

function verdictOnReply(
  request: FastifyRequest,
  reply: FastifyReply,
  plan: CachingPlan,
): PreconditionVerdict {
  const now = plan.now()
  const etag = headerOf(reply, 'etag')
  const lastModified = parseHttpDate(headerOf(reply, 'last-modified') ?? '', now) ?? undefined
  return verdictOn(request, { etag, lastModified }, now)
}

function dropFor304(reply: FastifyReply): void {
  const hasEtag = reply.hasHeader('etag')
  for (const name of droppedFrom304) drop(reply, name)
  if (isDroppedFrom304('last-modified', hasEtag)) drop(reply, 'last-modified')
}

// Removing makes all later work on the headers slow, even where there was nothing to remove.
function drop(reply: FastifyReply, name: string): void {
  if (reply.hasHeader(name)) reply.removeHeader(name)
}

function withAcceptEncoding(vary: string | undefined): string {
  if (vary === undefined) return 'accept-encoding'
  return /(?:^|[\s,])(?:\*|accept-encoding)(?:[\s,]|$)/i.test(vary) ? vary : `${vary}, accept-encoding`
}

function isBytes(payload: unknown): payload is string | Uint8Array {
  return typeof payload === 'string' || payload instanceof Uint8Array
}

/** Ends a stream that will not be sent. */
function discard(payload: unknown): void {
  if (typeof payload !== 'object' || payload === null) return
  if ('destroy' in payload && typeof payload.destroy === 'function') payload.destroy()
  else if ('cancel' in payload && typeof payload.cancel === 'function') void payload.cancel()
}
