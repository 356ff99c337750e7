import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemError } from './errors.js'
import { defaultTypeBase, problemDocument, problemMediaType } from './http/problem.js'
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
  reply.header('content-type', problemMediaType)
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
  if (hasOwnErrorHandler(request.server)) {
    next(error)
    return
  }
  request.log[error.statusCode < 500 ? 'info' : 'error']({ err: error }, error.message)
  answerProblem(reply, error, defaultStyle)
}

/** Has somebody set an error handler for this context, or is it Fastify's own? */
export function hasOwnErrorHandler(app: FastifyRequest['server']): boolean {
  return app.errorHandler.name !== 'defaultErrorHandler'
}
