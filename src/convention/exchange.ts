import type { IncomingHttpHeaders } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { ProblemError } from '../problem/problem-error.js'
import { ownCompilers, replyHeaders, replySerializer } from './internals.js'

/** What was decided about a POST before it was routed. */
export type OverrideMark =
  /** It is performed as another method. */
  | { readonly kind: 'performed'; readonly byForm: boolean }
  /** It is refused; not where the route takes a body of more bytes than `unlessAbove`. */
  | { readonly kind: 'refused'; readonly problem: ProblemError; readonly unlessAbove?: number | undefined }
  /** It would be performed as another method, but is only counted. */
  | { readonly kind: 'observed'; readonly given: string }
  /** It goes on as it came, though a part of its body was read. */
  | { readonly kind: 'passed' }

// A registered symbol: the ESM and the CommonJS build of this package may serve the same app.
const mark: unique symbol = Symbol.for('fastify-conventions.methodOverride')

/** What Node hands to the router, over HTTP/1.1 and HTTP/2, and `inject` too. */
export interface RawRequest extends Readable {
  method?: string
  readonly url?: string
  readonly headers: IncomingHttpHeaders
  readonly httpVersionMajor: number
  readonly aborted: boolean
  /** Of HTTP/2. */
  readonly stream?: { readonly endAfterHeaders: boolean }
  [mark]?: OverrideMark
}

export function markRequest(raw: RawRequest, decided: OverrideMark): void {
  raw[mark] = decided
}

export function markOf(request: FastifyRequest): OverrideMark | undefined {
  return (request.raw as { readonly [mark]?: OverrideMark })[mark]
}

/** Returns the length of the body by the header section; `null` if it is not known. */
export function lengthOf({ headers, httpVersionMajor, stream }: RawRequest): number | null {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  if (length !== undefined) return Number(length)
  if (stream?.endAfterHeaders === true) return 0
  return coding === undefined && httpVersionMajor < 2 ? 0 : null
}

export function forgetContent({ headers }: RawRequest): void {
  delete headers['content-type']
  delete headers['content-length']
  delete headers['transfer-encoding']
}

/** Discards the rest of a body after the response. Node.js does it only for bodies of which nothing was read, Deno for none. */
export function discardUnreadBody({ raw }: FastifyRequest, reply: FastifyReply): void {
  // A stream of HTTP/2 of which nothing was read ends with its response; one that is read waits for the end of the body.
  if (raw.readableEnded || (raw.httpVersionMajor > 1 && !raw.readableDidRead)) return
  // The response of HTTP/2 finishes with its stream, which waits until all of the body is read.
  const { stream = reply.raw } = reply.raw as { readonly stream?: Writable }
  stream.once('finish', () => raw.resume())
}

/** Ends a refused handshake with its response: a listener for `upgrade` may have taken its connection from Node.js. */
export function endHandshake({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.headers.upgrade === undefined) return
  reply.header('connection', 'close')
  // The socket of `inject()` has no such method.
  reply.raw.once('finish', () => raw.socket.destroySoon?.())
}

/** Listens to a body while a parser reads it. A part is bytes, or text if the parser has set an encoding. */
export function listenAlong(
  payload: Readable,
  listener: { part(part: string | Uint8Array): void; end(): void },
): void {
  let isListening = false
  payload.on('newListener', function listenWithParser(event) {
    // Another listener of this kind makes the stream emit the event again, from within.
    if (event !== 'data' || isListening) return
    isListening = true
    payload.removeListener('newListener', listenWithParser)
    payload.on('data', (part: string | Uint8Array) => listener.part(part))
    payload.on('end', () => listener.end())
  })
}

/**
 * Whether a request of HTTP/1.0 has `Transfer-Encoding`. A proxy may have read another length, so the connection has to be
 * closed (RFC 9112 §6.1).
 */
export function isFramingFaulty({ raw }: FastifyRequest): boolean {
  return raw.httpVersionMinor === 0 && raw.httpVersionMajor === 1 && 'transfer-encoding' in raw.headers
}

/** Whether the content has a coding other than `identity` (RFC 9110 §8.4). */
export function isCoded({ raw, method }: FastifyRequest): boolean {
  const { 'content-encoding': codings } = raw.headers
  if (codings === undefined || bodiless.has(method)) return false
  return codings.split(',').some((coding) => !uncoded.has(coding.trim().toLowerCase()))
}

const uncoded: ReadonlySet<string> = new Set(['', 'identity'])
const bodiless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Whether a request is a CORS preflight (Fetch §4.8). Other `OPTIONS` have nothing to do with CORS. */
export function isPreflight({ raw: { method, headers } }: FastifyRequest): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}

/** Returns what was thrown, for `next` of a hook. */
export function hookError(thrown: unknown): Error {
  return thrown ? (thrown as Error) : new Error(`a hook failed with ${String(thrown)} instead of an error`)
}

/** @param name in lowercase */
export function headerOf(reply: FastifyReply, name: string): string | undefined {
  const value = replyHeaders(reply)[name] ?? reply.raw.getHeader(name)
  return typeof value === 'string' || value === undefined ? value : [value].flat().join(', ')
}

export function isBytes(payload: unknown): payload is string | Uint8Array {
  return typeof payload === 'string' || payload instanceof Uint8Array
}

export function hasContent(payload: unknown): boolean {
  return payload !== undefined && payload !== null && payload !== ''
}

/** Fastify takes its status and headers after all hooks. */
export function isResponse(payload: unknown): payload is Response {
  // As Fastify does, because there are other implementations than the global one.
  return typeof payload === 'object' && Object.prototype.toString.call(payload) === '[object Response]'
}

export function withHeaders(response: Response, changes: Readonly<Record<string, string>>): Response {
  const { body, status, statusText } = response
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(changes)) headers.set(name, value)
  return new Response(body, { status, statusText, headers })
}

/** Reads and sets header fields as they are sent: Fastify prefers those of a `Response` to those of the reply. */
export function sentFields(reply: FastifyReply, payload: unknown) {
  const response = isResponse(payload) ? payload : null
  return {
    get: (name: string): string | undefined => response?.headers.get(name) ?? headerOf(reply, name),
    /** Returns the members of an effect. */
    set: (headers: Readonly<Record<string, string>>): { headers: typeof headers; payload?: Response } =>
      response === null ? { headers } : { headers, payload: withHeaders(response, headers) },
  }
}

export function discard(payload: unknown): void {
  if (typeof payload !== 'object' || payload === null) return
  if ('destroy' in payload && typeof payload.destroy === 'function') payload.destroy()
  // The stream is not read, so errors of its end are ignored.
  else if (payload instanceof ReadableStream) payload.cancel().catch(() => undefined)
}

/** Makes the reply send a string as it is, without the route's response schema. */
export function passString(reply: FastifyReply): FastifyReply {
  return reply.serializer(asItIs)
}

export function hasSerializerOfItsOwn(reply: FastifyReply): boolean {
  return replySerializer(reply) !== null
}

export function isWrittenByUs(reply: FastifyReply): boolean {
  return replySerializer(reply) === asItIs
}

// An object that replaces the string later, such as that of an error handler, still has to become JSON.
function asItIs(payload: unknown): string {
  return typeof payload === 'string' ? payload : JSON.stringify(payload)
}

/** Whether the app compiles the serializers of a route, in place of Fastify. */
export function hasCompiledSerializer(
  app: FastifyInstance,
  { serializerCompiler }: Pick<RouteOptions, 'serializerCompiler'>,
): boolean {
  return serializerCompiler !== undefined || ownCompilers(app).serializer
}
