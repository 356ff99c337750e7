import type { OutgoingHttpHeaders } from 'node:http'
import type { Writable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { discardUnreadBody, endHandshake, headerOf, passString } from '../convention/exchange.js'
import { appSlot, replySlot } from '../convention/slots.js'
import { isField, isProblemField, replacedByProblem } from '../http/error-headers.js'
import { serviceLinks } from '../http/header-fields.js'
import { reasonPhrases } from '../http/status.js'
import { exactJson } from '../json/exact-json.js'
import { option, text } from '../options.js'
import { clip } from '../text.js'
import {
  isProblemError,
  longestDetail,
  type ProblemCode,
  ProblemError,
  problemDocument,
  problemMediaType,
} from './problem-error.js'

/** How the problems of a context are written, and who answers its refused requests. */
interface ProblemStyle {
  readonly typeBase: string
  /** `errorHandler`: the error handler of the route. */
  readonly refusals: 'answer' | 'errorHandler'
  /** Names of members of an earlier error format that each problem has too. */
  readonly keepMembers: readonly string[]
}

/** The style of a context without the plugin `problems`. */
export const defaultStyle: ProblemStyle = Object.freeze({
  typeBase: 'urn:problem-type:fastify-conventions:',
  refusals: 'answer',
  keepMembers: [],
})

/** The option `typeBase`. Its characters are those of a URI (RFC 3986 §2). */
export const typeBaseOption = option(
  text("the beginning of a URI, such as 'https://api.example/problems#'", /^[\w.~:/?#[\]@!$&'()*+,;=%-]+$/),
  defaultStyle.typeBase,
)

export const problemStyle = appSlot<ProblemStyle>('problemStyle')

/** Returns the style of problems in a context: its own, that of a context above it, or the default. */
export function styleOf(app: FastifyInstance): ProblemStyle {
  return problemStyle.get(app) ?? defaultStyle
}

/** `true` once the `onSend` hooks of a reply have begun to run; before that, the document of a problem that is being sent. */
export const sending = replySlot<string | true>('problems.sending')

/** Seconds in the `Retry-After` of a 503 without one. */
export const retryAfter = '5'

/** Sets the status and the headers of a problem; `no-store`, unless the reply says who may store it. */
export function setHead(reply: FastifyReply, error: ProblemError): void {
  reply.code(error.statusCode)
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  for (const name of replacedByProblem) {
    // RFC 9110 §15.5.17: a 416 says how long the content is.
    if (reply.hasHeader(name) && !(name === 'content-range' && error.statusCode === 416))
      reply.removeHeader(name)
  }
  const link = headerOf(reply, 'link')
  if (link !== undefined) {
    const links = serviceLinks(link)
    if (links === null) reply.removeHeader('link')
    else reply.header('link', links)
  }
  reply.headers(fieldsOf(error, reply))
  if (error.statusCode === 503 && !reply.hasHeader('retry-after')) reply.header('retry-after', retryAfter)
  reply.header('content-type', problemMediaType)
}

/** Maximum number of characters of a problem document. */
const maxDocumentLength = 65_536

/** Returns the document of a problem as JSON; without the members that the error adds, if they are not JSON or too long. */
export function jsonOfProblem(
  { request, log, server }: FastifyReply,
  error: ProblemError,
  style: ProblemStyle = styleOf(server),
): string {
  const documentOf = (problem: ProblemError) =>
    problemDocument(problem, style.typeBase, request.id, style.keepMembers)
  try {
    const whole = exactJson(documentOf(error), false) ?? ''
    if (whole !== '' && whole.length <= maxDocumentLength) return whole
    log.warn({ length: whole.length }, 'the members of a problem are too long or not JSON, and are not sent')
  } catch (err) {
    log.warn({ err }, 'the members of a problem are not JSON, and are not sent')
  }
  const { code, statusCode: status, title, message: detail, errors } = error
  return JSON.stringify(documentOf(new ProblemError(code, { status, title, detail, errors })))
}

function fieldsOf({ headers = {} }: ProblemError, { log }: FastifyReply): Readonly<Record<string, string>> {
  const [kept, others] = [{} as Record<string, string>, [] as string[]]
  for (const [name, value] of Object.entries(headers)) {
    if (isProblemField(name, value)) kept[name] = value
    else others.push(name)
  }
  if (others.length > 0) log.warn({ fields: others }, 'header fields of a problem cannot be sent')
  return kept
}

/** Sends a problem past the serializer of the route. After a failed `onSend` hook, it is sent past all hooks. */
export function sendProblem(reply: FastifyReply, error: ProblemError, style?: ProblemStyle): FastifyReply {
  // The directives of the reply are for the response that the problem replaces.
  reply.header('cache-control', 'no-store')
  const document = jsonOfProblem(reply, error, style)
  setHead(reply, error)
  if (sending.get(reply) === true) return sendPastHooks(reply, document)
  sending.set(reply, document)
  return passString(reply).send(document)
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

/** Sends a problem on a connection of HTTP/1.1 on which no request could be read, and ends it. */
export function sendRawProblem(
  socket: Writable,
  problem: ProblemError,
  typeBase: string,
  fields: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify(problemDocument(problem, typeBase))
  const all = {
    Date: new Date().toUTCString(),
    Connection: 'close',
    'Cache-Control': 'no-store',
    ...fields,
    'Content-Type': problemMediaType,
    'Content-Length': Buffer.byteLength(body),
  }
  const { statusCode } = problem
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${statusCode} ${reasonPhrases[statusCode]}\r\n${lines.join('')}\r\n${body}`)
}

/** Refuses a request: the one way to end a request that a convention does not serve. */
export function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ProblemError,
  passOn: (error: ProblemError) => void,
): void {
  discardUnreadBody(request, reply)
  endHandshake(request, reply)
  if (isPassedOn(reply, error)) passOn(error)
  else {
    logProblem(reply, error)
    sendProblem(reply, error)
  }
}

/** As {@link refuse}, for an `onSend` hook: the problem is the payload of the hooks that follow. */
export function refuseOnSend(
  _request: FastifyRequest,
  reply: FastifyReply,
  error: ProblemError,
  next: (error: ProblemError | null, payload?: unknown) => void,
): void {
  if (isPassedOn(reply, error)) next(error)
  else {
    logProblem(reply, error)
    setHead(reply, error)
    next(null, jsonOfProblem(reply, error))
  }
}

/** Whether the error handler of the route answers a refusal: then its status and headers are on the reply. */
function isPassedOn(reply: FastifyReply, error: ProblemError): boolean {
  if (styleOf(reply.server).refusals === 'answer') return false
  reply.code(error.statusCode).headers(fieldsOf(error, reply))
  return true
}

/** The `errorHandler` of a route of this package: a problem that its handler throws is a refusal. */
export function refuseThrown(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<never> | undefined {
  if (!isProblemError(thrown)) return Promise.reject(thrown)
  let passedOn: Promise<never> | undefined
  refuse(request, reply, thrown, (error) => {
    passedOn = Promise.reject(error)
  })
  return passedOn
}

/**
 * Logs a problem, and sets the status, so that the log line has it. A problem of the client is logged without a stack, a
 * short error in `thrown` with its own. Texts that a client can make long are cut.
 */
export function logProblem(reply: FastifyReply, problem: ProblemError, thrown: unknown = problem): void {
  const { log } = reply
  const { code, statusCode } = problem
  const message = clip(problem.message, longestDetail)
  reply.code(statusCode)
  if (outageCodes.has(code)) log.info({ res: reply }, message)
  else if (statusCode >= 500) {
    log.error({ err: bounded(thrown), req: reply.request, res: reply }, clip(problem.title, longestDetail))
  } else {
    const isShort = thrown !== problem && bounded(thrown) === thrown
    const cause = thrown === problem ? bounded(problem.cause) : undefined
    const err = isShort ? thrown : errorLike(problem, { code, message, cause })
    log.info({ err, res: reply }, message)
  }
}

// The problems of many requests during an outage, whose cause the log has once.
const outageCodes: ReadonlySet<string> = new Set<ProblemCode>([
  'authentication-unavailable',
  'idempotency-unavailable',
  'maintenance',
  'operations-full',
  'operations-unavailable',
  'server-closing',
])

/** Maximum number of characters of an error in the log. */
const maxLogged = 8_000
const maxCauses = 3

/** Returns an error for the log: of one that is too long, the main members, cut. */
function bounded(thrown: unknown, depth = 0): unknown {
  if (typeof thrown === 'string') return clip(thrown, maxLogged)
  if (!(thrown instanceof Error) || isShort(thrown)) return thrown
  const { message, stack = '', code, cause } = thrown as Error & { readonly code?: unknown }
  return errorLike(thrown, {
    code: typeof code === 'string' ? clip(code, longestDetail) : undefined,
    message: clip(message, longestDetail),
    stack: clip(stack, maxLogged),
    cause: depth < maxCauses ? bounded(cause, depth + 1) : undefined,
  })
}

/** Returns members of an error for the log. pino takes the type from the constructor. */
function errorLike(error: Error, members: object): object {
  return Object.defineProperty({ type: error.name, ...members }, 'constructor', { value: error.constructor })
}

function isShort(error: Error): boolean {
  if ('validation' in error) return false
  let errors = 0
  // JSON leaves out the texts of an error.
  const withTexts = (_: string, value: unknown): unknown => {
    if (!(value instanceof Error)) return value
    errors += 1
    if (errors > maxCauses + 1) throw new RangeError('the error has too many causes')
    const { message, stack, cause } = value
    return { ...value, message, stack, cause }
  }
  try {
    return JSON.stringify(error, withTexts).length <= maxLogged
  } catch {
    // Circular, or not JSON.
    return false
  }
}
