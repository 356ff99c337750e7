import type { FastifyInstance, FastifyReply, RouteOptions } from 'fastify'
import { ownCompilers, replySerializer } from './internals.js'

/** Returns what was thrown, for `next` of a hook. */
export function hookError(thrown: unknown): Error {
  return thrown ? (thrown as Error) : new Error(`a hook failed with ${String(thrown)} instead of an error`)
}

/** The headers of a response; a Fastify reply has them. */
export interface ReplyHeaders {
  getHeader(name: string): number | string | string[] | undefined
}

/** Returns a header of a reply as text. */
export function headerOf(reply: ReplyHeaders, name: string): string | undefined {
  const value = reply.getHeader(name)
  return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
}

/** Whether a payload is text or bytes, and not a stream. */
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

/** Ends a stream that will not be sent. */
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

export function hasCompiledSerializer(
  app: FastifyInstance,
  compiler: RouteOptions['serializerCompiler'],
): boolean {
  return compiler !== undefined || ownCompilers(app).serializer
}

export function hasSerializerOfTheApp(
  app: FastifyInstance,
  compiler: RouteOptions['serializerCompiler'],
): boolean {
  return hasCompiledSerializer(app, compiler) || ownCompilers(app).replySerializer
}
