import type { FastifyInstance } from 'fastify'
import { prepareRoutes } from '../convention/registry.js'
import { routeSlot } from '../convention/slots.js'
import type { Mode } from './modes.js'
import { matchesUrl, type RouteException } from './modes.js'
import { reporterOf } from './report.js'

/** The reason for which a route is excepted from a convention, by its name. */
const reasonsOfRoute = routeSlot<Readonly<Record<string, string>>>('exceptions.reasons')

/** Returns why an exception of the preset turns a convention off for a route; `undefined` if none does. */
export function exceptedReason(
  route: Parameters<typeof reasonsOfRoute.get>[0],
  convention: string,
): string | undefined {
  return reasonsOfRoute.get(route)?.[convention]
}

/** Turns conventions off for the routes of exceptions, by `config.<convention>: false`. */
export function exceptRoutes<Convention extends string>(
  app: FastifyInstance,
  exceptions: readonly RouteException<Convention>[],
  conventions: readonly Convention[],
  mode: Mode,
): void {
  const reporter = reporterOf(app)
  const met = new Set<RouteException<Convention>>()
  prepareRoutes(app, function exceptRoute(route, declared) {
    const applied = exceptions.filter(({ url }) => matchesUrl(url, route.path))
    if (applied.length === 0) return
    const reasons: Record<string, string> = {}
    for (const exception of applied) {
      const { reason, except: rules = conventions } = exception
      met.add(exception)
      for (const convention of rules) reasons[convention] ??= reason
      if (declared === null) continue
      const excepted = { plugin: 'conventions', route: declared.name, rules, reason }
      reporter.addException({ ...excepted, declared: true, unused: false })
    }
    const off = Object.fromEntries(Object.keys(reasons).map((convention) => [convention, false]))
    route.config = Object.assign({}, route.config, off)
    reasonsOfRoute.set(route, reasons)
  })
  reporter.checkAtReady(function findUnmatched() {
    if (mode === 'off') return
    for (const { url } of exceptions.filter((exception) => !met.has(exception))) {
      reporter.addFinding({
        plugin: 'conventions',
        rule: 'exceptions',
        route: url,
        problem: 'an exception for it is declared, and no route has this path',
        instead: 'the path of a route, or no exception',
        mode,
      })
    }
  })
}
