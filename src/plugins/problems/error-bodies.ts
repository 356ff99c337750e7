import { headerOf, isResponse } from '../../convention/reply.js'
import type { Effect, PayloadStep } from '../../convention/steps.js'
import { unsupportedMediaType } from '../../convention/unsupported-media-type.js'
import { isProblemField } from '../../http/error-headers.js'
import { isJson, mediaTypeOf } from '../../http/media-types.js'
import { parseExact } from '../../json/parse-exact.js'
import { isObject } from '../../options.js'
import { longestDetail, ProblemError, problemMediaType } from '../../problem/problem-error.js'
import { problemOfBody } from '../../problem/problem-of.js'
import {
  jsonOfProblem,
  logProblem,
  retryAfter,
  sending,
  sendProblem,
  setHead,
} from '../../problem/send-problem.js'
import { isHealthPath } from '../../words/health-path.js'
import type { ErrorHandlers } from './hooks.js'
import type { ResolvedProblems } from './options.js'

type Request = Parameters<PayloadStep>[0]
type Reply = Parameters<PayloadStep>[1]

/** Returns the step that rewrites error bodies which are not problem documents. */
export function errorBodies(handlers: ErrorHandlers, options: ResolvedProblems): PayloadStep {
  const wraps = options.errorHandler === 'wrap'

  return function rewriteErrorBody(request, reply, payload) {
    const isAgain = sending.get(reply) === true
    sending.set(reply, true)
    // A hook has failed on an error, and would fail again: then Fastify would send the cause. Nothing is left to be done.
    if (isAgain && handlers.enforces(request) && isErrorOfFramework(payload, 500)) {
      sendProblem(reply, new ProblemError('internal-server-error'))
      return new Promise(() => {})
    }
    const status = isResponse(payload) ? payload.status : reply.statusCode
    return status < 400 ? undefined : effectOf(request, reply, payload, status)
  }

  function effectOf(request: Request, reply: Reply, payload: unknown, status: number): Effect | undefined {
    const passed = handlers.passedOn(reply)
    if (passed?.isKept === true && !isAnswered(passed.problem, status, payload)) {
      logProblem(reply, passed.problem)
      return written(reply, passed.problem, payload)
    }
    const contentType = isResponse(payload)
      ? payload.headers.get('content-type')
      : headerOf(reply, 'content-type')
    const type = mediaTypeOf(contentType ?? undefined)
    // Other types, such as HTML, are what the app has chosen.
    const isWrapped = wraps && (type === '' || type === 'text/plain' || isJson(type))
    if (handlers.hasAnswered(request) && !isWrapped) return undefined
    const ofHealth = isHealthPath(request.routeOptions.url ?? '') && !isErrorOfFramework(payload, status)
    const isKept = type === problemMediaType || (ofHealth && passed === undefined)
    if (isKept || !isRewritable(reply, payload)) return keptBody(reply, status)
    const cause = wraps && passed?.problem.statusCode === status ? passed.problem : undefined
    const body = type === 'text/plain' ? messageOf(payload) : parsed(payload)
    const problem = problemOfBody(status, body, cause, options.keepMembers)
    return written(reply, unsupportedMediaType(problem, request), payload)
  }
}

/** Puts a problem in the place of a payload. */
function written(reply: Reply, problem: ProblemError, payload: unknown): Effect {
  return {
    rule: 'body',
    given: `${problem.statusCode} without a problem document`,
    payload: jsonOfProblem(reply, problem),
    change() {
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

function keptBody(reply: Reply, status: number): Effect | undefined {
  const headers = {
    ...(status === 503 && !reply.hasHeader('retry-after') && { 'retry-after': retryAfter }),
    // Fastify prefers the header fields of a Response.
    ...(!reply.hasHeader('cache-control') && { 'cache-control': 'no-store' }),
  }
  const given = `${status} without ${Object.keys(headers).join(', ')}`
  return Object.keys(headers).length === 0 ? undefined : { rule: 'body', given, headers }
}

/** Whether an error body can be read: a stream may be a file, and encoded bytes are not text. */
function isRewritable(reply: Reply, payload: unknown): boolean {
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
  const body = parsed(payload)
  if (!isObject(body)) return false
  const { statusCode, message: text, error, code: _, ...others } = body
  const hasForm = typeof error === 'string' && Object.keys(others).length === 0
  return hasForm && statusCode === status && text === (message ?? text)
}

const maxFrameworkError = 65_536

function isTextOrEmpty(payload: unknown): boolean {
  return payload === undefined || payload === null || typeof payload === 'string' || Buffer.isBuffer(payload)
}

function messageOf(payload: unknown): unknown {
  const message = payload === null || payload === undefined ? '' : String(payload)
  return message.length > longestDetail ? undefined : { message }
}

// The body of a Response is not read.
function parsed(payload: unknown): unknown {
  try {
    return isTextOrEmpty(payload) ? parseExact(String(payload)) : undefined
  } catch {
    return undefined
  }
}
