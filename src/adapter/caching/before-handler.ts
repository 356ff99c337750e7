import type { FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../../errors.js'
import { tagAsNamed } from '../../http/caching/coded-tags.js'
import { formatEntityTag } from '../../http/caching/entity-tag.js'
import { formatHttpDate } from '../../http/caching/http-date.js'
import { latestTime } from '../../http/caching/last-modified.js'
import { isDroppedFrom304 } from '../../http/caching/retained-headers.js'
import { refuse } from '../answer.js'
import type { CachingCounts } from './caching-counts.js'
import type { CachingPlan, FindValidators, ResourceVersion, RouteValidators } from './caching-plan.js'
import { isConditional, isGuarded, verdictOn } from './conditional-request.js'

/** Where the version that a write may overwrite is kept, on its request. */
export const expectedVersionOf = Symbol.for('fastify-conventions.expectedVersion')

type Next = (error?: Error) => void
type Hook = (request: FastifyRequest, reply: FastifyReply, next: Next) => void

/** The `preHandler` hook of a route that is read and has validators: answers 304 and 412 without the handler. */
export function validateBeforeReading(plan: CachingPlan, find: FindValidators, counts: CachingCounts): Hook {
  function decide(
    request: FastifyRequest,
    reply: FastifyReply,
    found: RouteValidators | null,
    next: Next,
  ): void {
    // What is not there is the handler's to say: preconditions do not count for a 404 (RFC 9110 §13.2.1).
    if (found === null) {
      next()
      return
    }
    const now = plan.now()
    const { etag, lastModified } = readValidators(found, now)
    const { headers } = request
    const verdict = isConditional(headers) ? verdictOn(request, { etag, lastModified }, now) : 'proceed'
    if (verdict === 'precondition-failed') {
      refuseFailed(request, reply, counts, next)
      return
    }
    const isNotModified = verdict === 'not-modified'
    if (etag !== undefined) {
      reply.header('etag', isNotModified ? tagAsNamed(etag, headers['if-none-match'] ?? '') : etag)
    }
    if (
      lastModified !== undefined &&
      !(isNotModified && isDroppedFrom304('last-modified', etag !== undefined))
    ) {
      reply.header('last-modified', formatHttpDate(lastModified))
    }
    if (!isNotModified) {
      next()
      return
    }
    counts.notModifiedBeforeHandler++
    reply.code(304).send()
  }

  return function validateBeforeReadingOnPreHandler(request, reply, next) {
    findThen(find, request, next, (found) => decide(request, reply, found, next))
  }
}

/** The `preHandler` hook of a route that writes: nothing is overwritten that the caller has not seen. */
export function guardWrites(plan: CachingPlan, find: FindValidators, counts: CachingCounts): Hook {
  function decide(
    request: FastifyRequest,
    reply: FastifyReply,
    found: RouteValidators | null,
    next: Next,
  ): void {
    const { method } = request
    // RFC 9110 §13.2.1: without the precondition these would be a 404, and only PUT makes what was not there.
    if (found === null && (method === 'PATCH' || method === 'DELETE')) {
      next()
      return
    }
    const validators = found === null ? { exists: false } : readValidators(found, plan.now())
    if (verdictOn(request, validators, plan.now()) !== 'proceed') {
      refuseFailed(request, reply, counts, next)
      return
    }
    ;(request as WithVersion)[expectedVersionOf] = found === null ? null : found.version
    next()
  }

  return function guardWritesOnPreHandler(request, reply, next) {
    const { headers } = request
    if (!isGuarded(headers) && headers['if-none-match'] === undefined) {
      if (plan.required)
        refuse(request, reply, new ProblemError('precondition-required', { detail: howToGuard }), next)
      else next()
      return
    }
    findThen(find, request, next, (found) => decide(request, reply, found, next))
  }
}

/** Ends a request whose precondition does not hold. */
export function refuseFailed(
  request: FastifyRequest,
  reply: FastifyReply,
  counts: CachingCounts,
  next: (error: Error) => void,
): void {
  counts.preconditionFailed++
  refuse(request, reply, new ProblemError('precondition-failed', { detail: whatChanged(request) }), next)
}

interface WithVersion extends FastifyRequest {
  [expectedVersionOf]?: ResourceVersion | null | undefined
}

const howToGuard =
  'Say what is to be changed: If-Match with the ETag of what was read, or If-None-Match: * for what is new'

function whatChanged({ headers }: FastifyRequest): string {
  if (headers['if-match'] !== undefined) return 'If-Match does not name what is there now: read it again'
  if (headers['if-none-match'] !== undefined) return 'If-None-Match names what is there already'
  return 'It was modified since: read it again'
}

function readValidators({ etag, lastModified, version }: RouteValidators, now: number) {
  const date = typeof lastModified === 'number' ? new Date(lastModified) : lastModified
  const modified = date === undefined ? null : latestTime([date], now)
  const tag =
    etag ?? (version === undefined ? undefined : formatEntityTag({ weak: false, opaque: String(version) }))
  return { etag: tag, ...(modified === null ? {} : { lastModified: modified }) }
}

function findThen(
  find: FindValidators,
  request: FastifyRequest,
  next: Next,
  decide: (found: RouteValidators | null) => void,
): void {
  try {
    const found = find(request)
    if (found instanceof Promise) found.then(decide).catch(next)
    else decide(found)
  } catch (error) {
    next(error as Error)
  }
}
