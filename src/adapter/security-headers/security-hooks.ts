import type { FastifyReply, FastifyRequest, onRequestHookHandler, onSendHookHandler } from 'fastify'
import type { Reporter } from '../report.js'
import type { Fields, HelmetOutput } from './helmet-output.js'

/** The `onRequest` hook that sets the headers of a configuration. */
export function setSecurityHeaders({ plain, secure, perRequest }: HelmetOutput): onRequestHookHandler {
  if (perRequest !== null) {
    return function securityHeadersByHelmet(request, reply, next): void {
      reply.headers(isSecure(request) ? secure : plain)
      perRequest
        .prepare(request, reply)
        .then(() => perRequest.apply(request, reply, () => {}))
        .then(() => next(), next)
    }
  }
  if (plain === secure) {
    return function securityHeadersOnRequest(_request, reply, next): void {
      reply.headers(plain)
      next()
    }
  }
  return function securityHeadersOnRequest(request, reply, next): void {
    reply.headers(isSecure(request) ? secure : plain)
    next()
  }
}

/** The `onRequest` hook of a route that takes away what was set for all, where it is still there. */
export function takeSecurityHeaders({ secure }: HelmetOutput): onRequestHookHandler {
  const fields = Object.entries(secure)
  return function noSecurityHeadersOnRequest(_request, reply, next): void {
    for (const [name, value] of fields) if (reply.getHeader(name) === value) reply.removeHeader(name)
    next()
  }
}

/** The `onSend` hook that counts the answers without the headers of a configuration, and changes nothing. */
export function observeSecurityHeaders(
  outputOf: (request: FastifyRequest) => HelmetOutput | null,
  reporter: Reporter,
): onSendHookHandler {
  return function observeSecurityHeadersOnSend(request, reply, payload, next): void {
    const output = outputOf(request)
    const missing =
      output === null ? [] : missingFields(reply, isSecure(request) ? output.secure : output.plain)
    if (missing.length > 0) {
      reporter.observe('securityHeaders', 'missing', request, `without ${missing.join(', ')}`)
    }
    next(null, payload)
  }
}

// RFC 6797 §7.2: no Strict-Transport-Security but over TLS; behind a proxy that is trusted, what that says counts.
function isSecure(request: FastifyRequest): boolean {
  return request.protocol === 'https'
}

function missingFields(reply: FastifyReply, fields: Fields): string[] {
  return Object.keys(fields).filter((name) => !reply.hasHeader(name) && !reply.raw.hasHeader(name))
}
