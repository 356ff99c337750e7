import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { expectationRefusal } from '../../fastify/wire-checks.js'
import { pathOf } from '../../http/request-target.js'
import { ProblemError } from '../../problem/problem-error.js'
import { segmentTooLong } from '../../problem/problem-of.js'
import { refuse } from '../../problem/send-problem.js'
import { clip } from '../../text.js'
import { patchTypes } from './unsupported-media-type.js'

/**
 * Answers a request that no route serves: `OPTIONS` on a known path with 204 and `Allow` (RFC 9110 §9.3.7), another
 * method on a known path with 405 and `Allow` (§15.5.6), and 404 where there is nothing.
 *
 * @param patchContexts the contexts that have PATCH routes: what they parse is what `Accept-Patch` names
 * @param handOver see {@link refuse}
 */
export function answerUnserved(
  request: FastifyRequest,
  reply: FastifyReply,
  patchContexts: Iterable<FastifyInstance>,
  handOver: (error: ProblemError) => void,
): void {
  const found = lookUp(request, patchContexts)
  if (found instanceof ProblemError) refuse(request, reply, found, handOver)
  else reply.code(204).headers(found).header('cache-control', 'no-store').send()
}

/** Returns why nothing serves the request; for `OPTIONS` on a known path, the header fields of the answer. */
function lookUp(
  request: FastifyRequest,
  patchContexts: Iterable<FastifyInstance>,
): ProblemError | Readonly<Record<string, string>> {
  const refusal = expectationRefusal(request)
  if (refusal !== null) return refusal
  const path = pathOf(request.raw.url ?? '/') || '/'
  // RFC 9110 §9.3.7: `*` asks the server as a whole whether it is there.
  if (path === '*' && request.method === 'OPTIONS') return {}
  // What is too long for a parameter is too long for the rest of a path: the same answer, whatever it meets.
  if (path.split('/').some((segment) => segment.length > longestSegment(request))) {
    return new ProblemError('uri-too-long', { detail: segmentTooLong })
  }
  const methods = methodsAt(request, path)
  // A handler that calls `reply.callNotFound()` serves the path and the method, but has nothing there.
  if (methods.length === 0 || methods.includes(request.method as HTTPMethods)) {
    return new ProblemError('not-found', { detail: `There is nothing at ${clip(path, longestShown)}` })
  }
  const headers = {
    allow: [...methods, 'OPTIONS'].sort().join(', '),
    ...(methods.includes('PATCH') ? patchTypes(patchContexts) : {}),
  }
  if (request.method === 'OPTIONS') return headers
  return new ProblemError('method-not-allowed', {
    detail: `${request.method} is not among the methods of ${clip(path, longestShown)}: ${headers.allow}`,
    headers,
  })
}

// OPTIONS does not make a path known: @fastify/cors has an OPTIONS route for every path there may be.
function methodsAt(request: FastifyRequest, path: string): HTTPMethods[] {
  const { host, ':authority': authority, 'accept-version': version } = request.headers
  const constraints = { host: host ?? authority, version }
  return request.server.supportedMethods.filter(
    (method) =>
      method !== 'OPTIONS' &&
      request.server.findRoute({ method, url: path, constraints } as SoughtRoute) !== null,
  ) as HTTPMethods[]
}

function longestSegment(request: FastifyRequest): number {
  const { routerOptions, maxParamLength } = request.server.initialConfig
  return routerOptions?.maxParamLength ?? maxParamLength ?? 100
}

type SoughtRoute = Parameters<FastifyInstance['findRoute']>[0]

const longestShown = 200
