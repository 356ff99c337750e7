import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Step } from './order.js'
import { addAppHook, addHook } from './route.js'
import { routeSlot } from './slots.js'

/** Whether a request is a CORS preflight (Fetch §4.8). Other `OPTIONS` have nothing to do with CORS. */
export function isPreflight({ raw: { method, headers } }: FastifyRequest): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}

/** Adds an `onRequest` hook of a convention for all requests of a context but the preflights that CORS answers. */
export function addHookBesideCors(
  app: FastifyInstance,
  step: Step<'onRequest'>,
  hook: (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) => void,
): void {
  const meetsItLater = routeSlot<boolean>(`${step}.preflight`)
  addAppHook(app, 'onRequest', step, function runBesideCors(request, reply, next) {
    if (mayBeAnswered(request) && meetsItLater.of(request) === true) next()
    else hook(request, reply, next)
  })
  app.addHook('onRoute', function meetPreflightsOnRoute(route) {
    if (![route.method].flat().includes('OPTIONS')) return
    meetsItLater.set(route, true)
    addHook(route, 'onRequest', step, function runAfterCors(request, reply, next) {
      if (mayBeAnswered(request)) hook(request, reply, next)
      else next()
    })
  })
}

/** Whether a request is a preflight in a context with @fastify/cors, which has a decorator. */
function mayBeAnswered(request: FastifyRequest): boolean {
  return isPreflight(request) && 'corsPreflightEnabled' in request
}
