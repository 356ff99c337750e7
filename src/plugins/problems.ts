import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answerProblem, defaultStyle, hasOwnErrorHandler, writeProblem } from '../answer.js'
import { BoundedCache } from '../bounded-cache.js'
import { ProblemError } from '../errors.js'
import { type Mode, modes } from '../findings.js'
import { acceptsAny, producedTypes } from '../http/media-types.js'
import { problemDocument, problemMediaType } from '../http/problem.js'
import { problemOf, problemOfBody } from '../http/problem-of.js'
import { type Checks, integer, listOf, oneOf, resolveOptions, resolveRouteOptions, text } from '../options.js'
import { conventionPlugin } from '../plugin.js'
import { reporterOf } from '../report.js'
import { answerUnserved } from '../unserved.js'
import { unsupportedMediaType } from '../unsupported-media-type.js'

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

/** What a route says under `config.problems`; `false` leaves its errors alone. */
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
  if (options.mode === 'off') return
  const reporter = reporterOf(app)
  const appHandlesErrors = hasOwnErrorHandler(app)
  const patchContexts = new Set<FastifyInstance>()
  let closing = false

  if (options.mode === 'enforce' && !appHandlesErrors) app.setErrorHandler(handleError)
  const handler = app.errorHandler
  if (options.mode === 'enforce' && options.notFound === 'answer') {
    try {
      app.setNotFoundHandler(function handleUnserved(request, reply) {
        const refusal = refusalAtTheDoor(request)
        if (refusal !== null) throw refusal
        return answerUnserved(request, reply, patchContexts)
      })
    } catch (error) {
      // Fastify takes one not-found handler for a context; the app's own was here first.
      app.log.info({ err: error }, 'problems: the not-found handler of the app stays')
    }
  }

  app.addHook('preClose', function noteClosing(done) {
    closing = options.whileClosing === 'refuse'
    done()
  })
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
    route.config = Object.assign({}, route.config, { [routeMode]: handlesErrors ? 'off' : mode })
    if (mode === 'off') return
    if (mode === 'enforce' && options.mode !== 'enforce' && !handlesErrors) route.errorHandler = handleError
    const produced = (own !== false && own.produces) || producedTypes(route.schema?.response)
    route.onRequest = [admission(mode, produced), ...[route.onRequest ?? []].flat()]
  })
  app.addHook('onSend', function problemOnSend(request, reply, payload, next) {
    if (reply.statusCode < 400) next(null, payload)
    else next(null, keepErrorBody(request, reply, payload))
  })
  app.addHook('onReady', function watchExpectations(done) {
    if (app.server.listenerCount('checkExpectation') === 0)
      app.server.on('checkExpectation', refuseExpectation)
    done()
  })

  function refusalAtTheDoor(request: FastifyRequest): ProblemError | null {
    if (closing) return new ProblemError('server-closing', { detail: 'The server is closing; try again' })
    const { headers, httpVersionMajor, httpVersionMinor } = request.raw
    // RFC 9112 §3.2; Node's own answer to this has no body, so serverOptions() leaves the check to us.
    if (headers.host === undefined && httpVersionMajor === 1 && httpVersionMinor === 1) {
      return new ProblemError('request-malformed', { detail: 'A request in HTTP/1.1 has a Host header' })
    }
    return null
  }

  function admission(mode: Mode, produced: readonly string[] | null) {
    const verdicts = new BoundedCache<string, boolean>(100)
    return function admitOnRequest(
      request: FastifyRequest,
      _reply: FastifyReply,
      next: (error?: Error) => void,
    ): void {
      const refusal = mode === 'enforce' ? refusalAtTheDoor(request) : null
      const { accept } = request.raw.headers
      if (refusal !== null) next(refusal)
      else if (accept === undefined || produced === null || isAcceptable(accept, produced)) next()
      else if (mode === 'enforce') next(notAcceptable(produced))
      else {
        reporter.observe('problems', 'accept', request, `Accept takes none of ${produced.join(', ')}`)
        next()
      }
    }

    function isAcceptable(accept: string, types: readonly string[]): boolean {
      const known = verdicts.get(accept)
      if (known !== undefined) return known
      const verdict = acceptsAny(accept, types)
      verdicts.set(accept, verdict)
      return verdict
    }
  }

  function handleError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (modeOf(request, options.mode) !== 'enforce') {
      // On to the error handler above, which answers as if this plugin were not there.
      reply.send(thrown)
      return
    }
    const problem = unsupportedMediaType(problemOf(thrown, reply.statusCode), request)
    if (problem.statusCode < 500) request.log.info({ err: thrown, res: reply }, problem.message)
    else request.log.error({ err: thrown, req: request, res: reply }, problem.title)
    answerProblem(reply, problem, options)
  }

  /** What is sent for an error answer that no error handler wrote. */
  function keepErrorBody(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
    const mode = modeOf(request, 'off')
    const ours = request.server.errorHandler === handler
    if (mode === 'off' || !ours || isProblem(reply) || !isRewritable(reply, payload)) return payload
    if (mode === 'report') {
      reporter.observe('problems', 'body', request, `${reply.statusCode} without a problem document`)
      return payload
    }
    const problem = problemOfBody(reply.statusCode, jsonOf(payload))
    reply.removeHeader('content-length')
    return writeProblem(reply, unsupportedMediaType(problem, request), options)
  }
})

const routeMode = Symbol('fastify-conventions.problems.mode')

/** The mode of the request's route; `otherwise` where no route serves it. */
function modeOf(request: FastifyRequest, otherwise: Mode): Mode {
  const config = request.routeOptions.config as { [routeMode]?: Mode } | undefined
  return config?.[routeMode] ?? otherwise
}

function notAcceptable(produced: readonly string[]): ProblemError {
  return new ProblemError('not-acceptable', { detail: `What is served here is ${produced.join(', ')}` })
}

function isProblem(reply: FastifyReply): boolean {
  return String(reply.getHeader('content-type') ?? '').startsWith(problemMediaType)
}

// A stream may be a file or somebody else's answer, and is not read here; coded bytes are no text.
function isRewritable(reply: FastifyReply, payload: unknown): boolean {
  const isText =
    payload === undefined || payload === null || typeof payload === 'string' || Buffer.isBuffer(payload)
  return isText && !reply.hasHeader('content-encoding')
}

function jsonOf(payload: unknown): unknown {
  try {
    return JSON.parse(String(payload))
  } catch {
    return undefined
  }
}

/** `checkExpectation` of the server: what `Expect` asks for is not known (RFC 9110 §10.1.1). */
function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const error = new ProblemError('expectation-failed', { detail: 'Of Expect, only 100-continue is known' })
  const body = JSON.stringify(problemDocument(error, defaultStyle.typeBase))
  response.writeHead(error.statusCode, {
    'content-type': problemMediaType,
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}
