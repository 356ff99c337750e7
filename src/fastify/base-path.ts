import type { FastifyInstance } from 'fastify'

/** Returns the prefix of a context up to a major version in it: `/api` for `/api`, `/api/v1` and `/api/v1/admin`. */
export function basePathOf({ prefix }: FastifyInstance): string {
  return prefix.replace(/\/v[0-9]+(?=\/|$).*|\/+$/, '')
}
