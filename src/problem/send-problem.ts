import type { OutgoingHttpHeaders } from 'node:http'
import type { Writable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { discardUnreadBody } from '../fastify/raw-request.js'
import { headerOf, passString } from '../fastify/reply.js'
import { replySlot } from '../fastify/slots.js'
import { isField, isProblemField, replacedByProblem } from '../http/error-headers.js'
import { serviceLinks } from '../http/links.js'
import { exactJson } from '../json/exact-json.js'
import { withPathHints } from './path-hints.js'
import { problemDocument, problemMediaType, rawProblem } from './problem-document.js'
import { changesOf, isProblemError, ProblemError } from './problem-error.js'
import { logRefusal } from './problem-log.js'
import { type ProblemStyle, refusalsOf, styleOf } from './problem-style.js'

export { defaultStyle } from './problem-style.js'

type DocumentStyle = Omit<ProblemStyle, 'refusals'>

/** Whether the `onSend` hooks of a reply have begun to run. */
export const sending = replySlot<boolean>('problems.sending')

/** Notes that the `onSend` hooks of a reply run. Returns whether they have run before. */
export function markSending(reply: FastifyReply): boolean {
  const before = sending.get(reply) === true
  sending.set(reply, true)
  return before
}

/** Makes the reply that of a problem, and returns the document as JSON: the payload for an `onSend` hook. */
export function writeProblem(reply: FastifyReply, given: ProblemError, style: DocumentStyle): string {
  const error = withPathHints(given, reply.request)
  const changes = changesOf(given)
  if (changes.length > 0) reply.log.warn({ changes }, 'arguments of a ProblemError were changed')
  const document = jsonOf(error, style, reply)
  reply.code(error.statusCode)
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  removeReplaced(reply)
  reply.headers(fieldsOf(error, reply))
  if (error.statusCode === 503 && !reply.hasHeader('retry-after')) {
    reply.header('retry-after', String(style.retryAfter))
  }
  reply.header('content-type', problemMediaType)
  return document
}

function removeReplaced(reply: FastifyReply): void {
  for (const name of replacedByProblem) if (reply.hasHeader(name)) reply.removeHeader(name)
  const current = headerOf(reply, 'link')
  const links = current === undefined ? null : serviceLinks(current)
  if (links !== null) reply.header('link', links)
  else if (current !== undefined) reply.removeHeader('link')
}

/** Maximum number of characters of a problem document. */
const maxDocumentLength = 65_536

/** Returns the document as JSON; without the members that the error adds, if they are not JSON or too long. */
function jsonOf(error: ProblemError, style: DocumentStyle, { request, log }: FastifyReply): string {
  const { code, statusCode: status, title, message: detail, errors } = error
  const json = (problem: ProblemError): string => documentJson(problem, style, request.id)
  try {
    const whole = json(error)
    if (whole.length <= maxDocumentLength) return whole
    log.warn({ length: whole.length }, 'a problem is too long, and its members are not sent')
    const withIssues = json(new ProblemError(code, { status, title, detail, ...(errors && { errors }) }))
    if (withIssues.length <= maxDocumentLength) return withIssues
  } catch (err) {
    log.warn({ err }, 'the members of a problem are not JSON, and are not sent')
  }
  return json(new ProblemError(code, { status, title, detail }))
}

function documentJson(error: ProblemError, style: DocumentStyle, requestId: string): string {
  const json = exactJson(problemDocument(error, style.typeBase, requestId, style.keepMembers), false)
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

/** Sends a problem, whatever serializer the route has; past all hooks if those of `onSend` run already: one has failed. */
export function sendProblem(
  reply: FastifyReply,
  error: ProblemError,
  style: DocumentStyle = styleOf(reply.server),
): FastifyReply {
  // The directives of the reply are for the response that the problem replaces.
  reply.header('cache-control', 'no-store')
  const document = writeProblem(reply, error, style)
  return sending.get(reply) === true ? sendPastHooks(reply, document) : passString(reply).send(document)
}

function sendPastHooks(reply: FastifyReply, document: string): FastifyReply {
  const headers = { ...reply.getHeaders(), 'content-length': Buffer.byteLength(document) }
  const { statusCode } = reply
  reply.hijack()
  const writable = Object.entries(headers).filter(([name, value]) => isField(name, value))
  reply.raw.writeHead(statusCode, Object.fromEntries(writable) as OutgoingHttpHeaders)
  reply.raw.end(reply.request.method === 'HEAD' ? undefined : document)
  return reply
}

/** Sends a problem on a connection on which no request could be read, and ends it. */
export function sendRawProblem(
  socket: Writable,
  problem: ProblemError,
  typeBase: string,
  fields: Readonly<Record<string, string>>,
): void {
  socket.end(rawProblem(problemDocument(problem, typeBase), new Date(), fields))
}

/** Refuses a request: the one way to end a request that a convention does not serve. */
export function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ProblemError,
  passOn: (error: ProblemError) => void,
): void {
  discardUnreadBody(request, reply)
  if (refusalsOf(request) === 'errorHandler') {
    // An error handler may ignore the headers of errors.
    reply.code(error.statusCode).headers(fieldsOf(error, reply))
    passOn(error)
    return
  }
  logRefusal(reply, error)
  sendProblem(reply, error)
}

/** As {@link refuse}, for an `onSend` hook: the problem is the payload of the hooks that follow. */
export function refuseOnSend(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ProblemError,
  next: (error: ProblemError | null, payload?: unknown) => void,
): void {
  if (refusalsOf(request) === 'errorHandler') {
    refuse(request, reply, error, next)
    return
  }
  logRefusal(reply, error)
  next(null, writeProblem(reply, error, styleOf(reply.server)))
}

/** The `errorHandler` of a route of this package: a problem that its handler throws is a refusal. */
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
  return isPassedOn ? Promise.reject(thrown) : undefined
}
