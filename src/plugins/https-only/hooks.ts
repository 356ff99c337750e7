import type { FastifyReply, FastifyRequest } from 'fastify'
import { pathOf } from '../../http/request-target.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Mode } from '../../rules/modes.js'
import type { Reporter } from '../../rules/report.js'

type Hook = (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) => void

/**
 * Returns the `onRequest` hook that refuses or counts requests over plain HTTP.
 *
 * @param except the raw paths that are served over plain HTTP too
 * @param modeOf returns the mode of the route of a request
 */
export function httpsHook(
  except: ReadonlySet<string>,
  modeOf: (request: FastifyRequest) => Mode,
  reporter: Reporter,
): Hook {
  return function requireHttpsOnRequest(request, reply, next) {
    if (isSecure(request) || except.has(pathOf(request.raw.url ?? '/'))) {
      next()
      return
    }
    const mode = modeOf(request)
    if (mode === 'enforce') {
      refuse(request, reply, new ProblemError('https-required', { detail: leaked }), next)
      return
    }
    if (mode === 'report')
      reporter.observe('httpsOnly', 'plain', request, `${request.method} over plain HTTP`, 403)
    next()
  }
}

const leaked = 'Use HTTPS; a token sent over plain HTTP has to be replaced'

/** Whether the client has sent the request over TLS: to this server, or to the proxy that Fastify trusts. */
function isSecure({ protocol }: FastifyRequest): boolean {
  // A proxy may write the scheme in any case (RFC 3986 §3.1).
  return protocol === 'https' || protocol?.toLowerCase() === 'https'
}
