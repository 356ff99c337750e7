import type { FastifyRequest } from 'fastify'
import type { RequestStep, Steps } from './steps.js'

/** Whether a request is a CORS preflight (Fetch §4.8). Other `OPTIONS` have nothing to do with CORS. */
export function isPreflight({ raw: { method, headers } }: FastifyRequest): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}

/** Returns the steps of a convention that does not apply to the preflights which @fastify/cors answers. */
export function besideCors(step: RequestStep, isServed: boolean): Pick<Steps, 'onRequest' | 'lastOnRequest'> {
  return {
    onRequest: (request, reply) =>
      mayBeAnswered(request) && !request.is404 ? undefined : step(request, reply),
    // Its hook has left this one to the route.
    ...(isServed && {
      lastOnRequest: (request, reply) => (mayBeAnswered(request) ? step(request, reply) : undefined),
    }),
  }
}

/** Whether a request is a preflight in a context with @fastify/cors, which has a decorator. */
function mayBeAnswered(request: FastifyRequest): boolean {
  return isPreflight(request) && 'corsPreflightEnabled' in request
}
