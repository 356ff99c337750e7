import type { RouteOptions } from 'fastify'
import type { Mode } from '../findings.js'
import { type Checks, resolveRouteOptions } from '../options.js'
import { headSiblings } from './head-sibling.js'
import { reasonToLeaveAlone } from './left-alone.js'
import type { Reporter } from './report.js'
import {
  exceptionsOf,
  type HeldException,
  modesOf,
  type RouteRuleOptions,
  type RuleOptions,
  unmetExceptions,
} from './rules.js'

/** A plugin with rules, and what it was registered with. */
export interface RuledPlugin<Rule extends string, Own extends RouteRuleOptions<Rule>> {
  /** Its name: that of its key in a route's `config`. */
  readonly plugin: string
  readonly rules: readonly Rule[]
  readonly options: Required<RuleOptions<Rule>>
  /** Checks of what a route says. */
  readonly routeChecks: Checks<Own>
  readonly reporter: Reporter
}

/** A route, as the rules of a plugin see it. */
export interface RuledRoute<Rule extends string, Own extends RouteRuleOptions<Rule>> {
  readonly methods: readonly string[]
  /** Method and path pattern. */
  readonly name: string
  /** What the route says itself, checked. */
  readonly own: Own | false
  readonly exceptions: readonly HeldException<Rule>[]
  /** With the route's own words and its exceptions. */
  readonly modeOf: Readonly<Record<Rule, Mode>>
  /** Why no rule looks at it; `null` where they do. */
  readonly untouched: string | null
  /** Was it added by Fastify to a GET route? Then what is wrong with it has been said. */
  readonly isHeadSibling: boolean
}

/**
 * A reader for the routes of a context, in the order in which they are added. It also tells, when the app gets ready,
 * of exceptions declared for paths that no route has.
 */
export function ruledRoutes<Rule extends string, Own extends RouteRuleOptions<Rule>>({
  plugin,
  rules,
  options,
  routeChecks,
  reporter,
}: RuledPlugin<Rule, Own>): (route: RouteOptions & { path: string }) => RuledRoute<Rule, Own> {
  const isHeadSibling = headSiblings()
  const paths = new Set<string>()
  const saysNothing = Object.freeze({}) as Own
  // One object for the many routes that say nothing themselves.
  const modeOfMost = modesOf(rules, options)
  reporter.checkAtReady(() => {
    for (const { url, except, reason } of unmetExceptions(options.exceptions, paths)) {
      reporter.except({ plugin, route: url, rules: except, reason, unused: true })
    }
  })

  return function readRoute(route) {
    const methods = [route.method].flat()
    const name = `${methods.join(', ')} ${route.path}`
    const label = `${name} config.${plugin}`
    const config = route.config as Readonly<Record<string, Own | false | undefined>> | undefined
    const own = resolveRouteOptions<Own, Own>(label, config?.[plugin], routeChecks, saysNothing) as
      | Own
      | false
    const exceptions = exceptionsOf(route.path, label, own, options.exceptions)
    paths.add(route.path)
    return {
      methods,
      name,
      own,
      exceptions,
      modeOf:
        own === saysNothing && exceptions.length === 0
          ? modeOfMost
          : modesOf(rules, options, own, exceptions),
      untouched: own === false ? `config.${plugin} is false` : reasonToLeaveAlone(route),
      isHeadSibling: isHeadSibling(route),
    }
  }
}
