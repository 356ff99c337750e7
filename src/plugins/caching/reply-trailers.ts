import type { FastifyReply } from 'fastify'
import { privateField } from '../../fastify/private-field.js'

const trailersOf = privateField<Readonly<Record<string, unknown>> | null>('fastify.reply.trailers')

/** Takes away the trailers of a reply that has no content to follow (RFC 9112 §7.1.2): Node.js refuses to send them. */
export function dropTrailers(reply: FastifyReply): void {
  for (const name of Object.keys(trailersOf(reply) ?? {})) reply.removeTrailer(name)
}
