import type { Entry } from '../convention/registry.js'
import { routeSlot } from '../convention/slots.js'
import { type Mode, matchesUrl, type RouteException } from './modes.js'
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
  entry: Entry,
  exceptions: readonly RouteException<Convention>[],
  conventions: readonly Convention[],
  mode: Mode,
): void {
  const reporter = reporterOf(entry.app)
  const met = new Set<RouteException<Convention>>()
  entry.compile = function exceptRoute({ route, name, path }) {
    const applied = exceptions.filter(({ url }) => matchesUrl(url, path))
    if (route === null || applied.length === 0) return null
    const reasons: Record<string, string> = {}
    for (const exception of applied) {
      const { reason, except: rules = conventions } = exception
      met.add(exception)
      for (const convention of rules) reasons[convention] ??= reason
      reporter.addException({ plugin: 'conventions', route: name, rules, reason, declared: true })
    }
    const off = Object.fromEntries(Object.keys(reasons).map((convention) => [convention, false]))
    route.config = Object.assign({}, route.config, off)
    reasonsOfRoute.set(route, reasons)
    return null
  }
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
