import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { kept } from '../kept.js'
import {
  checksOf,
  type DeclaredOptions,
  each,
  type Option,
  type OptionsOf,
  type ResolvedOptions,
  routeOptionsOf,
} from '../options.js'
import type { Finding } from '../report/findings.js'
import {
  exceptionsOf,
  type Mode,
  type RouteRuleOptions,
  type RuleOptions,
  modesOf as ruleModes,
} from '../report/modes.js'
import { reporterOf } from '../report/report.js'
import { exceptedReason } from '../report/route-exceptions.js'
import type { RegistrationOptions, RouteFacts } from './declared-routes.js'
import { type DocumentPlan, documentRoute } from './document.js'
import { type Neighbour, type OverlapFinding, watchNeighbour } from './neighbours.js'
import { placesOf } from './order.js'
import { conventionPlugin } from './plugin.js'
import { besideCors, type Part } from './run.js'
import type { ModeOf, Steps } from './steps.js'

/** The options of a convention: the mode, if it has one, and where its rules have modes of their own, those of {@link ruleOptions}. */
type WithMode = DeclaredOptions & { readonly mode?: Option<Mode> }

/** A registration of a convention: what {@link ConventionDefinition.setUp} gets. */
export interface ConventionRegistration<Options> {
  /** The context that registers the convention. */
  readonly app: FastifyInstance
  /** The options, checked, with their defaults. */
  readonly options: Options
  /** Runs a check when the app gets ready, because routes and plugins are complete only then. */
  atReady(check: () => void): void
  /** Logs a line when the app is ready, unless the text is empty. */
  note(textOf: () => string): void
  /** Adds a finding. With the effect `none` the app boots all the same; by default it does not, in `enforce`. */
  addFinding(finding: Omit<Finding, 'plugin' | 'effect'>, effect?: Finding['effect']): void
}

/** A route, as a convention compiles it. A HEAD route that Fastify adds to a GET route has what that one was compiled to. */
export interface RouteContext<Options, Rule extends string, State> extends RouteFacts {
  /** Whether `config` of the route has options of the convention. */
  readonly isConfigured: boolean
  /** The options of the convention, and over them those of the route. */
  readonly options: Options
  /** The mode of each rule on the route. */
  readonly modeOf: Readonly<Record<Rule, Mode>>
  /** What {@link ConventionDefinition.setUp} returned. */
  readonly state: State
  /** Runs a check when the app gets ready, because shared schemas are complete only then. */
  atReady(check: () => void): void
  /** Adds a finding about the route, unless the rule is off there: `enforce` does not boot. */
  addFinding(rule: Rule, problem: string, instead: string): void
  /** Lists in the report that rules do not apply to the route; by default all. */
  exclude(reason: string, rules?: readonly Rule[], isDeclared?: boolean): void
  /** Turns all rules off for the route. */
  turnOff(): void
}

/** What a convention does on a route: its steps, and what the OpenAPI document says of them. */
export interface RoutePlan extends Steps, DocumentPlan {}

/** A convention: its name, its options, and what it does on a route. */
export interface ConventionDefinition<
  Declared extends WithMode,
  OfRoute extends DeclaredOptions,
  Rule extends string,
  State,
> {
  /** The name of the plugin, and of its options in `config` of a route. */
  readonly name: string
  /** What routes, requests and responses can break. */
  readonly rules: readonly Rule[]
  /** The options of the plugin, each with its check and its default; `...ruleOptions(rules)` among them. */
  readonly options: Declared
  /** The options of a route; `...routeRuleOptions(rules)` among them. */
  readonly routeOptions: OfRoute
  /**
   * Whether the step of `onRequest` does not run for the preflights that @fastify/cors answers.
   * @default false
   */
  readonly exemptsPreflights?: boolean
  /**
   * Plugins of the app that do the same: where the app has one, the convention is off and reads no `config`.
   * @default []
   */
  readonly neighbours?: readonly (Neighbour & Pick<OverlapFinding, 'problem' | 'instead'>)[]
  /** Whether the options say that nothing is done, as `mode: 'off'` does. Then there is no row about a neighbour. */
  isOff?(options: ResolvedOptions<Declared>): boolean
  /**
   * Whether `config.<name>: true` is the same as `{}`.
   * @default false
   */
  readonly acceptsTrue?: boolean
  /**
   * The option of a route that an array as `config.<name>` stands for.
   * @default none
   */
  readonly arrayOption?: string
  /** Runs once for each registration. What it returns is the `state` of its routes. */
  setUp?(registration: ConventionRegistration<ResolvedOptions<Declared>>): State | Promise<State>
  /** Compiles a route: once when it is declared, unless `config.<name>` is `false`. Returns nothing to do nothing there. */
  route(
    context: RouteContext<ResolvedOptions<Declared> & OptionsOf<OfRoute>, Rule, State>,
  ): RoutePlan | undefined
}

/**
 * Makes a Fastify plugin of a convention. All conventions of this package are made by it. A route is compiled once, when it
 * is declared; what the convention returns for it runs on each request. See `docs/convention.md`.
 *
 * Not for what a single hook does as well: it is for rules that a team wants checked at boot, counted in `report`, excepted
 * with a reason and shown in the OpenAPI document.
 */
export function convention<
  Declared extends WithMode,
  OfRoute extends DeclaredOptions,
  Rule extends string,
  State,
>(
  definition: ConventionDefinition<Declared, OfRoute, Rule, State>,
): FastifyPluginAsync<OptionsOf<Declared> & RegistrationOptions> {
  type Options = ResolvedOptions<Declared>
  const { name, rules, neighbours = [] } = definition
  const routeChecks = checksOf(definition.routeOptions)

  return conventionPlugin(name, definition.options, async function setUpConvention(app, options, entry) {
    const { mode: ofAll = 'enforce' } = options as { readonly mode?: Mode }
    const ofRules = { mode: ofAll, rules: {}, exceptions: [], ...options } as unknown as Required<
      RuleOptions<Rule>
    >
    const off: ModeOf = each([...rules, '*'], 'off')
    const places = placesOf(name)
    const usual = ruleModes(rules, ofRules)
    const usualOfPart: ModeOf = { ...usual, '*': ofAll }
    const reporter = reporterOf(app)
    const state = (await definition.setUp?.({
      app,
      options,
      atReady: (check) => reporter.checkAtReady(check),
      note: (textOf) => reporter.note(textOf),
      addFinding: (finding, effect) => reporter.addFinding({ plugin: name, ...finding }, effect),
    })) as State
    const compiled = new Map<FastifyInstance, Part[]>()
    entry.compile = compile
    entry.unknown = compile({
      app,
      name: '*',
      path: '*',
      methods: [],
      route: null,
      exclusionReason: null,
    })
    const isOff = ofAll === 'off' || definition.isOff?.(options) === true
    if (!isOff) for (const neighbour of neighbours) turnOffBeside(neighbour)

    /** Nothing is reported about the paths without a route. */
    function compile(facts: RouteFacts): Part {
      const { app: context, name: routeName, path, methods, route, exclusionReason } = facts
      const part: Part = { convention: name, places, reporter, steps: {}, modeOf: off }
      if (neighbours.some(({ isIn }) => isIn(context))) return part
      kept(compiled, context, (): Part[] => []).push(part)
      const config = (route?.config ?? {}) as Readonly<Record<string, object | boolean | undefined>>
      const isConfigured = config[name] !== undefined
      const label = `${routeName} config.${name}`
      const own = isConfigured ? readOwn(config[name], label) : {}
      const exclude = (reason: string, excluded = rules, declared = false): void => {
        if (route === null) return
        reporter.addException({ plugin: name, route: routeName, rules: excluded, reason, declared })
      }
      if (own === false) {
        exclude((route && exceptedReason(route, name)) ?? `config.${name} is false`, rules, true)
        return part
      }
      const exceptions = exceptionsOf<Rule>(path, label, own, ofRules.exceptions)
      const isUsual = !isConfigured && exceptions.length === 0
      const modeOf = isUsual ? usual : ruleModes(rules, ofRules, own, exceptions)
      const merged = isConfigured ? { ...options, ...(own as OptionsOf<OfRoute>) } : options
      for (const { except, reason } of exceptions) exclude(reason, except, true)
      part.modeOf = isUsual
        ? usualOfPart
        : { ...modeOf, '*': (merged as { readonly mode?: Mode }).mode ?? ofAll }
      // Member by member: spreading the facts took a tenth of the boot.
      const plan = definition.route({
        app: context,
        name: routeName,
        path,
        methods,
        route,
        exclusionReason,
        isConfigured,
        options: merged as Options & OptionsOf<OfRoute>,
        modeOf,
        state,
        exclude,
        atReady(check) {
          if (route !== null) reporter.checkAtReady(check)
        },
        addFinding(rule, problem, instead) {
          const mode = modeOf[rule]
          if (mode === 'off' || route === null) return
          reporter.addFinding({ plugin: name, rule, route: routeName, problem, instead, mode })
        },
        turnOff() {
          part.modeOf = off
        },
      })
      if (plan === undefined) return part
      const { onRequest } = plan
      // Where no route serves OPTIONS, @fastify/cors answers preflights.
      const isExempt =
        definition.exemptsPreflights === true && (route === null || methods.includes('OPTIONS'))
      part.steps =
        isExempt && onRequest !== undefined ? { ...plan, ...besideCors(onRequest, route !== null) } : plan
      if (route !== null && (plan.describe ?? plan.document) !== undefined) {
        documentRoute(context, route, name, () => part.steps as RoutePlan)
      }
      return part
    }

    function readOwn(given: object | boolean | undefined, label: string): RouteRuleOptions<Rule> | false {
      const { arrayOption, acceptsTrue } = definition
      const written = Array.isArray(given) && arrayOption !== undefined ? { [arrayOption]: given } : given
      return routeOptionsOf<object>(label, written, routeChecks, acceptsTrue)
    }

    /** The plugin of the app may be registered later, so this is decided when the app gets ready. */
    function turnOffBeside(other: (typeof neighbours)[number]): void {
      watchNeighbour(app, other, { plugin: name, ...other })
      reporter.checkAtReady(function turnOffRoutes() {
        for (const [context, parts] of compiled) {
          if (other.isIn(context)) for (const part of parts) Object.assign(part, { steps: {}, modeOf: off })
        }
      })
    }
  })
}
