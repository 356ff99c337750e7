import type { IncomingMessage } from 'node:http'
import { isFramingFaulty } from '../../convention/early-answers.js'
import { negotiates } from '../../convention/selection.js'
import type { Effect, PayloadStep, RequestStep } from '../../convention/steps.js'
import { isCoded } from '../../convention/unsupported-media-type.js'
import { isHostValue, isRepeated } from '../../http/header-fields.js'
import { acceptsAny } from '../../http/media-types.js'
import { notAcceptable, ProblemError } from '../../problem/problem-error.js'
import { retryAfter } from '../../problem/send-problem.js'
import { clip } from '../../text.js'

/** Returns the step that refuses requests wherever they go to: without a valid `Host`, or while the server closes. */
export function admission(isClosing: () => boolean): RequestStep {
  return function admit(request) {
    const { raw } = request
    const fault = hostFault(raw)
    const refused =
      fault !== null
        ? effect('header-fields', new ProblemError('request-malformed', { detail: fault }))
        : isClosing()
          ? effect('server', closing())
          : undefined
    if (!isFramingFaulty(request)) return refused
    const closed = {
      rule: 'header-fields',
      given: 'Transfer-Encoding in HTTP/1.0',
      headers: { connection: 'close' },
    }
    return refused === undefined ? closed : [closed, refused]
  }
}

function closing(): ProblemError {
  const detail = 'The server is closing; try again'
  return new ProblemError('server-closing', { detail, headers: { 'retry-after': retryAfter } })
}

/** Returns what is wrong with the `Host` of a request (RFC 9112 §3.2); `null` if nothing is. */
function hostFault({
  headers,
  rawHeaders,
  httpVersionMajor,
  httpVersionMinor,
}: IncomingMessage): string | null {
  const host = headers.host ?? headers[':authority']
  if (host === undefined) {
    return httpVersionMajor === 1 && httpVersionMinor === 1
      ? 'An HTTP/1.1 request must have a Host header'
      : null
  }
  if (isRepeated(rawHeaders, 'host')) return 'A request must have exactly one Host header'
  return isHostValue(String(host)) ? null : 'The Host header must be a host, with or without a port'
}

/** Returns the step that refuses requests which the route cannot answer, or whose body it cannot read. */
export function negotiation(produced: readonly string[] | null): PayloadStep {
  return function negotiate(request, _reply, payload) {
    const { expect, accept } = request.raw.headers
    // Node.js handles 100-continue (RFC 9110 §10.1.1).
    if (expect !== undefined && !/(?:^|\W)100-continue(?:$|\W)/i.test(expect)) {
      const detail = 'The only supported expectation is 100-continue'
      return effect('header-fields', new ProblemError('expectation-failed', { detail }))
    }
    if (produced !== null && accept !== undefined && accept !== '*/*' && !produced.includes(accept)) {
      if (negotiates.of(request) !== true && !acceptsAny(accept, produced)) {
        return {
          ...effect('accept', notAcceptable(produced)),
          given: `Accept takes none of ${produced.join(', ')}`,
        }
      }
    }
    // A hook of the app that decodes passes on another stream, or removes the header.
    return payload === request.raw && isCoded(request)
      ? effect('content', codedProblem(request.raw.headers['content-encoding']))
      : undefined
  }
}

function codedProblem(codings = ''): ProblemError {
  const coding = clip(codings, 100)
  // RFC 9110 §15.5.16: a 415 for a coding names the supported ones.
  return new ProblemError('unsupported-media-type', {
    detail: `Content-Encoding ${coding} is not supported here`,
    headers: { 'accept-encoding': 'identity' },
  })
}

function effect(rule: string, refusal: ProblemError): Effect {
  return { rule, given: refusal.message, refusal }
}
