import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../errors.js'
import { isField, isProblemField } from '../http/error-headers.js'
import { defaultTypeBase, problemDocument, problemMediaType } from '../http/problem.js'
import { exactJson } from '../representation/output/exact-json.js'
import { withPathHints } from './path-hints.js'
import { isToldAlready } from './problem-log.js'
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

/**
 * Puts status and headers of a problem on the reply and returns its document as JSON. What cannot be written, be it a
 * header field or a member, is left out and logged.
 */
export function writeProblem(reply: FastifyReply, given: ProblemError, style: ProblemStyle): string {
  const error = withPathHints(given, reply.request)
  const document = jsonOf(error, style, reply)
  reply.code(error.statusCode).headers(fieldsOf(error, reply))
  if (error.statusCode === 503 && !reply.hasHeader('retry-after')) {
    reply.header('retry-after', String(style.retryAfter))
  }
  // A coding that the handler announced was for the body it meant to send.
  reply.removeHeader('content-encoding').header('content-type', problemMediaType)
  return document
}

/** The document as JSON; without what the error adds to it where that is none. */
function jsonOf(error: ProblemError, { typeBase }: ProblemStyle, { request, log }: FastifyReply): string {
  try {
    return documentJson(error, typeBase, request.id)
  } catch (err) {
    log.warn({ err }, 'the members of a problem are no JSON, and are not sent')
    const { code, statusCode: status, title, message: detail } = error
    return documentJson(new ProblemError(code, { status, title, detail }), typeBase, request.id)
  }
}

function documentJson(error: ProblemError, typeBase: string, requestId: string): string {
  const json = exactJson(problemDocument(error, typeBase, requestId), false)
  if (json === undefined) throw new TypeError('a problem document became undefined')
  return json
}

function fieldsOf(error: ProblemError, { log }: FastifyReply): Readonly<Record<string, string>> {
  const headers = error.headers ?? {}
  const all = Object.entries(headers)
  const kept = all.filter(([name, value]) => isProblemField(name, value))
  if (kept.length === all.length) return headers
  const fields = all.map(([name]) => name).filter((name) => !kept.some(([other]) => other === name))
  log.warn({ fields }, 'header fields of a problem cannot be sent')
  return Object.fromEntries(kept)
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
  if (isToldAlready(error)) request.log.info(error.message)
  else request.log[error.statusCode < 500 ? 'info' : 'error']({ err: error }, error.message)
  answerProblem(reply, error, defaultStyle)
}

/**
 * Sends a problem past all hooks, for when a hook that runs on every answer has failed, or a header cannot be written:
 * whatever is tried the usual way would fail again, and end in Fastify's own words about the cause. Nobody may store
 * it, whatever was said of the answer in whose place it stands.
 */
export function answerPastHooks(reply: FastifyReply, error: ProblemError, style: ProblemStyle): void {
  const document = writeProblem(reply, error, style)
  const headers = {
    ...reply.getHeaders(),
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(document),
  }
  reply.hijack()
  const writable = Object.entries(headers).filter(([name, value]) => isField(name, value))
  reply.raw.writeHead(error.statusCode, Object.fromEntries(writable) as OutgoingHttpHeaders)
  reply.raw.end(reply.request.method === 'HEAD' ? undefined : document)
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
