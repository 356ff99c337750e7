import type { FastifyRequest } from 'fastify'

/** Whether a request is a CORS preflight (Fetch §4.8). Other `OPTIONS` have nothing to do with CORS. */
export function isPreflight({ raw: { method, headers } }: FastifyRequest): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}
