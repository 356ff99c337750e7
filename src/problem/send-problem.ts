import type { OutgoingHttpHeaders } from 'node:http'
import type { Writable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { passString } from '../fastify/reply-serializer.js'
import { replySlot } from '../fastify/slots.js'
import { isField, isProblemField } from '../http/error-headers.js'
import { exactJson } from '../json/exact-json.js'
import { withPathHints } from './path-hints.js'
import { problemDocument, problemMediaType } from './problem-document.js'
import { isProblemError, mendedOf, ProblemError } from './problem-error.js'
import { logRefusal } from './problem-log.js'
import { type ProblemStyle, refusalsOf, styleOf } from './type-base.js'

export { defaultStyle } from './type-base.js'

type WrittenStyle = Omit<ProblemStyle, 'refusals'>

/** Whether the `onSend` hooks of a reply have begun to run. */
export const sending = replySlot<boolean>('problems.sending')

/** Notes that the `onSend` hooks of a reply run; returns whether they ran before. */
export function markSending(reply: FastifyReply): boolean {
  const before = sending.get(reply) === true
  sending.set(reply, true)
  return before
}

/**
 * Puts status and headers of a problem on the reply and returns its document as JSON. What cannot be written, be it a
 * header field or a member, is left out and logged. A problem is not stored, unless its own headers say otherwise.
 */
export function writeProblem(reply: FastifyReply, given: ProblemError, style: WrittenStyle): string {
  const error = withPathHints(given, reply.request)
  const mended = mendedOf(given)
  if (mended.length > 0) reply.log.warn({ mended }, 'arguments of a ProblemError were changed')
  const document = jsonOf(error, style, reply)
  reply.code(error.statusCode)
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  reply.headers(fieldsOf(error, reply))
  if (error.statusCode === 503 && !reply.hasHeader('retry-after')) {
    reply.header('retry-after', String(style.retryAfter))
  }
  // A coding that the handler announced was for the body it meant to send.
  reply.removeHeader('content-encoding').header('content-type', problemMediaType)
  return document
}

/** Characters of a problem document: its own members fit many times over, those of an error may have no end. */
const longestDocument = 65_536

/** Returns the document as JSON, without what the error adds to it where that cannot be written or is too long. */
function jsonOf(error: ProblemError, { typeBase }: WrittenStyle, { request, log }: FastifyReply): string {
  const { code, statusCode: status, title, message: detail, errors } = error
  const json = (problem: ProblemError): string => documentJson(problem, typeBase, request.id)
  try {
    const whole = json(error)
    if (whole.length <= longestDocument) return whole
    log.warn({ length: whole.length }, 'a problem is too long, and its members are not sent')
    const withIssues = json(new ProblemError(code, { status, title, detail, ...(errors && { errors }) }))
    if (withIssues.length <= longestDocument) return withIssues
  } catch (err) {
    log.warn({ err }, 'the members of a problem are no JSON, and are not sent')
  }
  return json(new ProblemError(code, { status, title, detail }))
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
export function answerProblem(reply: FastifyReply, error: ProblemError, style: WrittenStyle): FastifyReply {
  // What was said of the answer in whose place the problem stands does not hold for the problem.
  reply.header('cache-control', 'no-store')
  const document = writeProblem(reply, error, style)
  // A string that is already serialized passes by the route's response schema, which need not know of problems.
  return passString(reply).send(document)
}

/**
 * Sends a problem in the style of the reply's context: the usual way, or past the hooks where the hooks that run on
 * every answer are running already.
 */
export function sendProblem(reply: FastifyReply, error: ProblemError): void {
  const style = styleOf(reply.server)
  if (sending.get(reply) === true) answerPastHooks(reply, error, style)
  else answerProblem(reply, error, style)
}

/**
 * Refuses a request: the one way in which this package ends a request that it does not serve. The problem is logged and
 * sent; no error handler of the app sees it, so a handler that answers 500 to what it does not know changes nothing.
 * Where `refusals: 'errorHandler'` says so, the error is handed over instead, with its status and headers on the reply.
 *
 * @param handOver passes an error to the error handler of the route's scope: `next` of a hook
 */
export function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ProblemError,
  handOver: (error: ProblemError) => void,
): void {
  discardUnread(request, reply)
  if (refusalsOf(request) === 'errorHandler') {
    // An error handler need not look at the headers of errors.
    reply.code(error.statusCode).headers(fieldsOf(error, reply))
    handOver(error)
    return
  }
  logRefusal(reply, error)
  sendProblem(reply, error)
}

const refusals = new WeakSet<ProblemError>()

/** Marks a problem as a refusal, for where it can only be thrown or passed to a callback, as in a body parser. */
export function asRefusal(error: ProblemError): ProblemError {
  refusals.add(error)
  return error
}

/** Whether {@link asRefusal} has marked what was thrown. */
export function isRefusal(thrown: unknown): boolean {
  return thrown instanceof ProblemError && refusals.has(thrown)
}

/**
 * The `errorHandler` of a route of this package: problems that its handler throws are refusals. Other errors are passed
 * on to the error handler of the route's scope.
 */
export function refuseThrown(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<never> | undefined {
  let isPassedOn = !isProblemError(thrown)
  if (isProblemError(thrown)) {
    refuse(request, reply, thrown, () => {
      isPassedOn = true
    })
  }
  return isPassedOn ? passOn(thrown) : undefined
}

/** Returns what an error handler returns to pass an error on to the next one, whatever was thrown. */
export function passOn(thrown: unknown): Promise<never> {
  return Promise.reject(thrown)
}

/** Node.js discards an unread body once it is answered, but not where a part of the body was read before. */
function discardUnread({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (!raw.readableDidRead || raw.readableEnded) return
  // The response of HTTP/2 finishes with its stream, which waits until all of the body is read.
  const { stream = reply.raw } = reply.raw as { readonly stream?: Writable }
  stream.once('finish', () => raw.resume())
}

/**
 * Sends a problem past all hooks, for when a hook that runs on every answer has failed, or a header cannot be written:
 * whatever is tried the usual way would fail again, and end in Fastify's own words about the cause. Nobody may store
 * it, whatever was said of the answer in whose place it stands.
 */
export function answerPastHooks(reply: FastifyReply, error: ProblemError, style: WrittenStyle): void {
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
