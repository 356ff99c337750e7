import type {
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RequestPayload,
  RouteOptions,
} from 'fastify'
import { Admission, admissionOfRoute } from '../../fastify/admission.js'
import { EmptyBodies } from '../../fastify/empty-body.js'
import { hasErrorHandler, hasSchemaErrorFormatter, isNotFoundHandlerSet } from '../../fastify/internals.js'
import { isResponse } from '../../fastify/payloads.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { rememberLast } from '../../fastify/remember-last.js'
import { RequestContent } from '../../fastify/request-content.js'
import { addAppHook, addHook } from '../../fastify/route.js'
import { replySlot, routeSlot } from '../../fastify/slots.js'
import { checkWire } from '../../fastify/wire-checks.js'
import { mediaTypeOf } from '../../http/media-types.js'
import { producedTypes } from '../../json-schema/responses.js'
import {
  type Checks,
  integer,
  listOf,
  oneOf,
  resolveOptions,
  resolveRouteOptions,
  text,
} from '../../options.js'
import { isProblemError, ProblemError } from '../../problem/problem-error.js'
import { logProblem } from '../../problem/problem-log.js'
import { isJsonSyntaxError, problemOf } from '../../problem/problem-of.js'
import {
  answerPastHooks,
  isRefusal,
  markSending,
  passOn,
  refuseThrown,
  sending,
  sendProblem,
  writeProblem,
} from '../../problem/send-problem.js'
import { declareStyle, defaultStyle, refusalsOf, refusalsOfRoute } from '../../problem/type-base.js'
import { validationMessage } from '../../problem/validation-issues.js'
import { type Mode, modes } from '../../rules/modes.js'
import { reporterOf } from '../../rules/report.js'
import { isErrorOfFramework, problemOfAnswer, statusOfAnswer, takeResponse } from './error-body.js'
import { answerUnserved } from './not-found.js'
import { unsupportedMediaType } from './unsupported-media-type.js'

export { isProblemError, ProblemError, type ProblemErrorOptions } from '../../problem/problem-error.js'

/** Options of {@link problems}. */
export interface ProblemsOptions {
  /**
   * `enforce` answers every error with a problem document, `report` changes nothing and counts what it would
   * change, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * What the `type` of a problem begins with; the code follows. A URL where the codes are documented serves clients
   * best.
   * @default 'urn:problem-type:fastify-conventions:'
   */
  readonly typeBase?: string
  /**
   * Seconds in the `Retry-After` of a 503 that has none of its own.
   * @default 5
   */
  readonly retryAfter?: number
  /**
   * Who answers for what no route serves: `answer` gives 404, 405 with `Allow`, and `OPTIONS` with `Allow`; `leave`
   * leaves it to a not-found handler of the app. One that is set before this plugin stays in any case; for one that
   * is set after it, in the same context, this must be `leave`, for Fastify takes one only.
   * @default 'answer'
   */
  readonly notFound?: 'answer' | 'leave'
  /**
   * What becomes of requests that still come in while the server closes: `refuse` answers 503, `serve` serves them.
   * Counts only with `return503OnClosing: false`, which `serverOptions()` sets; Fastify's own 503 is no problem
   * document.
   * @default 'refuse'
   */
  readonly whileClosing?: 'refuse' | 'serve'
  /**
   * Who answers what this package refuses: 404, 405, 406, 412, 415, 428, 429, 503, a path, fields, a method override …
   * `answer` sends a problem, whatever error handler the app has; `errorHandler` hands a `ProblemError` to the error
   * handler of the route's scope, with its status and headers on the reply. It counts in every `mode`.
   * @default 'answer'
   */
  readonly refusals?: 'answer' | 'errorHandler'
}

/**
 * What a route says under `config.problems`; `false` leaves its errors alone. Requests without `Host`, and those that come
 * in while the server closes, are refused all the same where the plugin enforces: in the format of the route's errors.
 */
export interface ProblemsRouteOptions {
  /** See {@link ProblemsOptions.mode}. */
  readonly mode?: Mode
  /**
   * Media types that the route answers with; a request whose `Accept` takes none of them gets 406 before the
   * handler runs. Default: those of the response schema; a route without one is never asked.
   */
  readonly produces?: readonly string[]
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How this route's errors are answered; `false` leaves them alone. */
    problems?: ProblemsRouteOptions | false
  }
}

const checks: Checks<ProblemsOptions> = {
  mode: oneOf(...modes),
  typeBase: text(),
  retryAfter: integer(1, 86_400),
  notFound: oneOf('answer', 'leave'),
  whileClosing: oneOf('refuse', 'serve'),
  refusals: oneOf('answer', 'errorHandler'),
}

const routeChecks: Checks<ProblemsRouteOptions> = {
  mode: oneOf(...modes),
  produces: listOf(text('a media type such as text/csv', /^[^\s/;]+\/[^\s/;]+$/)),
}

const defaults: Required<ProblemsOptions> = {
  mode: 'enforce',
  typeBase: defaultStyle.typeBase,
  retryAfter: defaultStyle.retryAfter,
  notFound: 'answer',
  whileClosing: 'refuse',
  refusals: defaultStyle.refusals,
}

/**
 * Answers every error with a problem document (RFC 9457), whatever the client accepts: errors that are thrown, those
 * of validation with JSON Pointers, 404, 405 with `Allow`, 406, 413, 415 with `Accept-Patch`, and error answers that
 * a handler writes itself. What a 5xx is about stays in the log, under the request id that the client sees too.
 *
 * An error handler of the app's own wins in its scope for the errors of the app. What this package or Fastify refuses
 * is answered here all the same, see {@link ProblemsOptions.refusals}, and so is a `ProblemError` that the handler of the
 * app does not know: one to which it answers 500 although the problem has another status, or which it passes on. What no
 * hook sees (a malformed URL, a broken request line) needs `serverOptions()`. Streams are sent as they are.
 *
 * Not for an app whose clients already depend on another error format: start with `mode: 'report'`.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const problems = conventionPlugin<ProblemsOptions>('problems', function setUpProblems(app, received) {
  const options = resolveOptions('problems', received, checks, defaults)
  const reporter = reporterOf(app)
  const enforces = options.mode === 'enforce'
  const admission = new Admission({ retryAfter: options.retryAfter, enforces, reporter })
  const patchContexts = new Set<FastifyInstance>()
  const appHandlesErrors = hasErrorHandler(app)
  const before = app.errorHandler

  declareStyle(app, options)
  sending.declare(app)
  handedOver.declare(app)
  admission.install(app)
  if (enforces && !appHandlesErrors) app.setErrorHandler(handleError)
  const handler = app.errorHandler
  if (enforces && options.notFound === 'answer') setNotFoundHandler()

  // A formatter of the app stays, whether it is set before or after.
  if (enforces && !hasSchemaErrorFormatter(app))
    app.setSchemaErrorFormatter((faults, part) => new Error(validationMessage(faults, part)))
  app.addHook('preClose', function noteClosing(done) {
    admission.closing = options.whileClosing === 'refuse'
    done()
  })
  const content = new RequestContent((request) => modeOf(request, options.mode) === 'enforce')
  const emptyBodies = new EmptyBodies()
  const typesProduced = rememberLast(producedTypes)
  app.addHook('onRoute', function admitOnRoute(route) {
    const own = resolveRouteOptions<ProblemsRouteOptions, ProblemsRouteOptions>(
      `${[route.method].flat().join(', ')} ${route.path} config.problems`,
      route.config?.problems,
      routeChecks,
      {},
    )
    const methods = [route.method].flat()
    if (methods.includes('PATCH')) patchContexts.add(this)
    const mode = own === false ? 'off' : (own.mode ?? options.mode)
    const produced =
      (own !== false && own.produces?.map(mediaTypeOf)) || typesProduced(route.schema?.response)
    const handlesErrors =
      appHandlesErrors || (route.errorHandler !== undefined && route.errorHandler !== refuseThrown)
    // In the format of the route's other errors.
    const refusals = enforces && mode !== 'enforce' ? 'errorHandler' : options.refusals
    admissionOfRoute.set(route, admission.routeAdmission(mode, produced))
    refusalsOfRoute.set(route, refusals)
    modeOfRoute.set(route, mode)
    answersItself.set(route, handlesErrors)
    if (mode === 'off') return
    if (mode === 'enforce') {
      route.errorHandler = guardErrors(route.errorHandler)
      emptyBodies.addRoute(this, route)
      content.addRoute(this, route)
    }
    if (options.mode === 'off') addHook(route, 'onSend', 'problems', problemOnSend)
  })
  if (options.mode !== 'off') addAppHook(app, 'onSend', 'problems', problemOnSend)
  if (enforces) checkWire(app, options.typeBase)
  app.addHook('onReady', function prepareContent(done) {
    // Before the parsers of the app are replaced.
    emptyBodies.prepare()
    content.prepare()
    done()
  })

  function handleError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (modeOf(request, options.mode) !== 'enforce') {
      // On to the handler before, which answers as if this plugin were not there.
      if (thrown instanceof Error) reply.send(thrown)
      else before.call(app, thrown as never, request, reply)
      return
    }
    const problem = unsupportedMediaType(problemOf(thrown, reply.statusCode), request)
    logProblem(reply, thrown, problem)
    sendProblem(reply, problem)
  }

  /**
   * Returns the error handler of a route. It runs before the error handler of the route's scope, `own` or the context's:
   * what Fastify refuses before the handler is answered here, all else is passed on.
   */
  function guardErrors(own: RouteOptions['errorHandler']) {
    return function guardErrorsOfApp(thrown: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
      const isOfPlugin = own === undefined && (!enforces || request.server.errorHandler === handler)
      if (isOfPlugin && !appHandlesErrors) return handleError(thrown, request, reply)
      if (refusalsOf(request) === 'answer') {
        if (isRefusal(thrown) || isRefusalOfFramework(thrown, request))
          return handleError(thrown, request, reply)
        if (isProblemError(thrown)) handedOver.set(reply, thrown)
      }
      return own === undefined
        ? passOn(thrown)
        : own.call(request.server, thrown as FastifyError, request, reply)
    }
  }

  /** Answers what no route serves, before a body is parsed, and what calls `reply.callNotFound()`. */
  function setNotFoundHandler(): void {
    const options = {
      config: answeredHere.config(true),
      errorHandler: guardErrors(undefined),
      preHandler: [],
      preParsing: function refuseUnserved(
        request: FastifyRequest,
        reply: FastifyReply,
        _payload: RequestPayload,
        next: (error: Error) => void,
      ) {
        answerUnserved(request, reply, patchContexts, next)
      },
    }
    try {
      // Fastify's types name two of these options. Where it did not take the others, the handler would still answer.
      app.setNotFoundHandler(options, function handleUnserved(request, reply) {
        answerUnserved(request, reply, patchContexts, (error) => reply.send(error))
      })
    } catch (error) {
      // Fastify takes one only, and has no code for this error.
      if (!isNotFoundHandlerSet(error)) throw error
      app.log.info({ err: error }, 'problems: the not-found handler of the app stays')
    }
  }

  function problemOnSend(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: (error: null, payload: unknown) => void,
  ): void {
    const again = markSending(reply)
    // A hook has failed on a problem too: what is sent now would meet it again, and then Fastify's own words get out.
    if (again && reply.statusCode >= 500 && modeOf(request, options.mode) === 'enforce' && isOurs(request)) {
      answerPastHooks(reply, new ProblemError('internal-server-error'), options)
      return
    }
    const status = statusOfAnswer(reply, payload)
    next(null, status < 400 ? payload : keepErrorBody(request, reply, payload, status))
  }

  /** Returns what is sent for an error answer that no error handler of this plugin wrote. */
  function keepErrorBody(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    status: number,
  ): unknown {
    const thrown = handedOver.get(reply)
    if (thrown !== undefined && !isTaken(thrown, status, payload)) {
      logProblem(reply, thrown, thrown)
      return writeProblem(reply, thrown, options)
    }
    const mode = modeOf(request, request.is404 && !isAnsweredHere(request, payload) ? 'off' : options.mode)
    if (mode === 'off' || !isOurs(request)) return payload
    const problem = problemOfAnswer(reply, payload)
    if (mode === 'report') {
      if (problem !== null) {
        reporter.observe('problems', 'body', request, `${status} without a problem document`)
      }
      return payload
    }
    if (problem === null) {
      if (status === 503 && !reply.hasHeader('retry-after')) {
        reply.header('retry-after', String(options.retryAfter))
      }
      if (!isResponse(payload) && !reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
      return payload
    }
    if (isResponse(payload)) takeResponse(reply, payload)
    reply.removeHeader('content-length')
    return writeProblem(reply, unsupportedMediaType(problem, request), options)
  }

  /** Whether the errors of the request are this plugin's to answer: an error handler of the app's own wins in its scope. */
  function isOurs(request: FastifyRequest): boolean {
    return request.server.errorHandler === handler && answersItself.of(request) !== true
  }

  /** Whether this plugin answers what no route serves; where it only reports, whether Fastify itself does. */
  function isAnsweredHere(request: FastifyRequest, payload: unknown): boolean {
    const { method, url } = request.raw
    return enforces
      ? answeredHere.of(request) === true
      : isErrorOfFramework(payload, 404, `Route ${method}:${url} not found`)
  }
})

const modeOfRoute = routeSlot<Mode>('problems.mode')

/** Whether a route has an error handler of its own. What it writes is left alone; what it passes on is answered. */
const answersItself = routeSlot<boolean>('problems.answersItself')

/** Whether the not-found handler of this plugin answers. */
const answeredHere = routeSlot<true>('problems.answeredHere')

/** The problem that an error handler of the app has to answer. */
const handedOver = replySlot<ProblemError>('problems.handedOver')

/** Returns the mode of the request's route; `otherwise` where no route serves it. */
function modeOf(request: FastifyRequest, otherwise: Mode): Mode {
  return modeOfRoute.of(request) ?? otherwise
}

/**
 * Whether an error handler of the app has answered a problem that was thrown. An answer of 500 to a problem of another
 * status is that of a handler that does not know problems; Fastify's own error body, that of one that passed it on.
 */
function isTaken(thrown: ProblemError, status: number, payload: unknown): boolean {
  if (payload !== undefined && payload !== null && typeof payload !== 'string' && !Buffer.isBuffer(payload))
    return true
  if (status === 500 && thrown.statusCode !== 500) return false
  return !isErrorOfFramework(payload, thrown.statusCode, thrown.message)
}

// What Fastify refuses before a handler runs, or in its place.
const refusalsOfFramework: ReadonlySet<unknown> = new Set([
  'FST_ERR_CTP_BODY_TOO_LARGE',
  'FST_ERR_CTP_EMPTY_JSON_BODY',
  'FST_ERR_CTP_INVALID_CONTENT_LENGTH',
  'FST_ERR_CTP_INVALID_JSON_BODY',
  'FST_ERR_CTP_INVALID_MEDIA_TYPE',
  'FST_ERR_ROUTE_MISSING_CONTENT_TYPE',
  'FST_ERR_HANDLER_TIMEOUT',
])

/** Whether Fastify refused the request: its body could not be read, or its handler took too long. */
function isRefusalOfFramework(thrown: unknown, request: FastifyRequest): boolean {
  if (!(thrown instanceof Error)) return false
  const { code, validation } = thrown as Partial<FastifyError>
  if (refusalsOfFramework.has(code) || isJsonSyntaxError(thrown)) return true
  // A text where the schema wants an object: Fastify parses text/plain, so that its validator is the one to refuse.
  return validation !== undefined && unsupportedMediaType(problemOf(thrown), request).statusCode === 415
}
