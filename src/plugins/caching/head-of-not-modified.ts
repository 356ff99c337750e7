import type { onSendHookHandler, RouteOptions } from 'fastify'
import { addHook } from '../../fastify/route.js'

/**
 * Adds two hooks to a HEAD route that Fastify adds to a GET route. Fastify's own hook measures the payload for
 * `Content-Length`, and fails where there is none. A 304 has neither (RFC 9110 §15.4.5): an empty one is measured, and
 * the length is dropped.
 */
export function spareNotModified(route: RouteOptions): void {
  addHook(route, 'onSend', 'caching:empty-304', emptyNotModified)
  addHook(route, 'onSend', 'caching:length-of-304', dropLengthOfNotModified)
}

const emptyNotModified: onSendHookHandler = function emptyNotModified(_request, reply, payload, next) {
  next(null, reply.statusCode === 304 ? '' : payload)
}

const dropLengthOfNotModified: onSendHookHandler = function dropLengthOfNotModified(
  _request,
  reply,
  payload,
  next,
) {
  if (reply.statusCode === 304) reply.removeHeader('content-length')
  next(null, payload)
}
