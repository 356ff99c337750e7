import type { FastifyInstance, FastifyReply, RouteOptions } from 'fastify'
import { privateField } from './private-field.js'

// Fastify has setters for these, and no getters.
const serializerOf = privateField<unknown>('fastify.reply.serializer')
const replySerializerOf = privateField<unknown>('fastify.replySerializerDefault')
const schemaControllerOf = privateField<{ readonly isCustomSerializerCompiler?: boolean }>(
  'fastify.schemaController',
)
const optionsOf = privateField<{ readonly serializerOpts?: object }>('fastify.options')

/** Has the reply to send a string as it is, past the route's response schema. */
export function passString(reply: FastifyReply): FastifyReply {
  return reply.serializer(asItIs)
}

/** Whether the handler has given this reply a serializer (`reply.serializer()`): then the payload is none of ours. */
export function hasSerializerOfItsOwn(reply: FastifyReply): boolean {
  return (serializerOf(reply) ?? null) !== null
}

/** Whether this package has written the payload of a reply, and handed it to {@link passString}. */
export function isWrittenByUs(reply: FastifyReply): boolean {
  return serializerOf(reply) === asItIs
}

// What replaces the string later, such as an error handler's object, still has to become JSON.
function asItIs(payload: unknown): string {
  return typeof payload === 'string' ? payload : JSON.stringify(payload)
}

/**
 * Does the app write JSON its own way (`setReplySerializer`, `setSerializerCompiler`, a compiler of the route)? Then its
 * answers are none of ours.
 */
export function hasSerializerOfTheApp(
  app: FastifyInstance,
  compiler: RouteOptions['serializerCompiler'],
): boolean {
  if (compiler !== undefined) return true
  return (
    (replySerializerOf(app) ?? null) !== null || schemaControllerOf(app)?.isCustomSerializerCompiler === true
  )
}

/** Does the app tell Fastify's writers how to write (`serializerOpts`), such as to round up? Ours do not know it. */
export function hasSerializerOptions(app: FastifyInstance): boolean {
  return Object.keys(optionsOf(app)?.serializerOpts ?? {}).length > 0
}
