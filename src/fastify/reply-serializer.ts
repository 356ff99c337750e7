import type { FastifyInstance, FastifyReply, RouteOptions } from 'fastify'
import { hasReplySerializer, hasSerializerCompiler, replySerializer } from './internals.js'

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
  return compiler !== undefined || hasSerializerCompiler(app)
}

export function hasSerializerOfTheApp(
  app: FastifyInstance,
  compiler: RouteOptions['serializerCompiler'],
): boolean {
  return hasCompiledSerializer(app, compiler) || hasReplySerializer(app)
}
