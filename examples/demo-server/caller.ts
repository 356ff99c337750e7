import type { FastifyRequest } from 'fastify'

const developmentToken = /^Bearer dev-user-(\d{1,19})$/

/**
 * Who is asking, by a token that anybody can make up: `Authorization: Bearer dev-user-<id>`. FOR DEVELOPMENT ONLY: it
 * proves nothing. A real service asks whoever issues its tokens.
 */
export function callerOf({ headers }: FastifyRequest): bigint | null {
  const id = developmentToken.exec(headers.authorization ?? '')?.[1]
  return id === undefined ? null : BigInt(id)
}
