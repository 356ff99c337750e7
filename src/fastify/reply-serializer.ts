import type { FastifyInstance, FastifyReply, RouteOptions } from 'fastify'
import { hasReplySerializer, hasSerializerCompiler, replySerializer, serializerOptions } from './internals.js'
import { lazily } from './lazily.js'

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

/** Whether the app compiles the serializers of a route's response schemas (`setSerializerCompiler()`, `serializerCompiler`). */
export function hasCompiledSerializer(
  app: FastifyInstance,
  compiler: RouteOptions['serializerCompiler'],
): boolean {
  return (compiler !== undefined && !lazyCompilers.has(compiler)) || hasSerializerCompiler(app)
}

/** Whether the app serializes a route's responses: by a compiler, or all replies alike (`setReplySerializer()`). */
export function hasSerializerOfTheApp(
  app: FastifyInstance,
  compiler: RouteOptions['serializerCompiler'],
): boolean {
  return hasCompiledSerializer(app, compiler) || hasReplySerializer(app)
}

const lazyCompilers = new WeakSet<object>()

/**
 * Makes Fastify's serializers of a HEAD route when it first needs one. Call it for the routes that Fastify adds to GET
 * routes: the same schemas have been compiled for these, so that an invalid schema fails the boot.
 */
export function compileWhenNeeded(app: FastifyInstance, route: RouteOptions): void {
  if (hasSerializerOfTheApp(app, route.serializerCompiler)) return
  const compile: RouteOptions['serializerCompiler'] = (definition) =>
    lazily(() => (app.serializerCompiler as NonNullable<typeof compile>)(definition))
  lazyCompilers.add(compile)
  route.serializerCompiler = compile
}

/** Whether the app has options for fast-json-stringify (`serializerOpts`), such as `rounding`. */
export function hasSerializerOptions(app: FastifyInstance): boolean {
  return Object.keys(serializerOptions(app)).length > 0
}
