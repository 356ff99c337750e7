import type { FastifyReply, FastifyRequest } from 'fastify'
import { routeSlot } from '../../fastify/slots.js'
import { pathOf } from '../../http/request-target.js'
import { routePath } from '../../http/route-path.js'
import { refuse } from '../../problem/send-problem.js'
import type { Mode } from '../../rules/modes.js'
import type { Reporter } from '../../rules/report.js'
import { pathFault, pathProblem, segmentFaults } from './path-faults.js'
import type { PathRule } from './path-rules.js'

/** How the guard treats the requests of a route. */
export interface GuardedRoute {
  readonly modeOf: Readonly<Record<PathRule, Mode>>
  /** The path pattern; `null` for paths that no route serves. */
  readonly path: string | null
  /** Whether parameters may have uppercase letters and encoded characters. */
  readonly anyParameter: boolean
}

type Hook = (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) => void

/** How the guard treats the requests of a route. */
export const guardedRoute = routeSlot<GuardedRoute>('pathGuard.route')

/**
 * Returns the `onRequest` hook, which refuses or counts requests whose path has a fault.
 *
 * @param unknown how paths are treated that no route serves
 * @param statusCode of the refusal
 */
export function pathHook(unknown: GuardedRoute, statusCode: number, reporter: Reporter): Hook {
  return function pathCaseOnRequest(request, reply, next) {
    const target = request.raw.url ?? '/'
    if (pathFault(target) === null) {
      next()
      return
    }
    const { modeOf, path: pattern, anyParameter } = guardedRoute.of(request) ?? unknown
    const path = pathOf(target)
    const faults = segmentFaults(path, pattern === null ? null : routePath(pattern), anyParameter)
    for (const fault of new Set(faults.map(({ fault }) => fault))) {
      if (modeOf[fault] === 'report') reporter.observe('pathGuard', fault, request, path, statusCode)
    }
    const refused = faults.filter(({ fault }) => modeOf[fault] === 'enforce')
    if (refused.length === 0) next()
    else refuse(request, reply, pathProblem(path, refused, pathOf(request.originalUrl), statusCode), next)
  }
}
