import type { FastifyInstance, FastifyReply, RouteOptions } from 'fastify'

/** Has the reply to send a string as it is, past the route's response schema. */
export function passString(reply: FastifyReply): FastifyReply {
  return reply.serializer(asItIs)
}

/** Has the handler given this reply a serializer (`reply.serializer()`)? Then the payload is none of ours. */
export function hasSerializerOfItsOwn(reply: FastifyReply): boolean {
  return serializerOf(reply) !== null
}

/** Whether this package has written the payload of a reply, and handed it to {@link passString}. */
export function isWrittenByUs(reply: FastifyReply): boolean {
  return serializerOf(reply) === asItIs
}

function serializerOf(reply: FastifyReply): unknown {
  // Fastify has no getter, only the field behind the setter: found once, by its description.
  field ??=
    Object.getOwnPropertySymbols(reply).find((symbol) => symbol.description === 'fastify.reply.serializer') ??
    null
  return field === null ? null : (reply as unknown as Record<symbol, unknown>)[field]
}

let field: symbol | null | undefined

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
  const controller = hiddenField(app, 'fastify.schemaController') as {
    readonly isCustomSerializerCompiler?: boolean
  }
  const replySerializer = hiddenField(app, 'fastify.replySerializerDefault') ?? null
  return replySerializer !== null || controller?.isCustomSerializerCompiler === true
}

/** Does the app tell Fastify's writers how to write (`serializerOpts`), such as to round up? Ours do not know it. */
export function hasSerializerOptions(app: FastifyInstance): boolean {
  const options = hiddenField(app, 'fastify.options') as { readonly serializerOpts?: object } | undefined
  return Object.keys(options?.serializerOpts ?? {}).length > 0
}

// Fastify has setters for these and no questions: found by description, in the context or one above it, and once.
const fields = new Map<string, symbol>()

function hiddenField(app: FastifyInstance, description: string): unknown {
  const known = fields.get(description)
  if (known !== undefined && known in app) return (app as unknown as Record<symbol, unknown>)[known]
  for (let context: object | null = app; context !== null; context = Object.getPrototypeOf(context)) {
    const symbol = Object.getOwnPropertySymbols(context).find((one) => one.description === description)
    if (symbol === undefined) continue
    fields.set(description, symbol)
    return (context as Record<symbol, unknown>)[symbol]
  }
  return undefined
}
