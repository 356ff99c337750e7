import type { FastifyReply, FastifyRequest } from 'fastify'
import { headerOf } from '../../fastify/header-of.js'
import { formatHttpDate } from '../../http/http-date.js'
import type { Validators } from '../../http/preconditions.js'
import { mergeVary } from '../../http/vary.js'
import type { CachingPlan } from './plan.js'
import { droppedFrom304, isDroppedFrom304 } from './retained-headers.js'
import { withPrivate } from './with-private.js'

/**
 * Sets `Cache-Control` and `Expires` of what is read and is no error. What the handler says of its answer stays, and gets
 * `private` where the caller has credentials and nothing says who may store it.
 */
export function setFreshness(
  request: FastifyRequest,
  reply: FastifyReply,
  plan: CachingPlan,
  status: number,
): void {
  const isOfTheMoment = status === 302 || status === 303 || status === 307
  // An operation that goes on says something else each time, and a login is not to be redirected to for an hour.
  const ofNow = status === 202 ? 'no-store' : isOfTheMoment && plan.isStored ? 'no-cache' : null
  if (plan.cacheControl !== null) setCacheControl(request, reply, plan, plan.cacheControl, ofNow)
  const { expires } = plan
  if (expires === null || isOfTheMoment || reply.hasHeader('expires')) return
  if (expires.at > plan.now()) reply.header('expires', expires.value)
}

function setCacheControl(
  request: FastifyRequest,
  reply: FastifyReply,
  plan: CachingPlan,
  ofRoute: string,
  ofNow: string | null,
): void {
  const given = plan.confidential ? 'no-store' : (headerOf(reply, 'cache-control') ?? ofNow)
  const isPrivate = plan.isAuthenticated(request)
  // The route's was completed at boot.
  const value =
    given === null ? (isPrivate ? plan.privateCacheControl : ofRoute) : isPrivate ? withPrivate(given) : given
  reply.header('cache-control', value)
}

/** An error is of the moment, and none of the representation that was to be sent. */
export function forbidStoring(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
  dropValidators(reply)
  drop(reply, 'expires')
}

/** The `onError` hook: an answer may fail when it is finished, in a later hook or in a stream, and is another one then. */
export function forbidStoringErrors(
  _request: FastifyRequest,
  reply: FastifyReply,
  _error: unknown,
  next: () => void,
): void {
  forbidStoring(reply)
  next()
}

/** Sets the validators of a representation that have not been set yet. */
export function setValidators(reply: FastifyReply, { etag, lastModified }: Validators): void {
  if (etag !== undefined && !reply.hasHeader('etag')) reply.header('etag', etag)
  if (lastModified !== undefined && !reply.hasHeader('last-modified'))
    reply.header('last-modified', formatHttpDate(lastModified))
}

/** Takes away the validators of a representation that is not sent. */
export function dropValidators(reply: FastifyReply): void {
  drop(reply, 'etag')
  drop(reply, 'last-modified')
}

/** Takes away what a 304 does not have (RFC 9110 §15.4.5). */
export function dropFor304(reply: FastifyReply): void {
  const hasEtag = reply.hasHeader('etag')
  for (const name of droppedFrom304) drop(reply, name)
  if (isDroppedFrom304('last-modified', hasEtag)) drop(reply, 'last-modified')
}

// Removing makes all later work on the headers slow, even where there was nothing to remove.
function drop(reply: FastifyReply, name: string): void {
  if (reply.hasHeader(name)) reply.removeHeader(name)
}

/** The `onRequest` hook that says what a route's answers depend on, the refused ones too. */
export function varyBy(names: readonly string[]) {
  return function varyOnRequest(_request: FastifyRequest, reply: FastifyReply, next: () => void): void {
    reply.header('vary', mergeVary(headerOf(reply, 'vary'), names))
    next()
  }
}

const varyOfRoute = Symbol('fastify-conventions.caching.vary')

/** Returns the members of a route's `config` that say what its answers depend on. */
export function varyConfig(names: readonly string[]): object {
  return { [varyOfRoute]: names }
}

/** Says what a route's answers depend on where the request is refused before {@link varyBy} runs. */
export function varyEarly(request: FastifyRequest, reply: FastifyReply, next: () => void): void {
  const config = request.routeOptions.config as { readonly [varyOfRoute]?: readonly string[] } | undefined
  const names = config?.[varyOfRoute]
  if (names === undefined) next()
  else varyBy(names)(request, reply, next)
}

/** Says that the answer depends on the content coding that the caller takes. */
export function varyByCoding(reply: FastifyReply): void {
  const vary = headerOf(reply, 'vary')
  if (vary === undefined) reply.header('vary', 'accept-encoding')
  else if (!namesCoding.test(vary)) reply.header('vary', `${vary}, accept-encoding`)
}

const namesCoding = /(?:^|[\s,])(?:\*|accept-encoding)(?:[\s,]|$)/i
