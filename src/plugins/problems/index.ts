import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Session } from 'node:http2'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { checkJsonBodies, isEmptyForm } from '../../convention/bodies.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { headerOf, isCoded, isFramingFaulty, isRead, isResponse } from '../../convention/exchange.js'
import { jsonSchemasOf } from '../../convention/route-schemas.js'
import { negotiates } from '../../convention/selection.js'
import type { Effect, PayloadStep, RequestStep } from '../../convention/steps.js'
import { isHostValue, isRepeated } from '../../http/header-fields.js'
import { acceptsAny } from '../../http/media-types.js'
import {
  type Check,
  integer,
  invalid,
  isObject,
  listOf,
  type OptionsOf,
  oneOf,
  option,
  optional,
  text,
} from '../../options.js'
import { kebabCode, notAcceptable, ProblemError, problemMediaType } from '../../problem/problem-error.js'
import {
  defaultStyle,
  problemStyle,
  retryAfter,
  sending,
  typeBaseOption,
} from '../../problem/send-problem.js'
import { modeOption, routeMode } from '../../report/modes.js'
import { reporterOf } from '../../report/report.js'
import { declaresSuccess, producedTypes } from '../../schema/responses.js'
import { clip } from '../../text.js'
import { type ErrorRewriter, errorAnswers, modeOfRoute, passedOn } from './hooks.js'
import { describeErrors, documentedErrors } from './openapi.js'

export { changesOf, type RequestWithBody } from '../../convention/changes.js'
export { isProblemError, ProblemError, type ProblemErrorOptions } from '../../problem/problem-error.js'

const memberName = /^(?!(?:type|title|status|detail|instance|code|errors|__proto__)$)./s

const codes: Check<Readonly<Record<string, number>>> = (label, received) => {
  if (!isObject(received)) return invalid(label, 'an object of codes and their statuses', received)
  for (const [code, status] of Object.entries(received)) {
    if (kebabCode(code) !== code) invalid(label, 'codes in words joined by hyphens', code)
    integer(400, 599)(`${label}.${code}`, status)
  }
  return received as Readonly<Record<string, number>>
}

const problemsOptions = {
  /**
   * `enforce` answers every error with a problem document, `report` changes nothing and counts the responses that would
   * change, `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * The prefix of the `type` of a problem; the code follows. Best is a URL at which the codes are documented.
   * @default 'urn:problem-type:fastify-conventions:'
   */
  typeBase: typeBaseOption,
  /**
   * Whether requests that arrive while the server closes get 503 (`refuse`) or are served (`serve`). In both cases the
   * response ends its connection (RFC 9112 §9.6), and a session of HTTP/2 ends with its last stream, so that
   * `app.close()` need not wait for clients. Needs
   * `return503OnClosing: false`, which `serverOptions()` sets; Fastify's own 503 is not a problem document.
   * @default 'refuse'
   */
  whileClosing: option(oneOf('refuse', 'serve'), 'refuse'),
  /**
   * Who answers requests that this package refuses: 404, 405, 406, 412, 415, 428, 429, 503, a path, fields, a method
   * override … `answer` sends a problem, whatever error handler the app has. `errorHandler` passes a `ProblemError` to the
   * error handler of the route, with its status and headers on the reply. Applies in every `mode`.
   * @default 'answer'
   */
  refusals: option(oneOf('answer', 'errorHandler'), defaultStyle.refusals),
  /**
   * What becomes of the errors of the app where it has an error handler or a not-found handler of its own. `leave`: what the
   * handler sends is sent unchanged; the routes are findings, which do not stop the boot. `wrap`: the handler runs, and
   * the status that it sends becomes a problem, with the text of its `detail`, `message` or `error`; so does what a handler
   * of these routes sends without an error, such as `reply.code(409).send({ message })`. Bodies of other types than JSON
   * and `text/plain` are sent unchanged.
   * @default 'leave'
   */
  errorHandler: option(oneOf('leave', 'wrap'), 'leave'),
  /**
   * Members of an earlier error format, for clients that still read them: each problem has them too. `statusCode` is the
   * status, `error` the reason phrase, `message` the text of `detail`. A member that the app has sent in a 4xx keeps its
   * value; one with another name is there only then. Not in the answers of `serverOptions()`.
   * @default []
   */
  keepMembers: option(
    listOf(text('a name that a problem document does not have', memberName)),
    defaultStyle.keepMembers,
  ),
  /**
   * Problem codes that any route of the app may answer, besides those of this package, each with its status:
   * `{ 'database-unavailable': 503 }`. The OpenAPI document lists them.
   * @default none: then the document says that there may be other codes
   */
  codes: optional(codes),
}

const problemsRouteOptions = {
  ...routeMode,
  /**
   * Problem codes that the handler and the hooks of the route may answer, each with its status: `{ 'not-retryable': 409 }`.
   * See {@link ProblemsOptions.codes}; an empty object says that there are none.
   * @default those of the plugin
   */
  codes: optional(codes),
}

/** Options of the plugin `problems`. */
export interface ProblemsOptions extends OptionsOf<typeof problemsOptions> {}

/** Options of a route, under `config.problems`; `false` turns the plugin off for the route. */
export interface ProblemsRouteOptions extends OptionsOf<typeof problemsRouteOptions> {}

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
    const sessions = new Set<ServerHttp2Session>()
    const answers = errorAnswers(app, options, contexts)
    problemStyle.set(app, options)
    if (options.mode === 'enforce') {
      app.addHook('onReady', (done) => {
        passOnAll(app)
        done()
      })
      app.server.on('session', (session: ServerHttp2Session) => {
        sessions.add(session)
        session.once('close', () => sessions.delete(session))
        if (closing !== null) session.close()
      })
    }
    app.addHook('preClose', function endConnections(done) {
      closing = options.whileClosing
      // For a response that has begun, such as a stream: its client was told to keep the connection.
      if (options.mode === 'enforce') app.server.keepAliveTimeout = idleWhileClosing
      // Each ends with its last stream. Node.js does so from version 24 on.
      for (const session of sessions) session.close()
      done()
    })
    /** Adds what leaves errors in another format. None of it stops the boot. */
    function find(route: string, rule: string, problem: string, instead: string): void {
      addFinding({ route, mode: 'report', rule, problem, instead }, 'none')
    }
    atReady(function checkApp() {
      if (options.mode !== 'off' && answers.isNotFoundOfApp(app)) {
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
          for (const problem of documentedErrors(jsonSchemasOf(route)?.response))
            find(name, 'documented', problem, 'no schema for it: the document gets the problems by itself')
        }
      })
    }
    const { operations } = route.config ?? {}
    const startsOnly =
      isObject(operations) && operations.starts !== undefined && !declaresSuccess(route.schema?.response)
    // Then the route sends the status document of an operation.
    const produced = startsOnly ? ['application/json'] : producedTypes(route.schema?.response)
    // Fastify reads no content of a GET or HEAD.
    const preParsing = methods.every(isRead) ? undefined : readContent
    const plan = { ...steps, lastOnRequest: negotiation(produced), preParsing }
    if (mode === 'report') return plan
    route.errorHandler = answers.ofRoute(route.errorHandler)
    // A route without codes of its own has those of the registration: one object, which is described once.
    const isOwn = options.codes !== state.codes
    const codes = (isOwn ? { ...state.codes, ...options.codes } : state.codes) ?? null
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
    const before = sending.get(reply)
    const isAgain = before === true
    sending.set(reply, true)
    const status = isResponse(payload) ? payload.status : reply.statusCode
    // A hook of the app may have changed it, and an error handler of the app may have failed on another problem.
    const isWhole =
      typeof before === 'string' &&
      payload === before &&
      status !== 503 &&
      headerOf(reply, 'content-type') === problemMediaType &&
      reply.hasHeader('cache-control') &&
      passedOn.get(reply) === undefined
    const isKept = isWhole || (status < 400 && !isAgain)
    const body = isKept ? undefined : rewrite(request, reply, payload, status, isAgain)
    if (!isClosing() || request.raw.httpVersionMajor > 1 || body instanceof Promise) return body
    return body === undefined ? closesConnection : [closesConnection, body]
  }
}

/** Returns the step that refuses requests wherever they go to: without a valid `Host`, or while the server closes. */
function admission(isRefusing: () => boolean): RequestStep {
  return function admit(request) {
    const { raw } = request
    const fault = targetFault(raw) ?? hostFault(raw)
    let refused: Effect | undefined
    if (fault !== null)
      refused = { rule: 'header-fields', refusal: new ProblemError('request-malformed', { detail: fault }) }
    else if (isRefusing()) {
      const headers = { 'retry-after': retryAfter }
      const detail = 'The server is closing; try again'
      refused = { rule: 'server', refusal: new ProblemError('server-closing', { detail, headers }) }
    }
    if (!isFramingFaulty(request)) return refused
    const given = 'Transfer-Encoding in HTTP/1.0'
    const closed = { rule: 'header-fields', given, headers: { connection: 'close' } }
    return refused === undefined ? closed : [closed, refused]
  }
}

/** Returns what is wrong with the target of a request (RFC 9112 §3.2.4): Fastify takes `*` for `/`. */
function targetFault({ method, url = '' }: IncomingMessage): string | null {
  return method !== 'OPTIONS' && url.startsWith('*') ? 'Only OPTIONS has the target *' : null
}

/** Returns what is wrong with the `Host` of a request (RFC 9112 §3.2); `null` if nothing is. */
function hostFault({ headers, rawHeaders, httpVersion }: IncomingMessage): string | null {
  const host = headers.host ?? headers[':authority']
  if (host === undefined) return httpVersion === '1.1' ? 'An HTTP/1.1 request must have a Host header' : null
  if (isRepeated(rawHeaders, 'host')) return 'A request must have exactly one Host header'
  return isHostValue(String(host)) ? null : 'The Host header must be a host, with or without a port'
}

/** Returns the step that refuses requests which the route cannot answer. */
function negotiation(produced: readonly string[] | null): RequestStep {
  return function negotiate(request, reply) {
    const { expect, accept } = request.raw.headers
    // Node.js handles 100-continue (RFC 9110 §10.1.1).
    if (expect !== undefined && !/(?:^|\W)100-continue(?:$|\W)/i.test(expect)) {
      const detail = 'The only supported expectation is 100-continue'
      return { rule: 'header-fields', refusal: new ProblemError('expectation-failed', { detail }) }
    }
    if (produced === null || accept === undefined || accept === '*/*' || produced.includes(accept))
      return undefined
    if (negotiates.of(request) === true || acceptsAny(accept, produced)) return undefined
    const given = `Accept takes none of ${produced.join(', ')}`
    return { rule: 'accept', given, refusal: notAcceptable(produced, headerOf(reply, 'vary')) }
  }
}

/** Refuses content that the route cannot read. */
const readContent: PayloadStep = (request, _reply, payload) => {
  if (isEmptyForm(request)) {
    // Then Fastify reads no body.
    const change = (): void => {
      delete request.headers['content-type']
    }
    return { rule: 'content', given: 'a form without content', change }
  }
  // A hook of the app that decodes passes on another stream, or removes the header.
  if (payload !== request.raw || !isCoded(request)) return undefined
  const coding = clip(request.raw.headers['content-encoding'] ?? '', 100)
  // RFC 9110 §15.5.16: a 415 for a coding names the supported ones.
  const refusal = new ProblemError('unsupported-media-type', {
    detail: `Content-Encoding ${coding} is not supported here`,
    headers: { 'accept-encoding': 'identity' },
  })
  return { rule: 'content', refusal }
}
