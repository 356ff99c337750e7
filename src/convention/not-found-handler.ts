import type { IncomingHttpHeaders } from 'node:http'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  RequestPayload,
  RouteOptions,
} from 'fastify'
import { pathOf } from '../http/url.js'
import { kept } from '../kept.js'
import { ProblemError } from '../problem/problem-error.js'
import { segmentTooLong } from '../problem/problem-of.js'
import { refuse } from '../problem/send-problem.js'
import { clip } from '../text.js'
import { acceptPatch } from './bodies.js'
import { appKey } from './contexts.js'
import { hasNotFoundHandler } from './internals.js'
import { appSlot } from './slots.js'

// The prefixes whose unknown paths have a handler of this package, by app.
const answered = new WeakMap<object, Set<string>>()

/**
 * Answers requests without a route: before the body is parsed, and for `reply.callNotFound()`. A not-found handler of the
 * app takes precedence, whether it is set before or after. Below a prefix, Fastify takes it only before.
 *
 * @param parses whether a context with routes has a parser for a media type, for `Accept-Patch`
 * @returns whether a handler of the app answers the unknown paths of a context
 */
export function answerUnserved(
  app: FastifyInstance,
  errorHandler: RouteOptions['errorHandler'],
  parses: (type: string) => boolean,
): (context: FastifyInstance) => boolean {
  const prefixes = kept(answered, appKey(app), () => new Set<string>())
  const isOfApp = hasNotFoundHandler(app)
  const isBelow = app.prefix !== ''
  if (isOfApp || (isBelow && prefixes.has(app.prefix))) return hasNotFoundHandler
  prefixes.add(app.prefix)
  const answer = (request: FastifyRequest, reply: FastifyReply, passOn: PassOn): void => {
    const verdict = judge(request, parses)
    if (verdict instanceof ProblemError) refuse(request, reply, verdict, passOn)
    else reply.code(204).headers(verdict).header('cache-control', 'no-store').send()
  }
  const options = {
    errorHandler,
    preParsing: (request: FastifyRequest, reply: FastifyReply, _: RequestPayload, next: PassOn) =>
      answer(request, reply, next),
    preHandler: answer,
  }
  // Without a handler the app may still set one, but only at the root. Fastify's types have two of the options.
  app.setNotFoundHandler(options as object, (isBelow ? answer : undefined) as never)
  return (context) => (isBelow && context === app ? isOfApp : hasNotFoundHandler(context))
}

type PassOn = (error: Error) => void

/** Returns the problem of a request that no route serves; for `OPTIONS` on a known path, the fields of a 204 (RFC 9110 §9.3.7). */
export function judge(
  request: FastifyRequest,
  parses: (type: string) => boolean,
): ProblemError | Readonly<Record<string, string>> {
  const { method, server } = request
  const path = pathOf(request.url) || '/'
  // RFC 9110 §9.3.7: OPTIONS * is about the server.
  if (path === '*' && method === 'OPTIONS') return {}
  const { routerOptions, maxParamLength = 100 } = server.initialConfig
  const maxLength = routerOptions?.maxParamLength ?? maxParamLength
  // A segment that is too long for a parameter is a 414 at any place of a path.
  if (path.length > maxLength && path.split('/').some((segment) => segment.length > maxLength)) {
    return new ProblemError('uri-too-long', { detail: segmentTooLong })
  }
  const methods = methodsAt(request, path)
  // A handler that calls reply.callNotFound() serves the path and the method.
  if (methods.length === 0 || methods.includes(method)) {
    return new ProblemError('not-found', { detail: `There is nothing at ${clip(path, maxShown)}` })
  }
  const allow = [...methods, 'OPTIONS'].sort().join(', ')
  const headers = { allow, ...(methods.includes('PATCH') ? acceptPatch(parses) : undefined) }
  if (method === 'OPTIONS') return headers
  const detail = `${method} is not among the methods of ${clip(path, maxShown)}: ${allow}`
  return new ProblemError('method-not-allowed', { detail, headers })
}

const maxShown = 200

/** Whether the routes of a context refuse an empty segment as the value of a parameter. */
export const refusesEmpty = appSlot<boolean>('refusesEmpty')

/** Whether an empty segment stands for a parameter: for `/users/`, Fastify runs the handler of `/users/:id`. */
export function hasEmptyParameter(params: unknown): boolean {
  const values = params as Readonly<Record<string, unknown>>
  for (const name in values) if (name !== '*' && values[name] === '') return true
  return false
}

/** Returns the methods of the routes at a path. Without OPTIONS: @fastify/cors has an OPTIONS route for all paths. */
function methodsAt({ server, headers }: FastifyRequest, path: string): string[] {
  return server.supportedMethods.filter((method) => {
    const route = method === 'OPTIONS' ? null : routeAt(server, headers, method, path)
    return route !== null && !(refusesEmpty.get(server) === true && hasEmptyParameter(route.params))
  })
}

type FindRouteOptions = Parameters<FastifyInstance['findRoute']>[0]

/** Returns the route of a method at a path, for the host and the version that a request names. */
export function routeAt(app: FastifyInstance, headers: IncomingHttpHeaders, method: string, url: string) {
  const { host, ':authority': authority, 'accept-version': version } = headers
  const constraints = { host: host ?? authority, version }
  return app.findRoute({ method: method as HTTPMethods, url, constraints } as FindRouteOptions)
}
