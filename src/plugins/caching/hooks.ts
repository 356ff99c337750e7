import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { tagInFormat } from '../../fastify/formats.js'
import { headerOf } from '../../fastify/header-of.js'
import { hookError } from '../../fastify/hook-error.js'
import { trailerNames } from '../../fastify/internals.js'
import { discard, isResponse } from '../../fastify/payloads.js'
import { addHook } from '../../fastify/route.js'
import { replySlot, requestSlot, routeSlot } from '../../fastify/slots.js'
import { formatHttpDate } from '../../http/http-date.js'
import { varyMerger } from '../../http/vary.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse, refuseOnSend } from '../../problem/send-problem.js'
import type { Observed } from '../../rules/findings.js'
import type { Reporter } from '../../rules/report.js'
import { tagCodedContent } from './compression.js'
import {
  decideRead,
  decideResponse,
  decideWrite,
  effectOn,
  missingDate,
  observationsOf,
  type PayloadValidators,
  payloadValidators,
  type ResponseChanges,
  removedFromErrors,
  writePrecondition,
} from './decision.js'
import type { ResourceVersion } from './options.js'
import type { CachingPlan } from './plan.js'
import { failureDetail, howToGuard, isRead, type Validators } from './preconditions.js'
import { findThen, readValidators } from './validators.js'

/** How many conditional requests were answered without all of the work, since the start. */
export interface CachingCounts {
  /** 304 from `validators`: the handler did not run. */
  notModifiedBeforeHandler: number
  /** 304 after the handler: its response was not sent. */
  notModifiedAfterHandler: number
  /** 412: a precondition did not hold. */
  preconditionFailed: number
}

const expectedVersion = requestSlot<ResourceVersion | null | undefined>('expectedVersion')
const foundInPayload = replySlot<PayloadValidators>('caching.found')
const varyOfRoute = routeSlot<RouteVary>('caching.vary')

type Next = (error: Error | null, payload?: unknown) => void

type Done = (error?: Error) => void

/** The hooks that routes with one plan share. */
export type CachingHooks = ReturnType<typeof cachingHooks>

/** Declares what the hooks keep on the requests and replies of a context. */
export function declareSlots(app: FastifyInstance): void {
  expectedVersion.declare(app)
  foundInPayload.declare(app)
}

/** The getter of `request.expectedVersion`. */
export function versionOf(this: FastifyRequest): ResourceVersion | null | undefined {
  return expectedVersion.get(this)
}

/** Returns the hooks of a plan. In `report` mode they count what they would change. */
export function cachingHooks(plan: CachingPlan, counts: CachingCounts, reporter: Reporter) {
  const { validators } = plan
  const isReport = plan.mode === 'report'
  let isMissingDateReported = false

  function observe(request: FastifyRequest, rule: string, example: string, does: Observed): void {
    reporter.observe('caching', rule, request, example, does)
  }

  function checkPreconditionsOnPreHandler(request: FastifyRequest, reply: FastifyReply, next: Done): void {
    if (!isRead(request.method)) checkWrite(request, reply, next)
    else if (isReport) next()
    else checkRead(request, reply, next)
  }

  function checkRead(request: FastifyRequest, reply: FastifyReply, next: Done): void {
    const now = plan.now()
    findThen(
      () => validators?.(request),
      next,
      (found) => {
        const known = found && readValidators(found, now)
        // The plugin `formats` completes the tag when the response is sent.
        if (known !== null) setValidators(reply, known)
        const etag = known?.etag && tagInFormat(request, known.etag)
        return decideRead(request, known && { ...known, etag }, now)
      },
      (verdict) => {
        if (verdict === 'not-modified') {
          counts.notModifiedBeforeHandler++
          reply.code(304).send()
        } else if (verdict === 'proceed') next()
        else refuse(request, reply, failed(request, reply), next)
      },
    )
  }

  function checkWrite(request: FastifyRequest, reply: FastifyReply, next: Done): void {
    const need = writePrecondition(plan, request)
    if (need === 'none') next()
    else if (isReport) {
      if (need === 'missing') observe(request, 'precondition', 'has no precondition', 428)
      else observe(request, 'precondition', 'would be refused if its precondition fails', 412)
      next()
    } else if (need === 'missing') {
      refuse(request, reply, new ProblemError('precondition-required', { detail: howToGuard }), next)
    } else {
      findThen(
        () => validators?.(request),
        next,
        (found) => {
          // Set for a 404 too: another request may create the resource before the handler runs.
          expectedVersion.set(request, found === null ? null : found.version)
          const now = plan.now()
          return decideWrite(request, found && readValidators(found, now), now)
        },
        (verdict) => {
          if (verdict === 'proceed') next()
          else refuse(request, reply, failed(request, reply), next)
        },
      )
    }
  }

  function failed(request: FastifyRequest, reply: FastifyReply): ProblemError {
    counts.preconditionFailed++
    forbidStoring(reply)
    return new ProblemError('precondition-failed', { detail: failureDetail(request.headers) })
  }

  function readPayloadOnPreSerialization(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: Next,
  ): void {
    let found: PayloadValidators | null = null
    try {
      found = payloadValidators(plan, { request, reply, payload })
    } catch (error) {
      if (!isReport) {
        next(hookError(error))
        return
      }
      observe(request, 'etag', `validatorsOf would fail: ${String(error)}`, 500)
    }
    if (found !== null) {
      if (!isReport) setMissingValidators(reply, found)
      if (isReport || found.isOfItems) foundInPayload.set(reply, found)
    }
    next(null, payload)
  }

  function finishOnSend(request: FastifyRequest, reply: FastifyReply, payload: unknown, next: Next): void {
    const found = foundInPayload.get(reply) ?? null
    // Plugins that compress decorate replies so.
    const isCompressed = 'compress' in reply
    const response = { request, reply, payload, found, isCompressed }
    if (isReport) {
      observeChanges(response)
      next(null, payload)
      return
    }
    const changes = decideResponse(plan, response)
    // Once per route, because counting costs as much as all other work here.
    if (changes.lacksDate && !isMissingDateReported) {
      isMissingDateReported = true
      observe(request, 'last-modified', missingDate, 'none')
    }
    applyChanges(reply, changes)
    if (changes.verdict === 'proceed') {
      if (changes.isTagged) tagCodedContent(reply.raw)
      next(null, payload)
      return
    }
    discard(payload)
    if (changes.verdict === 'precondition-failed') {
      refuseOnSend(request, reply, failed(request, reply), next)
      return
    }
    // The handler may have answered 304 itself.
    if (reply.statusCode !== 304 && !isResponse(payload)) counts.notModifiedAfterHandler++
    reply.code(304)
    // Node.js does not send trailers without content (RFC 9112 §7.1.2).
    for (const name of trailerNames(reply)) reply.removeTrailer(name)
    next(null, null)
  }

  // A function of the app that throws must not change a response in `report` mode.
  function observeChanges(
    response: Parameters<typeof decideResponse>[1] & { request: FastifyRequest },
  ): void {
    const { request } = response
    try {
      for (const [rule, example, does] of observationsOf(decideResponse(plan, response), response))
        observe(request, rule, example, does)
    } catch (error) {
      observe(request, 'cache-control', `isAuthenticated would fail: ${String(error)}`, 500)
    }
  }

  return { checkPreconditionsOnPreHandler, readPayloadOnPreSerialization, finishOnSend }
}

function applyChanges(reply: FastifyReply, changes: ResponseChanges): void {
  const { cacheControl, expires, vary, etag, removed } = changes
  if (cacheControl !== null) reply.header('cache-control', cacheControl)
  if (expires !== null) reply.header('expires', expires)
  if (vary !== null) reply.header('vary', vary)
  if (etag !== null) reply.header('etag', etag)
  for (const name of removed) removeHeader(reply, name)
}

/** Makes a response one that no cache stores, without validators. */
export function forbidStoring(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
  for (const name of removedFromErrors) removeHeader(reply, name)
}

/** The `onError` hook: a response may fail after `onSend`, in a later hook or in a stream, and is an error then. */
export function forbidStoringOnError(
  _request: FastifyRequest,
  reply: FastifyReply,
  _error: unknown,
  next: () => void,
): void {
  forbidStoring(reply)
  next()
}

function setValidators(reply: FastifyReply, { etag, lastModified }: Validators): void {
  if (etag !== undefined) reply.header('etag', etag)
  if (lastModified !== undefined) reply.header('last-modified', formatHttpDate(lastModified))
}

function setMissingValidators(reply: FastifyReply, { etag, lastModified }: Validators): void {
  setValidators(reply, {
    etag: reply.hasHeader('etag') ? undefined : etag,
    lastModified: reply.hasHeader('last-modified') ? undefined : lastModified,
  })
}

// In Fastify, removing a header makes all later work on the headers slow, even if the header was not there.
function removeHeader(reply: FastifyReply, name: string): void {
  if (reply.hasHeader(name)) reply.removeHeader(name)
}

/** The names that the responses of a route have in `Vary`, added to those of other plugins. */
export interface RouteVary {
  merge: (current: string | undefined) => string
}

/** Adds names to the `Vary` of all responses of a route, refusals and {@link varyEarly} included. */
export function addVary(route: RouteOptions, names: readonly string[]): RouteVary {
  const vary: RouteVary = { merge: varyMerger(names) }
  addHook(route, 'onRequest', 'caching', function varyOnRequest(_request, reply, next) {
    reply.header('vary', vary.merge(headerOf(reply, 'vary')))
    next()
  })
  varyOfRoute.set(route, vary)
  return vary
}

/** Adds the hook of `report` mode that counts responses that would get names in `Vary`. */
export function countVary(route: RouteOptions, names: readonly string[], reporter: Reporter): void {
  const merge = varyMerger(names)
  addHook(route, 'onSend', 'caching', function countVaryOnSend(request, reply, payload, next) {
    const current = headerOf(reply, 'vary')
    const vary = merge(current)
    if (vary !== current)
      reporter.observe('caching', 'vary', request, `would get Vary: ${vary}`, effectOn(reply, 'vary'))
    next(null, payload)
  })
}

/** Sets the `Vary` of a route for a request that is refused before the hooks of the route run. */
export function varyEarly(request: FastifyRequest, reply: FastifyReply, next: () => void): void {
  const vary = varyOfRoute.of(request)
  if (vary !== undefined) reply.header('vary', vary.merge(headerOf(reply, 'vary')))
  next()
}

/** Adds two hooks to a HEAD route that Fastify adds to a GET route. */
export function allowHead304(route: RouteOptions): void {
  addHook(route, 'onSend', 'caching:empty-304', function emptyNotModified(_request, reply, payload, next) {
    next(null, payload === null || reply.statusCode === 304 ? '' : payload)
  })
  addHook(route, 'onSend', 'caching:length-of-304', function dropLength(_request, reply, payload, next) {
    if (reply.statusCode === 304) reply.removeHeader('content-length')
    next(null, payload)
  })
}
