import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { type DocumentPlan, documentRoute } from '../fastify/document.js'
import { type Neighbour, type OverlapFinding, watchNeighbour } from '../fastify/neighbours.js'
import { appHooks, order, type Phase, type Step } from '../fastify/order.js'
import { conventionPlugin } from '../fastify/plugin.js'
import { addHookBesideCors } from '../fastify/preflight.js'
import { addAppHook, addHook } from '../fastify/route.js'
import type { RegistrationOptions } from '../fastify/route-watch.js'
import { routeSlot } from '../fastify/slots.js'
import {
  checksOf,
  type DeclaredOptions,
  type Option,
  type OptionsOf,
  type ResolvedOptions,
  resolveOptions,
} from '../options.js'
import type { Exception, Finding } from '../rules/findings.js'
import { type Mode, type RuleOptions, modesOf as ruleModes } from '../rules/modes.js'
import { reporterOf } from '../rules/report.js'
import { ruledRoutes } from '../rules/ruled-routes.js'
import { type Hook, hookOfPhase, type ModeOf, refusalIn, runStep, type Steps } from './steps.js'

/** The options of a convention: the mode, and where its rules have modes of their own, those of {@link ruleOptions}. */
type WithMode = DeclaredOptions & { readonly mode: Option<Mode> }

/** A registration of a convention: what its routes share. */
export interface Registration<Options> {
  /** The context that registers the convention. */
  readonly app: FastifyInstance
  readonly options: Options
  /** Runs a check when the app gets ready, because routes and plugins are complete only then. */
  atReady(check: () => void): void
  /** Logs a line when the app is ready, unless the text is empty. */
  note(textOf: () => string): void
  /** Declares routes of the convention, once it sees routes. */
  declareRoutes(declare: () => void): void
  /** @param effect by default the boot stops in `enforce` */
  addFinding(finding: Omit<Finding, 'plugin' | 'effect'>, effect?: Finding['effect']): void
  addException(exception: Omit<Exception, 'plugin'>): void
}

/** A route, as a convention compiles it. Paths without a route are compiled together, as `*`. */
export interface RouteContext<Options, Rule extends string, State> {
  /** The context of the route. */
  readonly app: FastifyInstance
  /** Method and path pattern, as the report has it. */
  readonly name: string
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
  /** What {@link Definition.setUp} returned. */
  readonly state: State
  /** Runs a check when the app gets ready, because shared schemas are complete only then. */
  atReady(check: () => void): void
  /** Adds a finding about the route, unless the rule is off there. The route breaks the rule. */
  addFinding(rule: Rule, problem: string, instead: string): void
  /** Notes that the route breaks rules, or may break them: an exception from them is needed. */
  breaks(rules: readonly Rule[]): void
  /** Lists in the report that rules do not apply to the route; by default all. */
  exclude(reason: string, rules?: readonly Rule[], isDeclared?: boolean): void
  /** Turns all rules off for the route. */
  turnOff(): void
}

/** What a convention does on a route. */
export interface RoutePlan extends Steps, DocumentPlan {}

/** A convention: its name, what it can be told, and what it does on a route. */
export interface Definition<
  Declared extends WithMode,
  OfRoute extends DeclaredOptions,
  Rule extends string,
  State,
> {
  /** The name of the plugin, and of its options in `config` of a route. */
  readonly name: string
  /** What requests and responses can break. */
  readonly rules: readonly Rule[]
  /** The rules of which only requests show whether a route breaks them. */
  readonly rulesOfRequests?: readonly Rule[]
  readonly options: Declared
  readonly routeOptions: OfRoute
  /** Whether the step of `onRequest` does not run for the preflights that CORS answers. */
  readonly exemptsPreflights?: boolean
  /** Plugins of the app that do the same: where the app has one, the convention is off and reads no `config`. */
  readonly neighbours?: readonly (Neighbour & Pick<OverlapFinding, 'problem' | 'instead'>)[]
  /** Whether the options say that nothing is done, as `mode: 'off'` does. Then there is no row about a neighbour. */
  isOff?(options: ResolvedOptions<Declared>): boolean
  /** Whether `config.<name>: true` is the same as `{}`. */
  readonly acceptsTrue?: boolean
  /** The option of a route that an array as `config.<name>` stands for. */
  readonly arrayOption?: string
  /** Runs once for each registration. What it returns is the `state` of its routes. */
  setUp(registration: Registration<ResolvedOptions<Declared>>): State | Promise<State>
  /** Compiles a route: once when it is declared, unless `config.<name>` is `false`. */
  route(
    context: RouteContext<ResolvedOptions<Declared> & OptionsOf<OfRoute>, Rule, State>,
  ): RoutePlan | undefined
}

/** What a convention does on a route, and the mode of its rules there. */
interface Compiled {
  plan: RoutePlan
  modeOf: ModeOf
}

type AppHook = (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void) => void

const phases = Object.keys(order) as Phase[]

/** Makes a Fastify plugin of a convention. A route is compiled once, when it is declared. */
export function convention<
  Declared extends WithMode,
  OfRoute extends DeclaredOptions,
  Rule extends string,
  State,
>(
  definition: Definition<Declared, OfRoute, Rule, State>,
): FastifyPluginAsync<OptionsOf<Declared> & RegistrationOptions> {
  type Options = ResolvedOptions<Declared>
  const { name, rules, neighbours = [] } = definition
  const [checks, defaults] = checksOf(definition.options)
  const [routeChecks] = checksOf(definition.routeOptions)
  const compiledOn = routeSlot<Compiled>(`${name}.compiled`)

  return conventionPlugin<OptionsOf<Declared>>(name, async function setUpConvention(app, received) {
    const options = resolveOptions<object, object>(name, received, checks, defaults) as Options
    const ofRules = { rules: {}, exceptions: [], ...options } as unknown as Required<RuleOptions<Rule>>
    const off: ModeOf = { ...ruleModes(rules, ofRules, false), '*': 'off' }
    const reporter = reporterOf(app)
    // Exceptions are listed when all is known that a route breaks.
    const exceptions: (() => void)[] = []
    reporter.afterChecks(function addExceptionsOfRoutes() {
      for (const add of exceptions.splice(0)) add()
    })
    const readRoute = ruledRoutes<Rule, object>({
      plugin: name,
      rules,
      options: ofRules,
      routeChecks,
      acceptsTrue: definition.acceptsTrue === true,
      arrayOption: definition.arrayOption,
      app,
    })
    const declarations: (() => void)[] = []
    const state = await definition.setUp({
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
    })
    const unknown = compileUnknown()
    // Reading the route of a request takes time, so it is read only if a route differs from the paths without one.
    const isUniform = { onRequest: true, onSend: true, modes: true }
    const modesOf = (request: FastifyRequest): ModeOf =>
      (isUniform.modes ? unknown : (compiledOn.of(request) ?? unknown)).modeOf
    const runnerIn = (phase: Phase) => ({ name, reporter, modesOf, refuse: refusalIn(phase) })
    const compiledIn: [context: FastifyInstance, compiled: Compiled][] = [[app, unknown]]
    const isOff = options.mode === 'off' || definition.isOff?.(options) === true
    if (!isOff) for (const neighbour of neighbours) turnOffBeside(neighbour)

    app.addHook('onRoute', function compileOnRoute(route) {
      const compiled = compile(this, route)
      compiledOn.set(route, compiled)
      if (neighbours.length > 0) compiledIn.push([this, compiled])
      const { plan, modeOf } = compiled
      isUniform.modes &&= [...rules, '*'].every((rule) => modeOf[rule] === unknown.modeOf[rule])
      for (const phase of phases) {
        const step = plan[phase]
        if (isOfContext(phase)) isUniform[phase] &&= step === unknown.plan[phase]
        if (step === undefined || isBeforeApp(name, phase)) continue
        const hook = hookOfPhase(phase, hookOfRoute(compiled, phase, phase))
        addHook(route, phase, name as Step<Phase>, hook as never)
      }
      if (plan.lastOnSend !== undefined) {
        const hook = hookOfRoute(compiled, 'onSend', 'lastOnSend')
        addHook(route, 'onSend', `${name}:last` as Step<'onSend'>, hook)
      }
      if ((plan.describe ?? plan.document) !== undefined)
        documentRoute(this, route, name, () => compiled.plan)
    })
    addHooksOfContext()
    for (const declare of declarations) declare()

    function compile(context: FastifyInstance, route: RouteOptions & { path: string }): Compiled {
      if (neighbours.some(({ isIn }) => isIn(context))) return { plan: {}, modeOf: off }
      const {
        methods,
        name: routeName,
        own,
        modeOf: ofRulesHere,
        exclusionReason,
        isHeadSibling,
        addExceptions,
      } = readRoute(route)
      if (own === false) {
        const exception = {
          plugin: name,
          route: routeName,
          rules,
          reason: exclusionReason ?? '',
          declared: true,
          unused: false,
        }
        if (!isHeadSibling) reporter.addException(exception)
        return { plan: {}, modeOf: off }
      }
      const merged = { ...options, ...(own as OptionsOf<OfRoute>) }
      const modeOf = { ...ofRulesHere, '*': merged.mode as Mode }
      const broken = new Set(definition.rulesOfRequests)
      if (!isHeadSibling) exceptions.push(() => addExceptions(broken))
      const compiled: Compiled = { plan: {}, modeOf }
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
        exclusionReason,
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
          compiled.modeOf = off
          isUniform.modes = false
        },
      })
      return Object.assign(compiled, plan === undefined ? {} : { plan })
    }

    /** Runs a step of a route, unless the convention has been turned off there. */
    function hookOfRoute(compiled: Compiled, phase: Phase, name: keyof Steps): Hook {
      const runner = runnerIn(phase)
      return function runStepOfRoute(request, reply, payload, next) {
        const step = compiled.plan[name]
        if (step === undefined) next(null, payload)
        else runStep(runner, step, request, reply, payload, next)
      }
    }

    /** The plugin of the app may be registered later, so this is decided when the app gets ready. */
    function turnOffBeside(other: (typeof neighbours)[number]): void {
      watchNeighbour(app, other, { plugin: name, ...other })
      reporter.checkAtReady(function turnOffRoutes() {
        for (const [context, compiled] of compiledIn) {
          if (!other.isIn(context)) continue
          Object.assign(compiled, { plan: {}, modeOf: off })
          Object.assign(isUniform, { onRequest: false, onSend: false, modes: false })
        }
      })
    }

    function compileUnknown(): Compiled {
      const modeOf = { ...ruleModes(rules, ofRules), '*': options.mode as Mode }
      const plan = definition.route({
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
      return { plan: plan ?? {}, modeOf }
    }

    function addHooksOfContext(): void {
      const onRequest = hookOfContext('onRequest')
      const onSend = hookOfContext('onSend')
      if (onRequest !== undefined) {
        const step = name as Step<'onRequest'>
        const runOnRequest = hookOfPhase('onRequest', onRequest) as AppHook
        if (definition.exemptsPreflights === true) addHookBesideCors(app, step, runOnRequest)
        else addAppHook(app, 'onRequest', step, runOnRequest)
      }
      if (onSend !== undefined) addAppHook(app, 'onSend', name as Step<'onSend'>, onSend)
    }

    /** The hook for all requests of the context; for those of paths without a route if routes have a hook of their own. */
    function hookOfContext(phase: 'onRequest' | 'onSend'): Hook | undefined {
      const ofUnknown = unknown.plan[phase]
      const runner = runnerIn(phase)
      if (isBeforeApp(name, phase)) {
        return function runStepOfContext(request, reply, payload, next) {
          const compiled = isUniform[phase] ? unknown : (compiledOn.of(request) ?? unknown)
          const step = compiled.plan[phase]
          if (step === undefined) next(null, payload)
          else runStep(runner, step, request, reply, payload, next)
        }
      }
      if (ofUnknown === undefined) return undefined
      return function runStepOfUnknown(request, reply, payload, next) {
        if (!request.is404) next(null, payload)
        else runStep(runner, ofUnknown, request, reply, payload, next)
      }
    }
  })
}

function isOfContext(phase: Phase): phase is 'onRequest' | 'onSend' {
  return phase === 'onRequest' || phase === 'onSend'
}

/** Whether the place of a convention in a phase is before the hooks of the app. */
function isBeforeApp(name: string, phase: Phase): boolean {
  const places: readonly string[] = order[phase]
  return places.indexOf(name) !== -1 && places.indexOf(name) < places.indexOf(appHooks)
}
