import type { onSendHookHandler, RouteOptions } from 'fastify'

/**
 * Fastify measures what a GET would have sent for its HEAD route, in a hook that takes it for granted that there is
 * something. A 304 has nothing to measure, and no `Content-Length` (RFC 9110 §15.4.5).
 */
export function spareNotModified(hooks: RouteOptions['onSend']): onSendHookHandler[] {
  return [hooks ?? []].flat().map((hook) => {
    if (hook.name !== 'headRouteOnSendHandler') return hook as onSendHookHandler
    const measure = hook as onSendHookHandler
    return function measureUnlessNotModified(request, reply, payload, next) {
      if (reply.statusCode === 304) next(null, null)
      else measure.call(this, request, reply, payload, next)
    }
  })
}
