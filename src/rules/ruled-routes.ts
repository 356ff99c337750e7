import type { FastifyInstance, RouteOptions } from 'fastify'
import { headSiblings } from '../fastify/internals.js'
import { type Checks, resolveRouteOptions } from '../options.js'
import {
  type AppliedException,
  exceptionsOf,
  exclusionReasonOf,
  type RuleException,
  unmatchedExceptions,
} from './exceptions.js'
import { type Mode, modesOf, type RouteRuleOptions, type RuleOptions } from './modes.js'
import { reporterOf } from './report.js'
import { exceptedReason } from './route-exceptions.js'

/** A plugin with rules, and the options it was registered with. */
export interface RuledPlugin<Rule extends string, Own extends RouteRuleOptions<Rule>> {
  /** Its name, which is also its key in a route's `config`. */
  readonly plugin: string
  readonly rules: readonly Rule[]
  readonly options: Required<RuleOptions<Rule>>
  /** Checks of the options of a route. */
  readonly routeChecks: Checks<Own>
  /** Whether `true` in `config` is the same as `{}`. */
  readonly acceptsTrue?: boolean
  /** The option that an array in `config` stands for. */
  readonly arrayOption?: string | undefined
  /** The context that registers it. */
  readonly app: FastifyInstance
}

/** A route and how the rules of a plugin apply to it. */
export interface RuledRoute<Rule extends string, Own extends RouteRuleOptions<Rule>> {
  readonly methods: readonly string[]
  /** Method and path pattern. */
  readonly name: string
  /** The options of the route itself, checked. */
  readonly own: Own | false
  readonly exceptions: readonly AppliedException<Rule>[]
  /** The mode of each rule, with the route's options and its exceptions. */
  readonly modeOf: Readonly<Record<Rule, Mode>>
  /** Why no rule applies to the route; `null` if rules apply. */
  readonly exclusionReason: string | null
  /** Whether Fastify added it to a GET route, whose findings are its own too. */
  readonly isHeadSibling: boolean
  /**
   * Adds the exceptions to the report, each with whether it is needed: one of the route by this route, one that is
   * declared for many routes by any of them.
   *
   * @param broken the rules that the route breaks; `null` if that is not known at boot
   */
  addExceptions(broken: ReadonlySet<Rule> | null): void
}

/** Returns a reader for the routes of a context, to be called for each in the order of registration. */
export function ruledRoutes<Rule extends string, Own extends RouteRuleOptions<Rule>>({
  plugin,
  rules,
  options,
  routeChecks,
  acceptsTrue = false,
  arrayOption,
  app,
}: RuledPlugin<Rule, Own>): (route: RouteOptions & { path: string }) => RuledRoute<Rule, Own> {
  const reporter = reporterOf(app)
  const isHeadSibling = headSiblings(app)
  const paths = new Set<string>()
  const noOptions = Object.freeze({}) as Own
  // Shared by all routes without options of their own.
  const defaultModes = modesOf(rules, options)
  const uses = new Map<AppliedException<Rule>, ExceptionUse<Rule>>(
    options.exceptions.map((declared) => [declared, { declared, routes: [], isNeeded: false }]),
  )

  function add(route: string, { except, reason }: AppliedException<Rule>, unused: boolean): void {
    reporter.addException({ plugin, route, rules: except, reason, declared: true, unused })
  }

  reporter.afterChecks(() => {
    for (const declared of unmatchedExceptions(options.exceptions, paths)) add(declared.url, declared, true)
    for (const { declared, routes, isNeeded } of uses.values()) {
      if (isNeeded) for (const route of routes) add(route, declared, false)
      else if (routes.length > 0) add(declared.url, declared, true)
    }
  })

  return function readRoute(route) {
    const methods = [route.method].flat()
    const name = `${methods.join(', ')} ${route.path}`
    const label = `${name} config.${plugin}`
    const config = route.config as Readonly<Record<string, Own | boolean | undefined>> | undefined
    const inConfig = config?.[plugin]
    const isShort = Array.isArray(inConfig) && arrayOption !== undefined
    const given = isShort ? ({ [arrayOption]: inConfig } as object as Own) : inConfig
    const own = resolveRouteOptions<Own, Own>(label, given, routeChecks, noOptions, acceptsTrue) as
      | Own
      | false
    const exceptions = exceptionsOf(route.path, label, own, options.exceptions)
    const isDefault = own === noOptions && exceptions.length === 0
    paths.add(route.path)
    return {
      methods,
      name,
      own,
      exceptions,
      modeOf: isDefault ? defaultModes : modesOf(rules, options, own, exceptions),
      exclusionReason:
        own === false
          ? (exceptedReason(route, plugin) ?? `config.${plugin} is false`)
          : exclusionReasonOf(route),
      isHeadSibling: isHeadSibling(route),
      addExceptions(broken) {
        for (const exception of exceptions) {
          const isNeeded = broken === null || exception.except.some((rule) => broken.has(rule))
          const use = uses.get(exception)
          if (use === undefined) add(name, exception, !isNeeded)
          else {
            use.routes.push(name)
            use.isNeeded ||= isNeeded
          }
        }
      },
    }
  }
}

/** The routes of an exception that is declared for all routes of a path. */
interface ExceptionUse<Rule extends string> {
  readonly declared: RuleException<Rule>
  /** The names of its routes. */
  readonly routes: string[]
  /** Whether one of them breaks a rule that it is excepted from, or may break it. */
  isNeeded: boolean
}
