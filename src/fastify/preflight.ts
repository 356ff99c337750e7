import type { FastifyRequest } from 'fastify'

/** Does a browser ask whether a page may send a request (Fetch §4.8)? Other `OPTIONS` are no matter of CORS. */
export function isPreflight({ raw: { method, headers } }: FastifyRequest): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}
