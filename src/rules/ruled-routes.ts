import type { FastifyInstance, RouteOptions } from 'fastify'
import { headSiblings } from '../fastify/head-sibling.js'
import { type Checks, resolveRouteOptions } from '../options.js'
import { reasonToLeaveAlone } from './exclusion-reason.js'
import type { Mode } from './findings.js'
import { reporterOf } from './report.js'
import {
  exceptionsOf,
  type HeldException,
  modesOf,
  type RouteRuleOptions,
  type RuleException,
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
  /** The context that registers it. */
  readonly app: FastifyInstance
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
  /**
   * Tells the report of the exceptions, and whether they are needed: one of the route by this route, one that is
   * declared for many by any of them.
   *
   * @param broken the rules that the route breaks; `null` where that cannot be known
   */
  tellExceptions(broken: ReadonlySet<Rule> | null): void
}

/**
 * A reader for the routes of a context, in the order in which they are added. When the app gets ready it also tells of
 * the declared exceptions: of one that is needed for each of its routes, of one that no route needs once.
 */
export function ruledRoutes<Rule extends string, Own extends RouteRuleOptions<Rule>>({
  plugin,
  rules,
  options,
  routeChecks,
  app,
}: RuledPlugin<Rule, Own>): (route: RouteOptions & { path: string }) => RuledRoute<Rule, Own> {
  const reporter = reporterOf(app)
  const isHeadSibling = headSiblings(app)
  const paths = new Set<string>()
  const saysNothing = Object.freeze({}) as Own
  // One object for the many routes that say nothing themselves.
  const modeOfMost = modesOf(rules, options)
  const uses = new Map<HeldException<Rule>, ExceptionUse<Rule>>(
    options.exceptions.map((declared) => [declared, { declared, routes: [], isNeeded: false }]),
  )

  function tell(route: string, { except, reason }: HeldException<Rule>, unused: boolean): void {
    reporter.except({ plugin, route, rules: except, reason, unused })
  }

  reporter.tellAfterChecks(() => {
    for (const declared of unmetExceptions(options.exceptions, paths)) tell(declared.url, declared, true)
    for (const { declared, routes, isNeeded } of uses.values()) {
      if (isNeeded) for (const route of routes) tell(route, declared, false)
      else if (routes.length > 0) tell(declared.url, declared, true)
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
      tellExceptions(broken) {
        for (const exception of exceptions) {
          const isNeeded = broken === null || exception.except.some((rule) => broken.has(rule))
          const use = uses.get(exception)
          if (use === undefined) tell(name, exception, !isNeeded)
          else {
            use.routes.push(name)
            use.isNeeded ||= isNeeded
          }
        }
      },
    }
  }
}

/** Where an exception holds that is declared for the routes of a path. */
interface ExceptionUse<Rule extends string> {
  readonly declared: RuleException<Rule>
  /** The routes that have told of it, by their names. */
  readonly routes: string[]
  /** Does one of them break a rule that it is excepted from, or may it? */
  isNeeded: boolean
}
