import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Admission } from '../adapter/admission.js'
import {
  answerPastHooks,
  answerProblem,
  defaultStyle,
  hasErrorHandlerOfItsOwn,
  writeProblem,
} from '../adapter/answer.js'
import { problemOfAnswer, statusOfAnswer, takeResponse } from '../adapter/error-body.js'
import { isResponse } from '../adapter/payloads.js'
import { conventionPlugin } from '../adapter/plugin.js'
import { logProblem } from '../adapter/problem-log.js'
import { rememberLast } from '../adapter/remember-last.js'
import { reporterOf } from '../adapter/report.js'
import { RequestContent } from '../adapter/request-content.js'
import { declareTypeBase } from '../adapter/type-base.js'
import { answerUnserved } from '../adapter/unserved.js'
import { unsupportedMediaType } from '../adapter/unsupported-media-type.js'
import { boundValidationMessages } from '../adapter/validation-message.js'
import { checkWire } from '../adapter/wire-checks.js'
import { ProblemError } from '../errors.js'
import { type Mode, modes } from '../findings.js'
import { mediaTypeOf, producedTypes } from '../http/media-types.js'
import { problemOf } from '../http/problem-of.js'
import { type Checks, integer, listOf, oneOf, resolveOptions, resolveRouteOptions, text } from '../options.js'

export { isProblemError, ProblemError, type ProblemErrorOptions } from '../errors.js'

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
}

/**
 * Answers every error with a problem document (RFC 9457), whatever the client accepts: errors that are thrown, those
 * of validation with JSON Pointers, 404, 405 with `Allow`, 406, 413, 415 with `Accept-Patch`, and error answers that
 * a handler writes itself. What a 5xx is about stays in the log, under the request id that the client sees too.
 *
 * An error handler of the app's own wins in its scope. What no hook sees (a malformed URL, a broken request line)
 * needs `serverOptions()`. Streams are sent as they are.
 *
 * Not for an app whose clients already depend on another error format: start with `mode: 'report'`.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const problems = conventionPlugin<ProblemsOptions>('problems', function setUpProblems(app, received) {
  const options = resolveOptions('problems', received, checks, defaults)
  const reporter = reporterOf(app)
  const admission = new Admission(options.retryAfter)
  const patchContexts = new Set<FastifyInstance>()
  const appHandlesErrors = hasErrorHandlerOfItsOwn(app)
  const before = app.errorHandler
  const enforces = options.mode === 'enforce'

  if (enforces && !appHandlesErrors) app.setErrorHandler(handleError)
  const handler = app.errorHandler
  const answersUnserved = enforces && options.notFound === 'answer' && setNotFoundHandler(app, handleUnserved)

  if (enforces) declareTypeBase(app, options.typeBase)
  if (enforces) boundValidationMessages(app)
  app.decorateReply(sending, false)
  app.addHook('preClose', function noteClosing(done) {
    admission.closing = options.whileClosing === 'refuse'
    done()
  })
  const typesProduced = rememberLast(producedTypes)
  app.addHook('onRoute', function admitOnRoute(route) {
    const own = resolveRouteOptions<ProblemsRouteOptions, ProblemsRouteOptions>(
      `${[route.method].flat().join(', ')} ${route.path} config.problems`,
      route.config?.problems,
      routeChecks,
      {},
    )
    if ([route.method].flat().includes('PATCH')) patchContexts.add(this)
    const mode = own === false ? 'off' : (own.mode ?? options.mode)
    const handlesErrors = appHandlesErrors || route.errorHandler !== undefined
    route.config = Object.assign({}, route.config, { [modeOfRoute]: mode, [answersItself]: handlesErrors })
    if (mode === 'enforce' && !enforces && !handlesErrors) route.errorHandler = handleError
    // Who is let in at all is a matter of the server, whatever becomes of the errors of the route.
    if (mode !== 'enforce' && enforces) {
      route.onRequest = [admission.enforcer(null), ...[route.onRequest ?? []].flat()]
    }
    if (mode === 'off') return
    const produced =
      (own !== false && own.produces?.map(mediaTypeOf)) || typesProduced(route.schema?.response)
    const admit = mode === 'enforce' ? admission.enforcer(produced) : admission.observer(produced, reporter)
    route.onRequest = [admit, ...[route.onRequest ?? []].flat()]
    if (options.mode === 'off') route.onSend = [problemOnSend, ...[route.onSend ?? []].flat()]
  })
  if (options.mode !== 'off') app.addHook('onSend', problemOnSend)
  if (enforces) checkWire(app, options.typeBase)
  const content = new RequestContent((request) => modeOf(request, options.mode) === 'enforce')
  app.addHook('onRoute', function readContentOnRoute(route) {
    if ((route.config as RouteConfig)[modeOfRoute] === 'enforce') content.addRoute(this, route)
  })
  app.addHook('onReady', function prepareContent(done) {
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
    if ((reply as Sendable)[sending]) answerPastHooks(reply, problem, options)
    else answerProblem(reply, problem, options)
  }

  function handleUnserved(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const refusal = admission.refusal(request)
    if (refusal !== null) throw refusal
    return answerUnserved(request, reply, patchContexts)
  }

  function problemOnSend(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: (error: null, payload: unknown) => void,
  ): void {
    const again = (reply as Sendable)[sending]
    ;(reply as Sendable)[sending] = true
    // A hook has failed on a problem too: what is sent now would meet it again, and then Fastify's own words get out.
    if (again && reply.statusCode >= 500 && modeOf(request, options.mode) === 'enforce' && isOurs(request)) {
      answerPastHooks(reply, new ProblemError('internal-server-error'), options)
      return
    }
    const status = statusOfAnswer(reply, payload)
    next(null, status < 400 ? payload : keepErrorBody(request, reply, payload, status))
  }

  /** What is sent for an error answer that no error handler wrote. */
  function keepErrorBody(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    status: number,
  ): unknown {
    const mode = modeOf(request, request.is404 && !isAnsweredHere(request) ? 'off' : options.mode)
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
      return payload
    }
    if (isResponse(payload)) takeResponse(reply, payload)
    reply.removeHeader('content-length')
    return writeProblem(reply, unsupportedMediaType(problem, request), options)
  }

  /** An error handler of the app's own wins in its scope. */
  function isOurs(request: FastifyRequest): boolean {
    return request.server.errorHandler === handler && !hasHandlerOfItsOwn(request)
  }

  /** A not-found handler of the app's own wins in its scope. */
  function isAnsweredHere({ routeOptions }: FastifyRequest): boolean {
    const { name } = routeOptions.handler
    return enforces ? answersUnserved && name.endsWith(handleUnserved.name) : name === 'basic404'
  }
})

const modeOfRoute = Symbol('fastify-conventions.problems.mode')
const answersItself = Symbol('fastify-conventions.problems.answersItself')
const sending = Symbol('fastify-conventions.problems.sending')

/** What the plugin notes in the `config` of a route. */
interface RouteConfig {
  readonly [modeOfRoute]?: Mode
}

/** A reply that remembers that its hooks have begun to run. */
type Sendable = FastifyReply & { [sending]?: boolean }

/** The mode of the request's route; `otherwise` where no route serves it. */
function modeOf(request: FastifyRequest, otherwise: Mode): Mode {
  const config = request.routeOptions.config as RouteConfig | undefined
  return config?.[modeOfRoute] ?? otherwise
}

/** Has the route an error handler of its own? What that writes is left alone; what it hands on is answered. */
function hasHandlerOfItsOwn(request: FastifyRequest): boolean {
  const config = request.routeOptions.config as { [answersItself]?: boolean } | undefined
  return config?.[answersItself] === true
}

/** Sets the not-found handler of a context, unless the app has; Fastify takes one only. */
function setNotFoundHandler(
  app: FastifyInstance,
  handler: (request: FastifyRequest, reply: FastifyReply) => FastifyReply,
): boolean {
  try {
    app.setNotFoundHandler(handler)
    return true
  } catch (error) {
    app.log.info({ err: error }, 'problems: the not-found handler of the app stays')
    return false
  }
}
