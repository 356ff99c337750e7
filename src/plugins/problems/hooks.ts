import type {
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  onSendHookHandler,
  RequestPayload,
  RouteOptions,
} from 'fastify'
import { type NotFoundAnswers, setNotFoundHandler } from '../../fastify/not-found-handler.js'
import { isResponse } from '../../fastify/reply.js'
import { isCoded, isRefusal } from '../../fastify/request-content.js'
import { replySlot, routeSlot } from '../../fastify/slots.js'
import { expectationRefusal } from '../../fastify/wire-checks.js'
import { pathOf } from '../../http/request-target.js'
import { isProblemError, ProblemError } from '../../problem/problem-error.js'
import { logProblem } from '../../problem/problem-log.js'
import { isJsonSyntaxError, problemOf } from '../../problem/problem-of.js'
import { refusalsOf } from '../../problem/problem-style.js'
import { markSending, refuse, sending, sendProblem, writeProblem } from '../../problem/send-problem.js'
import type { Mode } from '../../rules/modes.js'
import type { Reporter } from '../../rules/report.js'
import { isHealthPath } from '../../words/health-path.js'
import {
  isAnswered,
  isErrorOfFramework,
  isWrapped,
  keptFields,
  problemInBody,
  problemInResponse,
} from './error-body.js'
import { type Content, unsupportedMediaType } from './media-types.js'
import { judgeUnserved } from './not-found.js'
import type { ResolvedProblems } from './options.js'

export const modeOfRoute = routeSlot<Mode>('problems.mode')

/** Whether a route has an error handler of its own. What it sends is kept; what it passes on is answered here. */
export const hasOwnHandler = routeSlot<boolean>('problems.hasOwnHandler')

/** Whether the not-found handler of this plugin, or one that replaces it, answers. */
const isAnsweredHere = routeSlot<true>('problems.isAnsweredHere')

/** Whether the document has a problem of a route, whose app declares its codes. */
export const describesProblem = routeSlot<(status: number, code: string) => boolean>('problems.describes')

/** The problem of an error that was passed to an error handler of the app. */
export const passedOn = replySlot<PassedOn>('problems.passedOn')

interface PassedOn {
  readonly problem: ProblemError
  /** Whether it is sent if the handler does not know it. */
  readonly isKept: boolean
}

type ErrorHandler = FastifyInstance['errorHandler']

/** The error handlers of a context. */
export interface Handlers {
  /** The one before this plugin. */
  readonly before: ErrorHandler
  /** Whether it is the app's, which this plugin does not replace. */
  readonly isOfApp: boolean
  /** The one that is in force: that of this plugin, or `before`. */
  current: ErrorHandler
  /** Who answers requests without a route; `null` if this plugin leaves them. */
  notFound: NotFoundAnswers | null
}

/** Returns the mode of the route of a request; that of the plugin if no route serves it. */
export function modeOf(request: FastifyRequest, { mode }: ResolvedProblems): Mode {
  return modeOfRoute.of(request) ?? mode
}

/** Returns the error handler of the plugin. */
export function errorHandler(
  app: FastifyInstance,
  options: ResolvedProblems,
  { before }: Handlers,
  reporter: Reporter,
) {
  return function handleError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (modeOf(request, options) === 'enforce') {
      // The status so far is that of the response which a hook has failed to send.
      const status = sending.get(reply) === true ? 500 : reply.statusCode
      const problem = unsupportedMediaType(problemOf(thrown, status), contentOf(request))
      logProblem(reply, thrown, problem)
      warnUndescribed(request, problem, reporter)
      sendProblem(reply, problem)
    }
    // To the handler before, which answers as without this plugin.
    else if (thrown instanceof Error) reply.send(thrown)
    else before.call(app, thrown as never, request, reply)
  }
}

/**
 * Returns a function that makes the error handler of a route, which runs before the one of the app, that of the route or
 * of the context. Refusals by Fastify and by this package are answered; all other errors are passed on.
 */
export function routeErrorHandler(
  options: ResolvedProblems,
  handlers: Handlers,
  handleError: ReturnType<typeof errorHandler>,
) {
  /** Notes an error that the app's handler gets. A fault in the input is a refusal, if what the handler sends is wrapped. */
  function notePassedOn(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const wraps = options.errorHandler === 'wrap'
    const isAnswered = refusalsOf(request) === 'answer'
    if (!wraps && !(isAnswered && isProblemError(thrown))) return
    const problem = problemOf(thrown)
    const isKept = isProblemError(thrown) || problem.code === 'validation'
    passedOn.set(reply, { problem, isKept: isAnswered && isKept })
  }

  return function errorHandlerOf(own: RouteOptions['errorHandler']) {
    return function handleErrorOfRoute(
      thrown: unknown,
      request: FastifyRequest,
      reply: FastifyReply,
    ): unknown {
      const isOfPlugin =
        own === undefined && (options.mode !== 'enforce' || request.server.errorHandler === handlers.current)
      if (isOfPlugin && !handlers.isOfApp) return handleError(thrown, request, reply)
      if (refusalsOf(request) === 'answer') {
        if (isRefusal(thrown) || isRefusalOfFramework(thrown, request))
          return handleError(thrown, request, reply)
      }
      notePassedOn(thrown, request, reply)
      if (own === undefined) return Promise.reject(thrown)
      return own.call(request.server, thrown as FastifyError, request, reply)
    }
  }
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

function isRefusalOfFramework(thrown: unknown, request: FastifyRequest): boolean {
  if (!(thrown instanceof Error)) return false
  const { code, validation } = thrown as Partial<FastifyError>
  if (refusalsOfFramework.has(code) || isJsonSyntaxError(thrown)) return true
  // Fastify parses text/plain, so the validator refuses a text where the schema wants an object.
  return (
    validation !== undefined && unsupportedMediaType(problemOf(thrown), contentOf(request)).statusCode === 415
  )
}

/** Logs a problem that the OpenAPI document does not have, of a route whose app declares its codes. */
function warnUndescribed(
  request: FastifyRequest,
  { statusCode, code }: ProblemError,
  reporter: Reporter,
): void {
  if (describesProblem.of(request)?.(statusCode, code) !== false) return
  reporter.warnOnce('problems', request, `${statusCode} '${code}' is not in config.problems.codes`)
}

function contentOf(request: FastifyRequest): Content {
  return {
    method: request.method,
    contentType: request.headers['content-type'],
    isCoded: isCoded(request),
    isText: typeof request.body === 'string',
    parses: (type) => request.server.hasContentTypeParser(type),
  }
}

/** Sets the not-found handler. It answers before the body is parsed, and for `reply.callNotFound()`. */
export function answerNotFound(
  app: FastifyInstance,
  errorHandler: RouteOptions['errorHandler'],
  patchContexts: ReadonlySet<FastifyInstance>,
): NotFoundAnswers {
  const options = {
    config: isAnsweredHere.config(true),
    errorHandler,
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
  // Fastify's types have two of these options. If it ignored the others, the handler would still answer.
  return setNotFoundHandler(app, options, function handleUnserved(request, reply) {
    answerUnserved(request, reply, patchContexts, (error) => reply.send(error))
  })
}

function answerUnserved(
  request: FastifyRequest,
  reply: FastifyReply,
  patchContexts: ReadonlySet<FastifyInstance>,
  passOn: (error: ProblemError) => void,
): void {
  const { server, method } = request
  const path = pathOf(request.raw.url ?? '/') || '/'
  const { routerOptions, maxParamLength } = server.initialConfig
  const verdict =
    expectationRefusal(request) ??
    judgeUnserved({
      method,
      path,
      maxParamLength: routerOptions?.maxParamLength ?? maxParamLength ?? 100,
      methodsAtPath: () => methodsAtPath(request, path),
      parsesPatch: (type) => [...patchContexts].some((app) => app.hasContentTypeParser(type)),
    })
  if (verdict instanceof ProblemError) refuse(request, reply, verdict, passOn)
  else reply.code(204).headers(verdict).header('cache-control', 'no-store').send()
}

function typeOf(reply: FastifyReply, payload: unknown): string {
  const type = isResponse(payload) ? payload.headers.get('content-type') : reply.getHeader('content-type')
  return String(type ?? '')
}

type FindRouteOptions = Parameters<FastifyInstance['findRoute']>[0]

// Without OPTIONS: @fastify/cors has an OPTIONS route for all paths.
function methodsAtPath({ server, headers }: FastifyRequest, path: string): string[] {
  const { host, ':authority': authority, 'accept-version': version } = headers
  const constraints = { host: host ?? authority, version }
  return server.supportedMethods.filter(
    (method) =>
      method !== 'OPTIONS' &&
      server.findRoute({ method: method as HTTPMethods, url: path, constraints } as FindRouteOptions) !==
        null,
  )
}

/** Returns the `onSend` hook, which rewrites error bodies that are not problem documents, or counts them. */
export function errorBodyHook(
  options: ResolvedProblems,
  handlers: Handlers,
  reporter: Reporter,
): onSendHookHandler {
  /** Whether a handler of the app has answered, which has precedence. */
  function isOfHandler(request: FastifyRequest, payload: unknown): boolean {
    if (request.server.errorHandler !== handlers.current || hasOwnHandler.of(request) === true) return true
    if (!request.is404) return false
    const { method, url } = request.raw
    return options.mode === 'enforce'
      ? isAnsweredHere.of(request) !== true || handlers.notFound?.isOfApp === true
      : !isErrorOfFramework(payload, 404, `Route ${method}:${url} not found`)
  }

  function bodyOfError(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    status: number,
  ): unknown {
    const passed = passedOn.get(reply)
    if (passed?.isKept && !isAnswered(passed.problem, status, payload)) {
      const { problem } = passed
      logProblem(reply, problem, problem)
      return writeProblem(reply, problem, options)
    }
    const mode = modeOf(request, options)
    if (mode === 'off') return payload
    const type = typeOf(reply, payload)
    if (isOfHandler(request, payload) && !(options.errorHandler === 'wrap' && isWrapped(type))) return payload
    const ofHealth = isHealthPath(request.routeOptions.url ?? '') && !isErrorOfFramework(payload, status)
    const cause = passed?.problem.statusCode === status ? passed.problem : undefined
    const problem =
      ofHealth && passed === undefined
        ? null
        : isResponse(payload)
          ? problemInResponse(payload, cause)
          : problemInBody(
              status,
              type,
              reply.hasHeader('content-encoding'),
              payload,
              cause,
              options.keepMembers,
            )
    if (mode === 'report') {
      if (problem !== null)
        reporter.observe('problems', 'body', request, `${status} without a problem document`, 'changed')
      return payload
    }
    if (problem === null) {
      keepErrorBody(reply, status)
      return payload
    }
    if (isResponse(payload)) {
      for (const [name, value] of keptFields(payload)) reply.header(name, value)
      payload.body?.cancel().catch(() => {})
    }
    const written = unsupportedMediaType(problem, contentOf(request))
    warnUndescribed(request, written, reporter)
    return writeProblem(reply, written, options)
  }

  function keepErrorBody(reply: FastifyReply, status: number): void {
    if (status === 503 && !reply.hasHeader('retry-after')) {
      reply.header('retry-after', String(options.retryAfter))
    }
    // Fastify prefers the header fields of a Response.
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  }

  return function problemOnSend(request, reply, payload, next) {
    const isAgain = markSending(reply)
    // A hook has failed on an error, and would fail again. The body of Fastify's last error handler has the cause.
    const isEnforced = isAgain && modeOf(request, options) === 'enforce'
    if (isEnforced && isErrorOfFramework(payload, 500)) {
      sendProblem(reply, new ProblemError('internal-server-error'), options)
      return
    }
    const status = isResponse(payload) ? payload.status : reply.statusCode
    next(null, status < 400 ? payload : bodyOfError(request, reply, payload, status))
  }
}
