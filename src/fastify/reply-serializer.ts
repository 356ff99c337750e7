import type { FastifyInstance, FastifyReply, RouteOptions } from 'fastify'
import { hasAppSerializer, replySerializer, serializerOptions } from './internals.js'

/** Makes the reply send a string as it is, without the route's response schema. */
export function passString(reply: FastifyReply): FastifyReply {
  return reply.serializer(asItIs)
}

/** Whether the handler has set a serializer (`reply.serializer()`). */
export function hasSerializerOfItsOwn(reply: FastifyReply): boolean {
  return replySerializer(reply) !== null
}

/** Whether {@link passString} has set the serializer of the reply. */
export function isWrittenByUs(reply: FastifyReply): boolean {
  return replySerializer(reply) === asItIs
}

// An object that replaces the string later, such as that of an error handler, still has to become JSON.
function asItIs(payload: unknown): string {
  return typeof payload === 'string' ? payload : JSON.stringify(payload)
}

/** Whether the app serializes a route's responses (`setReplySerializer()`, `setSerializerCompiler()`, `serializerCompiler`). */
export function hasSerializerOfTheApp(
  app: FastifyInstance,
  compiler: RouteOptions['serializerCompiler'],
): boolean {
  return compiler !== undefined || hasAppSerializer(app)
}

/** Whether the app has options for fast-json-stringify (`serializerOpts`), such as `rounding`. */
export function hasSerializerOptions(app: FastifyInstance): boolean {
  return Object.keys(serializerOptions(app)).length > 0
}
