import type { FastifyReply } from 'fastify'

/** Has the reply to send a string as it is, past the route's response schema. */
export function passString(reply: FastifyReply): FastifyReply {
  return reply.serializer(asItIs)
}

/** Has the handler given this reply a serializer (`reply.serializer()`)? Then the payload is none of ours. */
export function hasSerializerOfItsOwn(reply: FastifyReply): boolean {
  // Fastify has no question for it, only the field behind the setter: found once, by its description.
  field ??=
    Object.getOwnPropertySymbols(reply).find((symbol) => symbol.description === 'fastify.reply.serializer') ??
    null
  return field !== null && (reply as unknown as Record<symbol, unknown>)[field] !== null
}

let field: symbol | null | undefined

function asItIs(payload: unknown): string {
  return payload as string
}
