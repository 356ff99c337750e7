import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest, onRequestHookHandler, onSendHookHandler } from 'fastify'
import type { HasNeighbour } from '../../fastify/neighbours.js'
import { isResponse } from '../../fastify/payloads.js'
import { mediaTypeOf } from '../../http/media-types.js'
import type { Reporter } from '../../rules/report.js'
import type { Fields, Profile, SecurityFields, SetPolicy } from './fields.js'

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
export function observeSecurityHeaders(
  fieldsOf: FieldsOf,
  hasHelmet: HasNeighbour,
  reporter: Reporter,
): onSendHookHandler {
  return function observeSecurityHeadersOnSend(request, reply, payload, next): void {
    const all = fieldsOf(request)
    const profile = all?.ofPage != null && isPage(reply, payload) ? all.ofPage : all
    const fields = profile === null ? {} : fieldsFor(request, profile)
    const names = hasHelmet(request) && hasRawField(reply, fields) ? [] : Object.keys(fields)
    const missing = names.filter((name) => isMissing(reply, name))
    if (missing.length > 0) {
      reporter.observe('securityHeaders', 'missing', request, `without ${missing.join(', ')}`, 'header added')
    }
    next(null, payload)
  }
}

function isMissing(reply: FastifyReply, name: string): boolean {
  return !reply.hasHeader(name) && !reply.raw.hasHeader(name)
}

/**
 * Returns the `onSend` hook that keeps what the app has set, on the reply or on the raw response as @fastify/helmet does,
 * and gives pages the headers of pages. The report lists the routes.
 */
export function keepHeadersOfApp(
  fieldsOf: FieldsOf,
  hasHelmet: HasNeighbour,
  reporter: Reporter,
): onSendHookHandler {
  function report(request: FastifyRequest, names: readonly string[], reason: string): void {
    const { method, routeOptions } = request
    const route = `${method} ${routeOptions.url ?? '*'}`
    reporter.addExceptionOnce({ plugin: 'securityHeaders', route, rules: names, reason, unused: false })
  }

  return function keepHeadersOfAppOnSend(request, reply, payload, next): void {
    const all = fieldsOf(request)
    if (all !== null) {
      const fields = fieldsFor(request, all)
      const isOfHelmet = hasHelmet(request) && hasRawField(reply, fields)
      const names = keepFieldsOfApp(reply, fields, isOfHelmet)
      if (names !== null) report(request, names, 'set by the app')
      if (!isOfHelmet && all.ofPage !== null && isPage(reply, payload)) {
        const changed = setFieldsOfPage(reply, fields, fieldsFor(request, all.ofPage))
        report(request, changed, 'a page (text/html): it has the headers of helmet')
      }
    }
    next(null, payload)
  }
}

/** Whether a raw response has one of the fields: @fastify/helmet sets its headers there. */
function hasRawField({ raw }: FastifyReply, fields: Fields): boolean {
  return raw.getHeaderNames().some((name) => name in fields)
}

/**
 * Replaces fields that the app has set on the raw response. A field that @fastify/helmet leaves out is left out. Returns the
 * names of all that the app has set; `null` for none.
 */
function keepFieldsOfApp(reply: FastifyReply, fields: Fields, isOfHelmet: boolean): string[] | null {
  let names: string[] | null = null
  // Fastify keeps the headers of a reply apart until they are sent: most raw responses have none yet.
  const hasRaw = reply.raw.getHeaderNames().length > 0
  for (const name in fields) {
    const value = reply.getHeader(name)
    const isOurs = value === fields[name]
    const raw = hasRaw ? reply.raw.getHeader(name) : undefined
    if (isOurs && raw !== undefined) reply.header(name, raw)
    else if (isOurs && isOfHelmet) reply.removeHeader(name)
    if ((!isOurs && value !== undefined) || (raw !== undefined && raw !== fields[name])) {
      names ??= []
      names.push(name)
    }
  }
  return names
}

/** Replaces the fields of an API by those of a page, except those that the app has set. Returns the names of the changed ones. */
function setFieldsOfPage(reply: FastifyReply, ofApi: Fields, ofPage: Fields): string[] {
  const isOurs = (name: string) => {
    const value = reply.getHeader(name)
    return value === undefined || value === ofApi[name]
  }
  const names = Object.keys({ ...ofApi, ...ofPage }).filter((name) => ofApi[name] !== ofPage[name])
  const changed = names.filter(isOurs)
  for (const name of changed) {
    const value = ofPage[name]
    if (value === undefined) reply.removeHeader(name)
    else reply.header(name, value)
  }
  return changed
}

// Most responses are JSON: their media type need not be parsed.
const startsAsText = /^t/i

function isPage(reply: FastifyReply, payload: unknown): boolean {
  const type = isResponse(payload) ? payload.headers.get('content-type') : reply.getHeader('content-type')
  return typeof type === 'string' && startsAsText.test(type) && mediaTypeOf(type) === 'text/html'
}

// RFC 6797 §7.2: Strict-Transport-Security over TLS only. `protocol` is that of the trusted proxy, if there is one.
function fieldsFor(request: FastifyRequest, { plain, secure }: Profile): Fields {
  return plain === secure || request.protocol !== 'https' ? plain : secure
}
