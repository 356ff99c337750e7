import type { FastifyInstance, FastifyPluginAsync, RouteOptions } from 'fastify'
import {
  checksOf,
  type DeclaredOptions,
  type Option,
  type OptionsOf,
  type ResolvedOptions,
  resolveOptions,
  resolveRouteOptions,
} from '../options.js'
import {
  type AppliedException,
  exceptionsOf,
  exclusionReasonOf,
  type RuleException,
  unmatchedExceptions,
} from '../report/exceptions.js'
import type { Exception, Finding } from '../report/findings.js'
import { type Mode, type RouteRuleOptions, type RuleOptions, modesOf as ruleModes } from '../report/modes.js'
import { type Reporter, reporterOf } from '../report/report.js'
import { exceptedReason } from '../report/route-exceptions.js'
import { type RegistrationOptions, routesOf } from './declared-routes.js'
import { type DocumentPlan, documentRoute } from './document.js'
import { type Neighbour, type OverlapFinding, watchNeighbour } from './neighbours.js'
import { conventionPlugin } from './plugin.js'
import { besideCors } from './preflight.js'
import type { ModeOf, Part, Steps } from './steps.js'

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
  /** Declares routes of the convention, once it sees routes. */
  declareRoutes(declare: () => void): void
  /** Adds a finding. With the effect `none` the app boots all the same; by default it does not, in `enforce`. */
  addFinding(finding: Omit<Finding, 'plugin' | 'effect'>, effect?: Finding['effect']): void
  /** Lists in the report what the rules do not apply to. */
  addException(exception: Omit<Exception, 'plugin'>): void
}

/** A route, as a convention compiles it. Paths without a route are compiled together, as `*`. */
export interface RouteContext<Options, Rule extends string, State> {
  /** The context of the route. */
  readonly app: FastifyInstance
  /** Methods and path pattern, as the report has them. */
  readonly name: string
  /** Path pattern with all prefixes. */
  readonly path: string
  readonly methods: readonly string[]
  /** The route as it was declared; `null` for the paths without a route. */
  readonly route: (RouteOptions & { readonly path: string }) | null
  /** Whether Fastify added it to a GET route, whose findings are its own too. */
  readonly isHeadSibling: boolean
  /** Whether `config` of the route has options of the convention. */
  readonly isConfigured: boolean
  /** The options of the convention, and over them those of the route. */
  readonly options: Options
  /** The mode of each rule on the route. */
  readonly modeOf: Readonly<Record<Rule, Mode>>
  /** Why no rule about the content of the API applies, such as that the route is hidden; `null` if rules apply. */
  readonly exclusionReason: string | null
  /** What {@link ConventionDefinition.setUp} returned. */
  readonly state: State
  /** Runs a check when the app gets ready, because shared schemas are complete only then. */
  atReady(check: () => void): void
  /** Adds a finding about the route, unless the rule is off there: `enforce` does not boot. */
  addFinding(rule: Rule, problem: string, instead: string): void
  /** Notes that the route breaks rules, or may break them: an exception from them is needed. */
  breaks(rules: readonly Rule[]): void
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
  /**
   * The rules of which only requests show whether a route breaks them.
   * @default []
   */
  readonly rulesOfRequests?: readonly Rule[]
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
  const [checks, defaults] = checksOf(definition.options)
  const [routeChecks] = checksOf(definition.routeOptions)

  return conventionPlugin<OptionsOf<Declared>>(name, async function setUpConvention(app, received, entry) {
    const options = resolveOptions<object, object>(name, received, checks, defaults) as Options
    const { mode: ofAll = 'enforce' } = options as { readonly mode?: Mode }
    const ofRules = { mode: ofAll, rules: {}, exceptions: [], ...options } as unknown as Required<
      RuleOptions<Rule>
    >
    const off: ModeOf = { ...ruleModes(rules, ofRules, false), '*': 'off' }
    const reporter = reporterOf(app)
    const routes = routesOf(app)
    const exceptions = new DeclaredExceptions(name, ofRules.exceptions, reporter)
    const declarations: (() => void)[] = []
    const state = (await definition.setUp?.({
      app,
      options,
      atReady: (check) => reporter.checkAtReady(check),
      note(textOf) {
        reporter.afterChecks(() => {
          const text = textOf()
          if (text !== '') reporter.note(text)
        })
      },
      declareRoutes: (declare) => void declarations.push(declare),
      addFinding: (finding, effect) => reporter.addFinding({ plugin: name, ...finding }, effect),
      addException: (exception) => reporter.addException({ plugin: name, ...exception }),
    })) as State
    const compiled: { readonly context: FastifyInstance; readonly part: Part }[] = []
    entry.compile = (context, route) => {
      const part: Part = { convention: name, reporter, steps: {}, modeOf: off }
      if (neighbours.some(({ isIn }) => isIn(context))) return part
      compiled.push({ context, part })
      compile(context, route, part)
      return part
    }
    entry.unknown = compileUnknown()
    compiled.push({ context: app, part: entry.unknown })
    const isOff = ofAll === 'off' || definition.isOff?.(options) === true
    if (!isOff) for (const neighbour of neighbours) turnOffBeside(neighbour)
    for (const declare of declarations) declare()

    function compile(context: FastifyInstance, route: RouteOptions & { path: string }, part: Part): void {
      const methods = [route.method].flat()
      const routeName = `${methods.join(', ')} ${route.path}`
      const isHeadSibling = routes.of(route) === null
      const own = readOwn(route, `${routeName} config.${name}`)
      if (own === false) {
        const reason = exceptedReason(route, name) ?? `config.${name} is false`
        if (!isHeadSibling)
          reporter.addException({ plugin: name, route: routeName, rules, reason, ...isDeclared })
        return
      }
      const label = `${routeName} config.${name}`
      const applied = exceptionsOf<Rule>(route.path, label, own, ofRules.exceptions)
      const modeOf = ruleModes(rules, ofRules, own, applied)
      const merged = { ...options, ...(own as OptionsOf<OfRoute>) }
      const broken = new Set<Rule>(definition.rulesOfRequests)
      if (!isHeadSibling) exceptions.apply(routeName, route.path, applied, broken)
      part.modeOf = { ...modeOf, '*': (merged as { readonly mode?: Mode }).mode ?? ofAll }
      const plan = definition.route({
        app: context,
        name: routeName,
        path: route.path,
        methods,
        route,
        isHeadSibling,
        isConfigured: (route.config as Readonly<Record<string, unknown>> | undefined)?.[name] !== undefined,
        options: merged,
        modeOf,
        exclusionReason: exclusionReasonOf(route),
        state,
        atReady: (check) => reporter.checkAtReady(check),
        addFinding(rule, problem, instead) {
          broken.add(rule)
          const mode = modeOf[rule]
          if (mode === 'off' || isHeadSibling) return
          reporter.addFinding({ plugin: name, rule, route: routeName, problem, instead, mode })
        },
        breaks(others) {
          for (const rule of others) broken.add(rule)
        },
        exclude(reason, excluded = rules, declared = false) {
          if (isHeadSibling) return
          const exception = { plugin: name, route: routeName, rules: excluded, reason }
          reporter.addException({ ...exception, declared, unused: false })
        },
        turnOff() {
          part.modeOf = off
        },
      })
      if (plan === undefined) return
      part.steps = methods.includes('OPTIONS') ? exempt(plan, true) : plan
      if ((plan.describe ?? plan.document) !== undefined) {
        documentRoute(context, route, name, () => part.steps as RoutePlan)
      }
    }

    function exempt(steps: Steps, isServed: boolean): Steps {
      const { onRequest } = steps
      const isExempt = definition.exemptsPreflights === true && onRequest !== undefined
      return isExempt ? { ...steps, ...besideCors(onRequest, isServed) } : steps
    }

    function readOwn(route: RouteOptions, label: string): RouteRuleOptions<Rule> | false {
      const config = route.config as Readonly<Record<string, object | boolean | undefined>> | undefined
      const given = config?.[name]
      const { arrayOption, acceptsTrue } = definition
      const written = Array.isArray(given) && arrayOption !== undefined ? { [arrayOption]: given } : given
      return resolveRouteOptions<object, object>(label, written, routeChecks, {}, acceptsTrue)
    }

    /** The plugin of the app may be registered later, so this is decided when the app gets ready. */
    function turnOffBeside(other: (typeof neighbours)[number]): void {
      watchNeighbour(app, other, { plugin: name, ...other })
      reporter.checkAtReady(function turnOffRoutes() {
        for (const { context, part } of compiled) {
          if (other.isIn(context)) Object.assign(part, { steps: {}, modeOf: off })
        }
      })
    }

    function compileUnknown(): Part {
      const modeOf = { ...ruleModes(rules, ofRules), '*': ofAll }
      const steps = definition.route({
        app,
        name: '*',
        path: '*',
        methods: [],
        route: null,
        isHeadSibling: false,
        isConfigured: false,
        options: options as Options & OptionsOf<OfRoute>,
        modeOf,
        exclusionReason: null,
        state,
        atReady: () => undefined,
        addFinding: () => undefined,
        breaks: () => undefined,
        exclude: () => undefined,
        turnOff: () => undefined,
      })
      return { convention: name, reporter, steps: exempt(steps ?? {}, false), modeOf }
    }
  })
}

const isDeclared = { declared: true, unused: false }

/** The option `exceptions` of a registration, and those of its routes. They are listed when all is known that routes break. */
class DeclaredExceptions<Rule extends string> {
  readonly #plugin: string
  readonly #reporter: Reporter
  readonly #paths = new Set<string>()
  readonly #applied: (readonly [
    route: string,
    exception: AppliedException<Rule>,
    broken: ReadonlySet<Rule>,
  ])[] = []

  constructor(plugin: string, ofAll: readonly RuleException<Rule>[], reporter: Reporter) {
    this.#plugin = plugin
    this.#reporter = reporter
    reporter.afterChecks(() => {
      for (const exception of unmatchedExceptions(ofAll, this.#paths))
        this.#add(exception.url, exception, true)
      const needing = this.#applied.filter(([, { except }, broken]) =>
        except.some((rule) => broken.has(rule)),
      )
      const needed = new Set(needing.map(([, exception]) => exception))
      const shared = new Set<AppliedException<Rule>>(ofAll)
      for (const [route, exception] of this.#applied) {
        if (needed.has(exception)) this.#add(route, exception, false)
        else if (!shared.has(exception)) this.#add(route, exception, true)
      }
      const met = new Set(this.#applied.map(([, exception]) => exception))
      for (const exception of ofAll)
        if (met.has(exception) && !needed.has(exception)) this.#add(exception.url, exception, true)
    })
  }

  /** @param broken the rules that the route breaks, or may break: filled until the checks have run */
  apply(
    route: string,
    path: string,
    applied: readonly AppliedException<Rule>[],
    broken: ReadonlySet<Rule>,
  ): void {
    this.#paths.add(path)
    for (const exception of applied) this.#applied.push([route, exception, broken])
  }

  #add(route: string, { except, reason }: AppliedException<Rule>, unused: boolean): void {
    this.#reporter.addException({
      plugin: this.#plugin,
      route,
      rules: except,
      reason,
      declared: true,
      unused,
    })
  }
}
