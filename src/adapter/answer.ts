import { type OutgoingHttpHeaders, validateHeaderValue } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemError } from '../errors.js'
import { defaultTypeBase, problemDocument, problemMediaType } from '../http/problem.js'
import { passString } from './reply-serializer.js'

/** How problems are written. */
export interface ProblemStyle {
  /** What the `type` of a problem begins with. */
  readonly typeBase: string
  /** Seconds in the `Retry-After` of a 503 that has none. */
  readonly retryAfter: number
}

/** How problems are written where nobody said otherwise. */
export const defaultStyle: ProblemStyle = Object.freeze({ typeBase: defaultTypeBase, retryAfter: 5 })

/** Puts status and headers of a problem on the reply and returns its document as JSON. */
export function writeProblem(reply: FastifyReply, error: ProblemError, style: ProblemStyle): string {
  reply.code(error.statusCode)
  if (error.headers !== undefined) reply.headers(error.headers)
  if (error.statusCode === 503 && !reply.hasHeader('retry-after')) {
    reply.header('retry-after', String(style.retryAfter))
  }
  // A coding that the handler announced was for the body it meant to send.
  reply.removeHeader('content-encoding').header('content-type', problemMediaType)
  return JSON.stringify(problemDocument(error, style.typeBase, reply.request.id))
}

/** Sends a problem document, whatever serializer or response schema the route has. */
export function answerProblem(reply: FastifyReply, error: ProblemError, style: ProblemStyle): FastifyReply {
  const document = writeProblem(reply, error, style)
  // A string that is already serialized passes by the route's response schema, which need not know of problems.
  return passString(reply).send(document)
}

/**
 * Ends a request with a problem, from a hook: through the error handler of the route's scope, or directly where
 * that is Fastify's own, which knows no problem documents.
 */
export function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ProblemError,
  next: (error: ProblemError) => void,
): void {
  if (hasErrorHandler(request.server)) {
    next(error)
    return
  }
  request.log[error.statusCode < 500 ? 'info' : 'error']({ err: error }, error.message)
  answerProblem(reply, error, defaultStyle)
}

/**
 * Sends a problem past all hooks, for when a hook that runs on every answer has failed, or a header cannot be written:
 * whatever is tried the usual way would fail again, and end in Fastify's own words about the cause.
 */
export function answerPastHooks(reply: FastifyReply, error: ProblemError, style: ProblemStyle): void {
  const document = writeProblem(reply, error, style)
  const headers = Object.entries({ ...reply.getHeaders(), 'content-length': Buffer.byteLength(document) })
  reply.hijack()
  const writable = headers.filter(([name, value]) => isWritable(name, value))
  reply.raw.writeHead(error.statusCode, Object.fromEntries(writable) as OutgoingHttpHeaders)
  reply.raw.end(reply.request.method === 'HEAD' ? undefined : document)
}

function isWritable(name: string, value: unknown): boolean {
  try {
    for (const one of [value].flat()) validateHeaderValue(name, one as string)
    return true
  } catch {
    return false
  }
}

/** Has somebody set an error handler for this context or one above, or is it Fastify's own? */
export function hasErrorHandler(app: FastifyInstance): boolean {
  return app.errorHandler.name !== 'defaultErrorHandler'
}

/** Has somebody set an error handler for this very context? */
export function hasErrorHandlerOfItsOwn(app: FastifyInstance): boolean {
  // Fastify has no question for it: a context that has not set one inherits the field.
  const field = Object.getOwnPropertySymbols(app).find(
    (symbol) => symbol.description === 'fastify.errorHandler',
  )
  return field !== undefined && hasErrorHandler(app)
}
