import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { headerOf } from '../../fastify/header-of.js'
import { isBytes, isResponse } from '../../fastify/payloads.js'
import { addHook } from '../../fastify/route.js'
import { parseHttpDate } from '../../http/http-date.js'
import { carriesRepresentation } from '../../http/preconditions.js'
import type { Reporter } from '../../rules/report.js'
import { carriesResource } from './answered-validators.js'
import { byteTag } from './byte-tag.js'
import { isConditional, isGuarded, verdictOn } from './conditional-request.js'
import { payloadDate } from './last-modified.js'
import type { CachingPlan } from './plan.js'
import { hookFor, type RouteKind } from './route-kind.js'

type Next = (error: null, payload: unknown) => void

/** Adds the hooks of `report` mode to a route. */
export function observeRoute(
  route: RouteOptions,
  plan: CachingPlan,
  kind: RouteKind,
  reporter: Reporter,
): void {
  const onSend = hookFor(kind, observeReading(plan, reporter), observeStoring(plan, reporter))
  addHook(route, 'onSend', 'caching', onSend)
  if (kind !== 'writes') addHook(route, 'preSerialization', 'caching', observeDates(plan, reporter))
  if (kind !== 'reads' && plan.validators !== null)
    addHook(route, 'preHandler', 'caching', observeWriting(plan, reporter))
}

/** The `onSend` hook of `report` mode: counts what would be added to what is read, and changes nothing. */
function observeReading(plan: CachingPlan, reporter: Reporter) {
  const tell = (rule: string, request: FastifyRequest, what: string): void =>
    reporter.observe('caching', rule, request, what)

  return function observeReadingOnSend(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: Next,
  ): void {
    const status = isResponse(payload) ? payload.status : reply.statusCode
    if (status >= 400) {
      if (headerOf(reply, 'cache-control') !== 'no-store')
        tell('cache-control', request, 'an error would not be stored')
    } else {
      if (plan.cacheControl !== null && !reply.hasHeader('cache-control'))
        tell('cache-control', request, 'would get Cache-Control')
      if (carriesRepresentation(status) && !isResponse(payload)) observeValidators(request, reply, payload)
    }
    next(null, payload)
  }

  function observeValidators(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
    const lastModified = headerOf(reply, 'last-modified')
    const own = headerOf(reply, 'etag')
    const isTagged = reply.statusCode === 200 && own === undefined && plan.etag !== false && isBytes(payload)
    if (isTagged) tell('etag', request, 'would get an ETag')
    if (!isConditional(request.headers)) return
    const now = plan.now()
    const verdict = verdictOn(
      request,
      {
        etag: isTagged ? byteTag(payload) : own,
        lastModified: parseHttpDate(lastModified ?? '', now) ?? undefined,
      },
      now,
    )
    if (verdict === 'not-modified') tell('not-modified', request, 'would be answered with 304')
    if (verdict === 'precondition-failed') tell('precondition', request, 'would be refused with 412')
  }
}

/** The `onSend` hook of `report` mode on a route that is not read: counts answers that would be kept from caches. */
function observeStoring(plan: CachingPlan, reporter: Reporter) {
  return function observeStoringOnSend(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: Next,
  ): void {
    const given = headerOf(reply, 'cache-control')
    if (given === undefined || (reply.statusCode >= 400 && given !== 'no-store'))
      reporter.observe('caching', 'cache-control', request, 'would not be stored')
    if (plan.validatorsOf !== null && carriesResource(reply.statusCode) && !reply.hasHeader('etag'))
      reporter.observe('caching', 'etag', request, 'would get an ETag')
    next(null, payload)
  }
}

/** The `preSerialization` hook of `report` mode: counts answers that do not say when they were modified. */
function observeDates(plan: CachingPlan, reporter: Reporter) {
  return function observeDatesOnPreSerialization(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: Next,
  ): void {
    if (
      plan.tellsMissing &&
      request.method === 'GET' &&
      reply.statusCode === 200 &&
      !reply.hasHeader('last-modified')
    ) {
      const { lastModified: member } = plan
      const isDated = member !== false && payloadDate(payload, member, plan.now()) !== null
      if (!isDated) reporter.observe('caching', 'last-modified', request, 'a 200 without Last-Modified')
    }
    next(null, payload)
  }
}

/** The `preHandler` hook of `report` mode on a route that writes and whose preconditions would be evaluated. */
function observeWriting(plan: CachingPlan, reporter: Reporter) {
  return function observeWritingOnPreHandler(
    request: FastifyRequest,
    _reply: FastifyReply,
    next: () => void,
  ): void {
    const { headers } = request
    const hasPrecondition = isGuarded(headers) || headers['if-none-match'] !== undefined
    if (hasPrecondition) reporter.observe('caching', 'precondition', request, 'its precondition would count')
    else if (plan.required) reporter.observe('caching', 'precondition', request, 'would be refused with 428')
    next()
  }
}
