import type { FastifyReply } from 'fastify'

// Fastify tells of a trailer by its name alone, and takes one away by its name.
let field: symbol | undefined

/** Takes away the trailers of a reply that has no content to follow (RFC 9112 §7.1.2): Node.js refuses to send them. */
export function dropTrailers(reply: FastifyReply): void {
  field ??= Object.getOwnPropertySymbols(reply).find(isTrailers)
  const trailers: unknown = field === undefined ? null : Reflect.get(reply, field)
  if (typeof trailers !== 'object' || trailers === null) return
  for (const name of Object.keys(trailers)) reply.removeTrailer(name)
}

function isTrailers({ description }: symbol): boolean {
  return description === 'fastify.reply.trailers'
}
