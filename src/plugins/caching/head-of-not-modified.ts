import type { onSendHookHandler, RouteOptions } from 'fastify'

/**
 * Wraps the `onSend` hooks of a HEAD route that Fastify adds to a GET route. The last of them measures the payload for
 * `Content-Length`, and fails where there is none. A 304 has neither (RFC 9110 §15.4.5): an empty one is measured, and
 * the length is dropped.
 */
export function spareNotModified(hooks: RouteOptions['onSend']): onSendHookHandler[] {
  return [emptyNotModified, ...([hooks ?? []].flat() as onSendHookHandler[]), dropLengthOfNotModified]
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
