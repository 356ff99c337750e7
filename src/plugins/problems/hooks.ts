import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { unsupportedMediaType } from '../../convention/bodies.js'
import { runFirstSteps } from '../../convention/early-answers.js'
import { discardUnreadBody, headerOf, isFramingFaulty, isResponse } from '../../convention/exchange.js'
import {
  hasErrorHandler,
  hasNotFoundHandler,
  setReplaceableErrorHandler,
} from '../../convention/internals.js'
import { answerUnserved, judge } from '../../convention/not-found-handler.js'
import { replySlot, routeSlot } from '../../convention/slots.js'
import type { Effect } from '../../convention/steps.js'
import { isProblemField } from '../../http/error-headers.js'
import { isJson, mediaTypeOf } from '../../http/media-types.js'
import { isHealthPath } from '../../http/url.js'
import { parseExact } from '../../json/exact-json.js'
import { isObject } from '../../options.js'
import { isProblemError, longestDetail, ProblemError, problemMediaType } from '../../problem/problem-error.js'
import { isJsonSyntaxError, problemOf, problemOfBody } from '../../problem/problem-of.js'
import {
  jsonOfProblem,
  logProblem,
  refuseThrown,
  retryAfter,
  sending,
  sendProblem,
  setHead,
} from '../../problem/send-problem.js'
import type { Mode } from '../../report/modes.js'

type RouteErrorHandler = NonNullable<RouteOptions['errorHandler']>

export type ErrorRewriter = ReturnType<typeof errorAnswers>['rewrite']

export const modeOfRoute = routeSlot<Mode>('problems.mode')

const hasOwnHandler = routeSlot<boolean>('problems.hasOwnHandler')

/** The problem of an error that was passed to an error handler of the app; it is kept if the handler does not know it. */
export const passedOn = replySlot<{ readonly problem: ProblemError; readonly isKept: boolean }>(
  'problems.passedOn',
)

/** Sets the error handler of a context, unless the app has one there. Returns who answers the errors there and below. */
export function errorAnswers(
  app: FastifyInstance,
  options: {
    readonly mode: Mode
    readonly refusals: 'answer' | 'errorHandler'
    readonly errorHandler: 'leave' | 'wrap'
    readonly keepMembers: readonly string[]
  },
  contexts: ReadonlySet<FastifyInstance>,
) {
  const isSetBefore = hasErrorHandler(app)
  const { errorHandler: before } = app
  if (options.mode === 'enforce' && !isSetBefore) setReplaceableErrorHandler(app, handleError)
  const { errorHandler: current } = app
  const answersRefusals = options.refusals === 'answer'
  const wraps = options.errorHandler === 'wrap'
  const parses = (type: string): boolean => [...contexts].some((one) => one.hasContentTypeParser(type))

  function answer(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    // The status so far is that of the response which a hook has failed to send.
    const status = sending.get(reply) === true ? 500 : reply.statusCode
    // HTTP/2 has methods that Fastify does not know: no hook has seen such a request.
    if (request.is404 && !request.server.supportedMethods.includes(request.method)) {
      runFirstSteps(request, reply, (refusal) => {
        const unserved = refusal ?? (judge(request, parses) as ProblemError)
        logProblem(reply, unserved, unserved)
        sendProblem(reply, unserved)
      })
      return
    }
    const problem = unsupportedMediaType(problemOf(thrown, status), request)
    logProblem(reply, problem, thrown)
    if (problem.code === 'content-too-large' && !isFramingFaulty(request)) {
      // The client can send all of its body. Fastify closes the connection under it, which may lose the response.
      reply.removeHeader('connection')
      discardUnreadBody(request, reply)
    }
    sendProblem(reply, problem)
  }

  const enforces = (request: FastifyRequest): boolean =>
    (request.is404 ? options.mode : modeOfRoute.of(request)) === 'enforce'

  function handleError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (enforces(request)) answer(thrown, request, reply)
    // The handler that the app had before answers, as without this plugin.
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
      const isFault = wraps && problem.code === 'validation'
      passedOn.set(reply, { problem, isKept: answersRefusals && (isProblemError(thrown) || isFault) })
      if (own === undefined) return Promise.reject(thrown)
      return own.call(request.server, thrown as FastifyError, request, reply)
    }

  /** Whether a not-found handler of the app answers the unknown paths of a context. */
  const isNotFoundOfApp =
    options.mode === 'enforce' ? answerUnserved(app, ofRoute(undefined), parses) : hasNotFoundHandler

  const hasAnswered = (request: FastifyRequest): boolean =>
    request.is404
      ? isNotFoundOfApp(request.server) || isOfApp(request.server, false)
      : isOfApp(request.server, hasOwnHandler.of(request) === true)

  /**
   * Rewrites an error body that is not a problem document. The promise is that of an error which is sent already.
   * @param isAgain whether a hook has failed on the response that was sent before
   */
  function rewrite(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    status: number,
    isAgain: boolean,
  ): Effect | undefined | Promise<undefined> {
    // A hook has failed on an error, and would fail on the next one: Fastify would then send the cause to the client.
    if (isAgain && enforces(request) && isErrorOfFramework(payload, 500)) {
      sendProblem(reply, new ProblemError('internal-server-error'))
      return new Promise(() => {})
    }
    return status < 400 ? undefined : effectOf(request, reply, payload, status)
  }

  function effectOf(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    status: number,
  ): Effect | undefined {
    const passed = passedOn.get(reply)
    if (passed?.isKept === true && !isAnswered(passed.problem, status, payload)) {
      logProblem(reply, passed.problem)
      return written(reply, passed.problem, payload)
    }
    const ofResponse = isResponse(payload) ? payload.headers.get('content-type') : null
    const type = mediaTypeOf(ofResponse ?? headerOf(reply, 'content-type'))
    // Other types, such as HTML, are what the app has chosen.
    const isWrapped = wraps && (type === '' || type === 'text/plain' || isJson(type))
    if (hasAnswered(request) && !isWrapped) return undefined
    const ofHealth = isHealthPath(request.routeOptions.url ?? '') && !isErrorOfFramework(payload, status)
    const isKept = type === problemMediaType || (ofHealth && passed === undefined)
    if (isKept || !isRewritable(reply, payload)) return keptBody(reply, status)
    const cause = wraps && passed?.problem.statusCode === status ? passed.problem : undefined
    const problem = problemOfBody(status, bodyOf(payload, type), cause, options.keepMembers)
    const hidden = status < 500 ? undefined : (passed?.problem.cause ?? shownBody(payload))
    return written(reply, unsupportedMediaType(problem, request), payload, hidden)
  }

  /** Notes the mode of a route. Returns whether it has an error handler of the app. */
  function note(route: RouteOptions, mode: Mode): boolean {
    const hasOwn = route.errorHandler !== undefined && route.errorHandler !== refuseThrown
    modeOfRoute.set(route, mode)
    hasOwnHandler.set(route, hasOwn)
    return hasOwn
  }

  return { isOfApp, isNotFoundOfApp, note, ofRoute, rewrite }
}

// Errors with which Fastify answers instead of the handler.
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

/** @param hidden what a 5xx hides from the client, for the log */
function written(reply: FastifyReply, problem: ProblemError, payload: unknown, hidden?: unknown): Effect {
  return {
    rule: 'body',
    given: `${problem.statusCode} without a problem document`,
    payload: jsonOfProblem(reply, problem),
    change() {
      if (hidden !== undefined) logProblem(reply, problem, hidden)
      if (isResponse(payload)) {
        for (const [name, value] of payload.headers) if (isKeptField(name, value)) reply.header(name, value)
        payload.body?.cancel().catch(() => {})
      }
      setHead(reply, problem)
    },
  }
}

function isKeptField(name: string, value: string): boolean {
  return !name.startsWith('content-') && name !== 'connection' && isProblemField(name, value)
}

function keptBody(reply: FastifyReply, status: number): Effect | undefined {
  const headers = {
    ...(status === 503 && !reply.hasHeader('retry-after') && { 'retry-after': retryAfter }),
    // Fastify prefers the header fields of a Response.
    ...(!reply.hasHeader('cache-control') && { 'cache-control': 'no-store' }),
  }
  const given = `${status} without ${Object.keys(headers).join(', ')}`
  return Object.keys(headers).length === 0 ? undefined : { rule: 'body', given, headers }
}

/** Whether an error body can be read: a stream may be a file, and encoded bytes are not text. */
function isRewritable(reply: FastifyReply, payload: unknown): boolean {
  return isResponse(payload) || (isTextOrEmpty(payload) && !reply.hasHeader('content-encoding'))
}

/** Whether an error handler of the app has answered a problem: not with a 500 for another status, nor by passing it on. */
function isAnswered({ statusCode, message }: ProblemError, status: number, payload: unknown): boolean {
  if (!isTextOrEmpty(payload)) return true
  if (status === 500 && statusCode !== 500) return false
  return !isErrorOfFramework(payload, statusCode, message)
}

/** Whether a payload is an error in Fastify's own form (`statusCode`, `error`, `message`) with a status, and a message. */
function isErrorOfFramework(payload: unknown, status: number, message?: string): boolean {
  if (typeof payload !== 'string' || payload.length > maxFrameworkError) return false
  const body = bodyOf(payload, '')
  if (!isObject(body)) return false
  const { statusCode, message: text, error, code: _, ...others } = body
  const hasForm = typeof error === 'string' && Object.keys(others).length === 0
  return hasForm && statusCode === status && text === (message ?? text)
}

const maxFrameworkError = 65_536

function isTextOrEmpty(payload: unknown): boolean {
  return payload === undefined || payload === null || typeof payload === 'string' || Buffer.isBuffer(payload)
}

/** Returns an error body for the log; nothing of a Response, which is not read, and of one without content. */
function shownBody(payload: unknown): string | undefined {
  return (isTextOrEmpty(payload) && String(payload ?? '')) || undefined
}

/** Returns the JSON of an error body, or its text as the `message`. The body of a Response is not read. */
function bodyOf(payload: unknown, type: string): unknown {
  if (!isTextOrEmpty(payload)) return undefined
  const text = String(payload ?? '')
  if (type === 'text/plain') return text.length > longestDetail ? undefined : { message: text }
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}
