import type { FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { headerOf } from '../../fastify/header-of.js'
import { hookOfPlugin, isRoot } from '../../fastify/internals.js'
import { isResponse } from '../../fastify/payloads.js'
import { isPreflight } from '../../fastify/preflight.js'
import { varyMerger } from '../../http/vary.js'

/**
 * Sets up @fastify/cors. Its route for preflights is declared only where it is needed: in the OpenAPI document, and in a
 * context with a prefix, whose hooks do not run for paths without a route. Returns its hook, for preflights and for other requests: that of
 * @fastify/cors answers each `OPTIONS` as a preflight.
 */
export async function corsHook(
  app: FastifyInstance,
  options: FastifyCorsOptions,
): Promise<onRequestHookHandler> {
  // Loaded here, so that an import of this package does not load it.
  const { default: plugin } = await import('@fastify/cors')
  const common = { ...options, strictPreflight: false }
  const ignore = (): void => {}
  // An app may register @fastify/cors itself, which declares the same decorator and route.
  const others = { decorateRequest: ignore, options: ignore }
  const needsRoute = !isRoot(app) || options.hideOptionsRoute === false
  const preflight = hookOfPlugin(plugin, app, common, {
    ...others,
    ...(needsRoute ? { options: app.options.bind(app) } : {}),
  })
  const response = hookOfPlugin(plugin, app, { ...common, preflight: false }, others)
  return function setCorsHeaders(request, reply, next) {
    ;(isPreflight(request) ? preflight : response).call(this, request, reply, next)
  }
}

/** Returns a `Vary` with `Origin`. */
export const withOrigin = varyMerger('Origin')

/** Adds `Origin` to the `Vary` of a reply. */
export function varyByOrigin(reply: FastifyReply): void {
  const current = headerOf(reply, 'vary')
  const vary = withOrigin(current)
  if (vary !== current) reply.header('vary', vary)
}

/** The `onSend` hook that adds `Origin` to `Vary`. */
export function varyByOriginOnSend(
  _request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: (error: null, payload: unknown) => void,
): void {
  varyByOrigin(reply)
  next(null, isResponse(payload) ? varied(payload) : payload)
}

/** Returns a web `Response` with `Origin` in its `Vary`: its headers replace those of the reply. */
function varied(response: Response): Response {
  const vary = response.headers.get('vary')
  // Without a `Vary` in the response, that of the reply is sent.
  if (vary === null) return response
  const { body, status, statusText } = response
  const headers = new Headers(response.headers)
  headers.set('vary', withOrigin(vary))
  return new Response(body, { status, statusText, headers })
}
