import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { isFramingFaulty } from '../../convention/early-answers.js'
import { checkJsonBodies } from '../../convention/json-bodies.js'
import { jsonSchemasOf } from '../../convention/route-schemas.js'
import { negotiates } from '../../convention/selection.js'
import type { Effect, PayloadStep, RequestStep } from '../../convention/steps.js'
import { isCoded } from '../../convention/unsupported-media-type.js'
import { isHostValue, isRepeated } from '../../http/header-fields.js'
import { acceptsAny } from '../../http/media-types.js'
import { notAcceptable, ProblemError } from '../../problem/problem-error.js'
import { declareStyle, retryAfter, sending } from '../../problem/send-problem.js'
import { reporterOf } from '../../report/report.js'
import { producedTypes } from '../../schema/responses.js'
import { clip } from '../../text.js'
import { type ErrorRewriter, errorAnswers, modeOfRoute } from './hooks.js'
import { describeErrors, documentedErrors } from './openapi.js'
import {
  type ProblemsOptions,
  type ProblemsRouteOptions,
  problemsOptions,
  problemsRouteOptions,
} from './options.js'

export { isProblemError, ProblemError, type ProblemErrorOptions } from '../../problem/problem-error.js'
export type { ProblemsOptions, ProblemsRouteOptions } from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options for the errors of this route; `false` turns the plugin off. */
    problems?: ProblemsRouteOptions | false
  }
}

/**
 * Answers every error with a problem document (RFC 9457), whatever the client accepts: errors that are thrown, validation
 * errors with JSON Pointers, 404, 405 with `Allow`, 406, 413, 415 with `Accept-Patch`, and error bodies that a handler
 * sends itself. The cause of a 5xx is in the log only, under the request id that the client gets.
 *
 * Error handlers of the app have precedence for errors of the app. Refusals by this package and by Fastify are answered
 * here, see {@link ProblemsOptions.refusals}. So is a `ProblemError` that a handler of the app does not know: it answers
 * 500 to a problem of another status, or passes the error on. Errors that no hook sees (a malformed URL, a broken request
 * line) need `serverOptions()`. Streams are sent unchanged.
 *
 * Not for an app whose clients depend on another error format: start with `mode: 'report'`.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const problems: FastifyPluginAsync<ProblemsOptions & RegistrationOptions> = convention({
  name: 'problems',
  rules: ['server', 'header-fields', 'accept', 'content', 'body'],
  options: problemsOptions,
  routeOptions: problemsRouteOptions,
  setUp({ app, options, atReady, addFinding }) {
    const contexts = new Set<FastifyInstance>()
    // Set while the server closes.
    let closing: 'refuse' | 'serve' | null = null
    const answers = errorAnswers(app, options, contexts)
    declareStyle(app, options)
    sending.declare(app)
    if (options.mode === 'enforce') {
      app.addHook('onReady', (done) => {
        passOnAll(app)
        done()
      })
    }
    app.addHook('preClose', function endConnections(done) {
      closing = options.whileClosing
      // For a response that has begun, such as a stream: its client was told to keep the connection.
      if (options.mode === 'enforce') app.server.keepAliveTimeout = idleWhileClosing
      done()
    })
    /** Adds what leaves errors in another format. None of it stops the boot. */
    function find(route: string, rule: string, problem: string, instead: string): void {
      addFinding({ route, mode: 'report', rule, problem, instead }, 'none')
    }
    atReady(function checkApp() {
      if (options.mode === 'enforce' && answers.isNotFoundOfApp(app)) {
        const problem =
          'a not-found handler of the app answers paths without a route, and other methods on known paths'
        find('*', 'not-found-handler', problem, 'remove the handler')
      }
      for (const context of contexts) {
        checkJsonBodies(context, (request) => modeOfRoute.of(request) ?? 'off', reporterOf(app))
      }
    })
    const onSend = completion(answers.rewrite, () => closing !== null)
    const steps = { onRequest: admission(() => closing === 'refuse'), onSend }
    return { answers, contexts, find, codes: options.codes, steps }
  },
  route({ app, name, route, methods, options, exclusionReason, atReady, state }) {
    const { answers, contexts, find, steps } = state
    const { mode } = options
    if (route === null) return mode === 'off' ? undefined : steps
    const hasHandler = answers.note(route, mode)
    if (mode === 'off') return undefined
    contexts.add(app)
    if (exclusionReason === null) {
      atReady(function checkFormat() {
        if (options.errorHandler === 'leave' && answers.isOfApp(app, hasHandler)) {
          const instead = "problems: { errorHandler: 'wrap' }, or remove the handler"
          find(name, 'error-handler', 'an error handler of the app answers its errors', instead)
        } else {
          for (const { rule, problem, instead } of documentedErrors(jsonSchemasOf(route)?.response))
            find(name, rule, problem, instead)
        }
      })
    }
    const produced = producedTypes(route.schema?.response)
    const plan = { ...steps, preParsing: negotiation(produced) }
    if (mode === 'report') return plan
    route.errorHandler = answers.ofRoute(route.errorHandler)
    const codes = (options.codes ?? state.codes) === undefined ? null : { ...state.codes, ...options.codes }
    // Fastify's type leaves this option out.
    const { handlerTimeout: ofServer = 0 } = app.initialConfig as { readonly handlerTimeout?: number }
    const hasTimeout = (route.handlerTimeout ?? ofServer) > 0
    return { ...plan, describe: describeErrors(route, methods, produced, codes, hasTimeout) }
  },
})

/** Makes Node.js pass on requests with an unknown `Expect`, and all header fields: it ignores those after the 1,000th. */
function passOnAll({ server, initialConfig }: FastifyInstance): void {
  if (server.listenerCount('checkExpectation') === 0) {
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      server.emit('request', request, response)
    })
  }
  // HTTP/2 has its own limit.
  if (initialConfig.http2 !== true) server.maxHeadersCount ??= 0
}

/** Milliseconds for which a connection of HTTP/1.1 may be idle while the server closes. Node.js has 5,000, Fastify 72,000. */
const idleWhileClosing = 1_000

const closesConnection: Effect = {
  rule: 'server',
  given: 'a connection that stays open while the server closes',
  headers: { connection: 'close' },
}

/** Returns the step that completes a response: its error body, and while the server closes, the end of the connection. */
function completion(rewrite: ErrorRewriter, isClosing: () => boolean): PayloadStep {
  return function complete(request, reply, payload) {
    const body = rewrite(request, reply, payload)
    if (!isClosing() || request.raw.httpVersionMajor > 1 || body instanceof Promise) return body
    return body === undefined ? closesConnection : [closesConnection, body]
  }
}

/** Returns the step that refuses requests wherever they go to: without a valid `Host`, or while the server closes. */
function admission(isRefusing: () => boolean): RequestStep {
  return function admit(request) {
    const { raw } = request
    const fault = hostFault(raw)
    let refused: Effect | undefined
    if (fault !== null)
      refused = effect('header-fields', new ProblemError('request-malformed', { detail: fault }))
    else if (isRefusing()) refused = effect('server', serverClosing())
    if (!isFramingFaulty(request)) return refused
    const given = 'Transfer-Encoding in HTTP/1.0'
    const closed = { rule: 'header-fields', given, headers: { connection: 'close' } }
    return refused === undefined ? closed : [closed, refused]
  }
}

function serverClosing(): ProblemError {
  const detail = 'The server is closing; try again'
  return new ProblemError('server-closing', { detail, headers: { 'retry-after': retryAfter } })
}

/** Returns what is wrong with the `Host` of a request (RFC 9112 §3.2); `null` if nothing is. */
function hostFault({ headers, rawHeaders, httpVersion }: IncomingMessage): string | null {
  const host = headers.host ?? headers[':authority']
  if (host === undefined) return httpVersion === '1.1' ? 'An HTTP/1.1 request must have a Host header' : null
  if (isRepeated(rawHeaders, 'host')) return 'A request must have exactly one Host header'
  return isHostValue(String(host)) ? null : 'The Host header must be a host, with or without a port'
}

/** Returns the step that refuses requests which the route cannot answer, or whose body it cannot read. */
function negotiation(produced: readonly string[] | null): PayloadStep {
  return function negotiate(request, _reply, payload) {
    const { expect, accept } = request.raw.headers
    // Node.js handles 100-continue (RFC 9110 §10.1.1).
    if (expect !== undefined && !/(?:^|\W)100-continue(?:$|\W)/i.test(expect)) {
      const detail = 'The only supported expectation is 100-continue'
      return effect('header-fields', new ProblemError('expectation-failed', { detail }))
    }
    if (produced !== null && accept !== undefined && accept !== '*/*' && !produced.includes(accept)) {
      if (negotiates.of(request) !== true && !acceptsAny(accept, produced)) {
        const given = `Accept takes none of ${produced.join(', ')}`
        return { rule: 'accept', given, refusal: notAcceptable(produced) }
      }
    }
    // A hook of the app that decodes passes on another stream, or removes the header.
    if (payload !== request.raw || !isCoded(request)) return undefined
    const coding = clip(request.raw.headers['content-encoding'] ?? '', 100)
    // RFC 9110 §15.5.16: a 415 for a coding names the supported ones.
    const refusal = new ProblemError('unsupported-media-type', {
      detail: `Content-Encoding ${coding} is not supported here`,
      headers: { 'accept-encoding': 'identity' },
    })
    return effect('content', refusal)
  }
}

function effect(rule: string, refusal: ProblemError): Effect {
  return { rule, given: refusal.message, refusal }
}
