import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseEntityTags } from '../../http/entity-tag.js'
import { formatHttpDate } from '../../http/http-date.js'
import type { PreconditionVerdict } from '../../http/preconditions.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import { isConditional, isGuarded, namesTags, verdictOn } from './conditional-request.js'
import type { CachingCounts } from './counts.js'
import { findThen, readValidators } from './find-validators.js'
import { forbidStoring } from './headers.js'
import type { CachingPlan, FindValidators, ResourceVersion, RouteValidators } from './plan.js'

/** Where the version that a write may overwrite is kept, on its request. */
export const expectedVersionOf = Symbol.for('fastify-conventions.expectedVersion')

type Hook = (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) => void

/** The `preHandler` hook of a route that is read and has validators: answers 304 and 412 without the handler. */
export function validateBeforeReading(plan: CachingPlan, find: FindValidators, counts: CachingCounts): Hook {
  function judge(
    request: FastifyRequest,
    reply: FastifyReply,
    found: RouteValidators | null,
  ): PreconditionVerdict {
    // What is not there is the handler's to say: preconditions do not count for a 404 (RFC 9110 §13.2.1).
    if (found === null) return 'proceed'
    const now = plan.now()
    const validators = readValidators(found, now)
    const { etag, lastModified } = validators
    if (etag !== undefined) reply.header('etag', etag)
    if (lastModified !== undefined) reply.header('last-modified', formatHttpDate(lastModified))
    if (!isConditional(request.headers)) return 'proceed'
    // Without a tag here, that of the bytes counts, which the handler is yet to make.
    if (etag === undefined && namesTags(request.headers)) return 'proceed'
    return verdictOn(request, validators, now)
  }

  return function validateBeforeReadingOnPreHandler(request, reply, next) {
    findThen(
      find,
      request,
      next,
      (found) => judge(request, reply, found),
      (verdict) => {
        if (verdict === 'proceed') next()
        else if (verdict === 'precondition-failed') refuseFailed(request, reply, counts, next)
        else {
          counts.notModifiedBeforeHandler++
          reply.code(304).send()
        }
      },
    )
  }
}

/** The `preHandler` hook of a route that writes: nothing is overwritten that the caller has not seen. */
export function guardWrites(plan: CachingPlan, find: FindValidators, counts: CachingCounts): Hook {
  function judge(request: FastifyRequest, found: RouteValidators | null): PreconditionVerdict {
    const { method } = request
    // For the handler to compare, also where it is asked for what is not there: somebody may be making it.
    ;(request as WithVersion)[expectedVersionOf] = found === null ? null : found.version
    // RFC 9110 §13.2.1: without the precondition these would be a 404, and only PUT makes what was not there.
    if (found === null && (method === 'PATCH' || method === 'DELETE')) return 'proceed'
    const now = plan.now()
    return verdictOn(request, found === null ? { exists: false } : readValidators(found, now), now)
  }

  return function guardWritesOnPreHandler(request, reply, next) {
    const { headers } = request
    if (!isGuarded(headers) && headers['if-none-match'] === undefined) {
      if (!plan.required || request.method === 'OPTIONS') next()
      else refuse(request, reply, new ProblemError('precondition-required', { detail: howToGuard }), next)
      return
    }
    findThen(
      find,
      request,
      next,
      (found) => judge(request, found),
      (verdict) => {
        if (verdict === 'proceed') next()
        else refuseFailed(request, reply, counts, next)
      },
    )
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
  forbidStoring(reply)
  refuse(request, reply, new ProblemError('precondition-failed', { detail: whatChanged(request) }), next)
}

interface WithVersion extends FastifyRequest {
  [expectedVersionOf]?: ResourceVersion | null | undefined
}

const howToGuard =
  'Say what is to be changed: If-Match with the ETag of what was read, or If-None-Match: * for what is new'

function whatChanged({ headers }: FastifyRequest): string {
  const { 'if-match': matched, 'if-none-match': unmatched } = headers
  if (matched !== undefined) {
    const tags = parseEntityTags(matched)
    if (tags === null) return `If-Match ${isNoList}`
    if (tags !== '*' && tags.every(({ weak }) => weak))
      return 'If-Match compares strong entity tags; one that begins with W/ never matches (RFC 9110 §13.1.1)'
    return 'If-Match does not name what is there now: read it again'
  }
  if (unmatched !== undefined) {
    if (parseEntityTags(unmatched) === null) return `If-None-Match ${isNoList}`
    return 'If-None-Match names what is there already'
  }
  return 'It was modified since: read it again'
}

const isNoList =
  'has to be * or a list of entity tags, each in double quotes as ETag has it, such as "v7" (RFC 9110 §8.8.3)'
