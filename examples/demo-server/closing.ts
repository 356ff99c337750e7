import type { FastifyInstance } from 'fastify'

/** How long the process may take to end, in milliseconds. Operations may run for five seconds more. */
export const closeTimeout = 30_000

// For a response that had begun when the server was told to close, such as a stream: its client was told to wait longer.
const idleWhileClosing = 1_000

/**
 * Ends the connections of HTTP/1.1 as soon as their requests are answered, once the server closes. Node.js closes those that
 * are idle then, and waits for each other one until its client closes it, or until it is idle for `keepAliveTimeout`, 72
 * seconds.
 */
export function closeConnectionsAtStop(app: FastifyInstance): void {
  let isClosing = false
  app.addHook('preClose', async function endKeepAlive() {
    isClosing = true
    app.server.keepAliveTimeout = idleWhileClosing
  })
  app.addHook('onSend', async function closeConnection({ raw }, reply) {
    if (isClosing && raw.httpVersionMajor === 1) reply.header('connection', 'close')
  })
}
