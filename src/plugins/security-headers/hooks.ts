import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest, onRequestHookHandler, onSendHookHandler } from 'fastify'
import { isResponse } from '../../fastify/payloads.js'
import { mediaTypeOf } from '../../http/media-types.js'
import type { Reporter } from '../../rules/report.js'
import type { Fields, SecurityFields, SetPolicy } from './fields.js'

/** Returns the headers of the request's route; `null` for none. */
export type FieldsOf = (request: FastifyRequest) => SecurityFields | null

/** Returns the `onRequest` hook that sets the headers that the reply does not have yet. */
export function setSecurityHeaders(fieldsOf: FieldsOf): onRequestHookHandler {
  return function securityHeadersOnRequest(request, reply, next): void {
    const all = fieldsOf(request)
    if (all === null) {
      next()
      return
    }
    const fields = fieldsFor(request, all)
    for (const name in fields) if (isMissing(reply, name)) reply.header(name, fields[name])
    if (all.setPolicy === null) next()
    else setPolicyOf(request, reply, all.setPolicy, next)
  }
}

function setPolicyOf(
  { raw: request }: FastifyRequest,
  reply: FastifyReply & { cspNonce?: object },
  setPolicy: SetPolicy,
  next: (error?: Error) => void,
): void {
  let failure: unknown
  // The types of HTTP/2 differ; helmet reads the request only in functions of the app.
  const nonces = setPolicy(request as IncomingMessage, reply.raw as ServerResponse, (error) => {
    failure = error
  })
  if (nonces !== null) reply.cspNonce = nonces
  next(failure as Error | undefined)
}

/** Returns the `onSend` hook that counts the responses that lack headers, and changes nothing. */
export function observeSecurityHeaders(fieldsOf: FieldsOf, reporter: Reporter): onSendHookHandler {
  return function observeSecurityHeadersOnSend(request, reply, payload, next): void {
    const all = fieldsOf(request)
    const names = all === null ? [] : Object.keys(fieldsFor(request, all))
    const missing = names.filter((name) => isMissing(reply, name))
    if (missing.length > 0) {
      reporter.observe('securityHeaders', 'missing', request, `without ${missing.join(', ')}`)
    }
    next(null, payload)
  }
}

function isMissing(reply: FastifyReply, name: string): boolean {
  return !reply.hasHeader(name) && !reply.raw.hasHeader(name)
}

/**
 * Returns the `onSend` hook that keeps what the app has set, on the reply or on the raw response as @fastify/helmet does,
 * and takes the policy of an API from pages. The report lists the routes.
 */
export function keepHeadersOfApp(fieldsOf: FieldsOf, reporter: Reporter): onSendHookHandler {
  function report(request: FastifyRequest, names: readonly string[], reason: string): void {
    const { method, routeOptions } = request
    const route = `${method} ${routeOptions.url ?? '*'}`
    reporter.addExceptionOnce({ plugin: 'securityHeaders', route, rules: names, reason, unused: false })
  }

  return function keepHeadersOfAppOnSend(request, reply, payload, next): void {
    const all = fieldsOf(request)
    if (all !== null) {
      const names = keepFieldsOfApp(reply, fieldsFor(request, all))
      if (names !== null) report(request, names, 'set by the app')
      if (isPage(reply, payload) && removePolicy(reply, all))
        report(request, [policyName], 'a page: text/html')
    }
    next(null, payload)
  }
}

const policyName = 'content-security-policy'

/** Replaces fields that the app has set on the raw response. Returns the names of all that the app has set; `null` for none. */
function keepFieldsOfApp(reply: FastifyReply, fields: Fields): string[] | null {
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

function removePolicy(reply: FastifyReply, { pagePolicy }: SecurityFields): boolean {
  if (reply.getHeader(policyName) !== pagePolicy) return false
  reply.removeHeader(policyName)
  return true
}

// Most responses are JSON: their media type need not be parsed.
const startsAsText = /^t/i

function isPage(reply: FastifyReply, payload: unknown): boolean {
  const type = isResponse(payload) ? payload.headers.get('content-type') : reply.getHeader('content-type')
  return typeof type === 'string' && startsAsText.test(type) && mediaTypeOf(type) === 'text/html'
}

// RFC 6797 §7.2: Strict-Transport-Security over TLS only. `protocol` is that of the trusted proxy, if there is one.
function fieldsFor(request: FastifyRequest, { plain, secure }: SecurityFields): Fields {
  return plain === secure || request.protocol !== 'https' ? plain : secure
}
