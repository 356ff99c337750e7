import type { FastifyReply } from 'fastify'

/** A header of the reply, as text. */
export function headerOf(reply: FastifyReply, name: string): string | undefined {
  const value = reply.getHeader(name)
  return value === undefined ? undefined : Array.isArray(value) ? value.join(', ') : String(value)
}
