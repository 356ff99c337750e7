import type { FastifyCorsOptions, fastifyCors } from '@fastify/cors'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { isResponse } from '../../fastify/payloads.js'
import { standInFor } from '../../fastify/stand-in.js'
import { mergeVary } from '../../http/vary.js'

/** What @fastify/cors does with requests. */
export interface CorsHooks {
  /** Sets the headers of an answer. */
  readonly answer: onRequestHookHandler
  /** Answers a preflight. */
  readonly preflight: onRequestHookHandler
}

/**
 * Sets up @fastify/cors with its route for preflights, and keeps its hooks: it takes every `OPTIONS` for a preflight, and
 * would answer one that is none with a 400.
 */
export async function corsHooks(app: FastifyInstance, options: FastifyCorsOptions): Promise<CorsHooks> {
  // Loaded here, so that an app without CORS does not load it.
  const { default: plugin } = await import('@fastify/cors')
  const given = { ...options, strictPreflight: false }
  const nothing = () => {}
  return {
    preflight: hookOf(plugin, app, given, {
      decorateRequest: app.decorateRequest.bind(app) as () => unknown,
      options: app.options.bind(app) as () => unknown,
    }),
    answer: hookOf(
      plugin,
      app,
      { ...given, preflight: false },
      { decorateRequest: nothing, options: nothing },
    ),
  }
}

function hookOf(
  plugin: typeof fastifyCors,
  app: FastifyInstance,
  options: FastifyCorsOptions,
  given: Readonly<Record<string, (...args: never[]) => unknown>>,
): onRequestHookHandler {
  const hooks: onRequestHookHandler[] = []
  const standIn = standInFor(app, {
    ...given,
    addHook: (_name: string, hook: onRequestHookHandler) => hooks.push(hook),
  })
  plugin(standIn, options, (error) => {
    if (error !== undefined) throw error
  })
  return (request, reply, next) => hooks[0]?.call(app, request, reply, next)
}

/** Says that the answer depends on the origin, whatever the handler has said of `Vary`. */
export function varyByOrigin(reply: FastifyReply): void {
  const vary = reply.getHeader('vary')
  if (vary === undefined) reply.header('vary', 'Origin')
  else if (!namesOrigin.test(String(vary))) {
    reply.header('vary', mergeVary(Array.isArray(vary) ? vary : String(vary), 'Origin'))
  }
}

/** The `onSend` hook that says so. */
export function varyByOriginOnSend(
  _request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  next: (error: null, payload: unknown) => void,
): void {
  varyByOrigin(reply)
  next(null, isResponse(payload) ? varied(payload) : payload)
}

/** The headers of a web `Response` come last, and would take the place of what is set. */
function varied(response: Response): Response {
  const vary = response.headers.get('vary')
  if (vary === null || namesOrigin.test(vary)) return response
  const { body, status, statusText } = response
  const headers = new Headers(response.headers)
  headers.set('vary', mergeVary(vary, 'Origin'))
  return new Response(body, { status, statusText, headers })
}

const namesOrigin = /(?:^|[\s,])(?:\*|origin)(?:[\s,]|$)/i
