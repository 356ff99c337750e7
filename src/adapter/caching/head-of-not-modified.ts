import type { onSendHookHandler, RouteOptions } from 'fastify'

const measuring = 'headRouteOnSendHandler'

/** Is this the HEAD route that Fastify adds to a GET route: the same handler, whose answer is measured and dropped? */
export function measuresForHead(hooks: RouteOptions['onSend']): boolean {
  return [hooks ?? []].flat().some((hook) => hook.name === measuring)
}

/**
 * Fastify measures what a GET would have sent for its HEAD route, in a hook that takes it for granted that there is
 * something. A 304 has nothing to measure, and no `Content-Length` (RFC 9110 §15.4.5).
 */
export function spareNotModified(hooks: RouteOptions['onSend']): onSendHookHandler[] {
  return [hooks ?? []].flat().map((hook) => {
    if (hook.name !== measuring) return hook as onSendHookHandler
    const measure = hook as onSendHookHandler
    return function measureUnlessNotModified(request, reply, payload, next) {
      if (reply.statusCode === 304) next(null, null)
      else measure.call(this, request, reply, payload, next)
    }
  })
}
