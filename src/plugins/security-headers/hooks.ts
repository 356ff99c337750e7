import type { FastifyReply, FastifyRequest, onRequestHookHandler, onSendHookHandler } from 'fastify'
import { isResponse } from '../../fastify/payloads.js'
import { mediaTypeOf } from '../../http/media-types.js'
import type { Reporter } from '../../rules/report.js'
import type { Fields, HelmetOutput } from './helmet-output.js'

/** Returns the headers of the request's route; `null` for none. */
export type OutputOf = (request: FastifyRequest) => HelmetOutput | null

/** The `onRequest` hook that sets the headers of a configuration. What is there already stays. */
export function setSecurityHeaders(outputOf: OutputOf): onRequestHookHandler {
  return function securityHeadersOnRequest(request, reply, next): void {
    const output = outputOf(request)
    if (output === null) {
      next()
      return
    }
    setMissing(reply, fieldsFor(request, output))
    const { perRequest } = output
    if (perRequest === null) next()
    else {
      perRequest
        .prepare(request, reply)
        .then(() => perRequest.apply(request, reply, () => {}))
        .then(() => next(), next)
    }
  }
}

function setMissing(reply: FastifyReply, fields: Fields): void {
  for (const name in fields) if (!reply.hasHeader(name)) reply.header(name, fields[name])
}

/**
 * The `onSend` hook that gives way: to headers that the app has set, as @fastify/helmet does on the raw response, and to
 * a page, which the policy of an API would break. The report lists the routes.
 */
export function giveWay(outputOf: OutputOf, reporter: Reporter): onSendHookHandler {
  const told = new Set<string>()

  function tell(request: FastifyRequest, names: readonly string[], reason: string): void {
    const { method, routeOptions } = request
    const route = `${method} ${routeOptions.url ?? '*'}`
    const key = `${route} ${names.join()} ${reason}`
    if (told.has(key)) return
    told.add(key)
    reporter.addException({ plugin: 'securityHeaders', route, rules: names, reason, unused: false })
  }

  return function giveWayOnSend(request, reply, payload, next): void {
    const output = outputOf(request)
    if (output === null) {
      next(null, payload)
      return
    }
    const fields = fieldsFor(request, output)
    const theirs = theirFields(reply, fields)
    if (theirs !== null) tell(request, theirs, 'set by the app')
    if (isPage(reply, payload) && dropsPolicy(reply, output)) tell(request, [policyName], 'a page: text/html')
    next(null, payload)
  }
}

const policyName = 'content-security-policy'

/** Puts what is on the raw response in the place of ours. Returns the names of what the app has set; `null` for none. */
function theirFields(reply: FastifyReply, fields: Fields): string[] | null {
  let names: string[] | null = null
  // Fastify keeps the headers of a reply apart until they are sent: most raw responses have none yet.
  const hasRaw = reply.raw.getHeaderNames().length > 0
  for (const name in fields) {
    const value = reply.getHeader(name)
    const isOurs = value === fields[name]
    const raw = hasRaw ? reply.raw.getHeader(name) : undefined
    if (isOurs && raw !== undefined) reply.header(name, raw)
    if ((!isOurs && value !== undefined) || (raw !== undefined && raw !== fields[name])) {
      names ??= []
      names.push(name)
    }
  }
  return names
}

function dropsPolicy(reply: FastifyReply, { pagePolicy }: HelmetOutput): boolean {
  if (pagePolicy === null || reply.getHeader(policyName) !== pagePolicy) return false
  reply.removeHeader(policyName)
  return true
}

// Most answers are JSON: their media type need not be read.
const startsAsText = /^t/i

function isPage(reply: FastifyReply, payload: unknown): boolean {
  const type = isResponse(payload) ? payload.headers.get('content-type') : reply.getHeader('content-type')
  return typeof type === 'string' && startsAsText.test(type) && mediaTypeOf(type) === 'text/html'
}

/** The `onSend` hook that counts the answers without the headers of a configuration, and changes nothing. */
export function observeSecurityHeaders(outputOf: OutputOf, reporter: Reporter): onSendHookHandler {
  return function observeSecurityHeadersOnSend(request, reply, payload, next): void {
    const output = outputOf(request)
    const missing = output === null ? [] : missingFields(reply, fieldsFor(request, output))
    if (missing.length > 0) {
      reporter.observe('securityHeaders', 'missing', request, `without ${missing.join(', ')}`)
    }
    next(null, payload)
  }
}

// RFC 6797 §7.2: no Strict-Transport-Security but over TLS; behind a proxy that is trusted, what that says counts.
function fieldsFor(request: FastifyRequest, { plain, secure }: HelmetOutput): Fields {
  return plain === secure || request.protocol !== 'https' ? plain : secure
}

function missingFields(reply: FastifyReply, fields: Fields): string[] {
  return Object.keys(fields).filter((name) => !reply.hasHeader(name) && !reply.raw.hasHeader(name))
}
