import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import {
  hasErrorHandler,
  hasNotFoundHandler,
  setReplaceableErrorHandler,
} from '../../convention/internals.js'
import { answerUnserved } from '../../convention/not-found-handler.js'
import { replySlot, routeSlot } from '../../convention/slots.js'
import { unsupportedMediaType } from '../../convention/unsupported-media-type.js'
import { isProblemError, type ProblemError } from '../../problem/problem-error.js'
import { isJsonSyntaxError, problemOf } from '../../problem/problem-of.js'
import { logProblem, refuseThrown, sending, sendProblem } from '../../problem/send-problem.js'
import type { Mode } from '../../report/modes.js'
import type { ResolvedProblems } from './options.js'

type RouteErrorHandler = NonNullable<RouteOptions['errorHandler']>

/** The mode of a route. */
export const modeOfRoute = routeSlot<Mode>('problems.mode')

/** Whether a route has an error handler of the app. */
const hasOwnHandler = routeSlot<boolean>('problems.hasOwnHandler')

/** The problem of an error that was passed to an error handler of the app. */
const passedOn = replySlot<PassedOn>('problems.passedOn')

interface PassedOn {
  readonly problem: ProblemError
  /** Whether it is sent if the handler does not know it. */
  readonly isKept: boolean
}

/** Who answers the errors of a context, and of those below it. */
export type ErrorHandlers = ReturnType<typeof errorHandlers>

/** Sets the error handler of a context, unless the app has one there. */
export function errorHandlers(
  app: FastifyInstance,
  options: ResolvedProblems,
  contexts: ReadonlySet<FastifyInstance>,
) {
  const isSetBefore = hasErrorHandler(app)
  const { errorHandler: before } = app
  if (options.mode === 'enforce' && !isSetBefore) setReplaceableErrorHandler(app, handleError)
  const { errorHandler: current } = app
  const answersRefusals = options.refusals === 'answer'
  passedOn.declare(app)

  function answer(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    // The status so far is that of the response which a hook has failed to send.
    const status = sending.get(reply) === true ? 500 : reply.statusCode
    const problem = unsupportedMediaType(problemOf(thrown, status), request)
    logProblem(reply, problem, thrown)
    sendProblem(reply, problem)
  }

  /** Whether error bodies are rewritten on the route of a request. */
  const enforces = (request: FastifyRequest): boolean =>
    (request.is404 ? options.mode : modeOfRoute.of(request)) === 'enforce'

  function handleError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (enforces(request)) answer(thrown, request, reply)
    // To the handler before, which answers as without this plugin.
    else if (thrown instanceof Error) reply.send(thrown)
    else before.call(app, thrown as never, request, reply)
  }

  /** Whether an error handler of the app answers the errors of a route. */
  const isOfApp = (context: FastifyInstance, hasOwn: boolean): boolean =>
    hasOwn || isSetBefore || context.errorHandler !== current

  /** Returns the error handler of an enforced route, which runs before that of the route and that of the context. */
  const ofRoute = (own: RouteErrorHandler | undefined): RouteErrorHandler =>
    function handleErrorOfRoute(thrown: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
      const isRefused = answersRefusals && isRefusalOfFramework(thrown, request)
      if (!isOfApp(request.server, own !== undefined) || isRefused) {
        return answer(thrown, request, reply)
      }
      const problem = problemOf(thrown)
      // A handler of the app may not know how to answer the input.
      const isFault = options.errorHandler === 'wrap' && problem.code === 'validation'
      passedOn.set(reply, { problem, isKept: answersRefusals && (isProblemError(thrown) || isFault) })
      if (own === undefined) return Promise.reject(thrown)
      return own.call(request.server, thrown as FastifyError, request, reply)
    }

  /** Whether a not-found handler of the app answers the unknown paths of a context. */
  const isNotFoundOfApp =
    options.mode === 'enforce' ? answerUnserved(app, ofRoute(undefined), contexts) : hasNotFoundHandler

  return {
    isOfApp,
    enforces,
    /** Whether a handler of the app has answered a request. */
    hasAnswered: (request: FastifyRequest): boolean =>
      request.is404
        ? isNotFoundOfApp(request.server) || isOfApp(request.server, false)
        : isOfApp(request.server, hasOwnHandler.of(request) === true),
    passedOn: (reply: FastifyReply) => passedOn.get(reply),
    /** Notes the mode of a route. Returns whether it has an error handler of the app. */
    note(route: RouteOptions, mode: Mode): boolean {
      const hasOwn = route.errorHandler !== undefined && route.errorHandler !== refuseThrown
      modeOfRoute.set(route, mode)
      hasOwnHandler.set(route, hasOwn)
      return hasOwn
    },
    ofRoute,
    isNotFoundOfApp,
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
  return validation !== undefined && unsupportedMediaType(problemOf(thrown), request).statusCode === 415
}
