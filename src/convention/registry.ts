import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions, RouteOptions } from 'fastify'
import { bootErrors } from '../boot-errors.js'
import { isObject } from '../options.js'
import { exclusionReasonOf } from '../report/modes.js'
import { type Reporter, reporterOf } from '../report/report.js'
import { clip } from '../text.js'
import { type Declared, type HeadSibling, routesOf, type Watcher } from './declared-routes.js'
import { documentHeadRoute } from './document.js'
import { explain } from './explain.js'
import { isMisspelt } from './misspelt.js'
import { type Phase, phases, type Side, sides } from './order.js'
import { findUnread, noteRoute } from './route-schemas.js'
import { appSlot, requestSlot, routeSlot } from './slots.js'
import {
  type Next,
  type Part,
  type PayloadStep,
  type PlacedStep,
  placesOf,
  runSteps,
  type StepPlace,
} from './steps.js'

/** A route, as `onRoute` hooks get it. */
export type Route = RouteOptions & { path: string }

/** What all conventions know of a route. Paths without a route are compiled together, as `*`. */
export interface RouteFacts {
  /** The context of the route. */
  readonly app: FastifyInstance
  /** Methods and path pattern, as the report has them. */
  readonly name: string
  /** Path pattern with all prefixes. */
  readonly path: string
  readonly methods: readonly string[]
  /** The route as it was declared; `null` for the paths without a route. */
  readonly route: Route | null
  /** Why no rule about the content of the API applies, such as that the route is hidden; `null` if rules apply. */
  readonly exclusionReason: string | null
}

/** A plugin of this package in a context. */
export interface Entry extends Watcher {
  isSettingUp: boolean
  /** Compiles a route, once the plugin is set up. */
  compile: ((facts: RouteFacts) => Part) | null
  /** What it does on paths without a route. */
  unknown: Part | null
}

/** What the conventions do on a route: parts, and once the app is ready, the steps of each place. */
class CompiledRoute {
  readonly parts: Part[] = []
  readonly #steps = new Map<Place, PlacedStep[]>()

  at(place: Place): readonly PlacedStep[] {
    return this.#steps.get(place) ?? noSteps
  }

  /** Returns the places in which its parts have steps. */
  places(): ReadonlySet<Place> {
    return new Set(this.#placed().map(([{ phase, side }]): Place => `${phase} ${side}`))
  }

  /** @param isServed whether it is a route: only there are hooks between those of the app and the handler */
  arrange(isServed: boolean): void {
    for (const [{ name, phase, side }, part, run] of this.#placed()) {
      const place: Place = `${phase} ${isServed ? side : 'beforeApp'}`
      const steps = this.#steps.get(place) ?? []
      if (!steps.some((step) => step.run === run)) steps.push({ name, part, run })
      this.#steps.set(place, steps)
    }
  }

  #placed(): (readonly [StepPlace, Part, PayloadStep])[] {
    const placed = this.parts.flatMap((part) =>
      placesOf(part.convention).flatMap((place) => {
        const run = part.steps[place.member]
        return run === undefined ? [] : [[place, part, run] as const]
      }),
    )
    return placed.sort(([one], [other]) => one.rank - other.rank)
  }
}

type Place = `${Phase} ${Side}`

const noSteps: readonly PlacedStep[] = []

/** What is shared by a context that registers a convention first, and by all contexts below it. */
interface Root {
  readonly reporter: Reporter
  readonly compiled: {
    readonly registry: Registry
    readonly entries: readonly Entry[]
    readonly route: CompiledRoute
  }[]
  readonly registries: Registry[]
  /** Routes whose hooks are not added yet. */
  readonly unhooked: (readonly [options: RouteOptions, route: CompiledRoute])[]
}

/** The conventions of a context. */
class Registry {
  /** In the order of registration. */
  entries: readonly Entry[]
  readonly root: Root
  /** Called for each route before it is compiled. */
  preparations: readonly ((options: Route, declared: Declared) => void)[]
  /** Paths without a route. */
  unknown = new CompiledRoute()
  /** Routes that are declared before the first convention. */
  earlier = new CompiledRoute()

  constructor(root: Root, above: Registry | null) {
    this.root = root
    this.entries = above?.entries ?? []
    this.preparations = above?.preparations ?? []
    root.registries.push(this)
  }

  arrange(): void {
    const parts = this.entries.flatMap(({ unknown }) => unknown ?? [])
    this.unknown.parts.push(...parts)
    this.unknown.arrange(false)
    this.earlier.parts.push(...parts.map(beforeAppOnly))
    this.earlier.arrange(true)
  }
}

/** The part of a route that a convention has not seen: what it does for all requests. */
function beforeAppOnly(part: Part): Part {
  const early = placesOf(part.convention).filter(({ side }) => side === 'beforeApp')
  return { ...part, steps: Object.fromEntries(early.map(({ member }) => [member, part.steps[member]])) }
}

const registries = appSlot<Registry>('registry')
const compiledOf = routeSlot<CompiledRoute>('compiled')
const compiledOn = requestSlot<CompiledRoute>('compiled')

/**
 * Adds a plugin to the conventions of a context, and of those below that are created later.
 *
 * @throws FST_CONV_ALREADY_REGISTERED
 */
export function addEntry(app: FastifyInstance, given: Pick<Entry, 'name' | 'mode' | 'earlierRoutes'>): Entry {
  const registry = registryOf(app)
  if (registry.entries.some(({ name }) => name === given.name)) {
    throw new bootErrors.FST_CONV_ALREADY_REGISTERED(given.name)
  }
  const entry: Entry = {
    ...given,
    app,
    isSettingUp: true,
    servesRoutes: false,
    compile: null,
    unknown: null,
  }
  registry.entries = [...registry.entries, entry]
  routesOf(app).watch(entry, registry.root.reporter)
  return entry
}

/** Calls a function for each route of a context, before the conventions compile it. */
export function prepareRoutes(app: FastifyInstance, prepare: Registry['preparations'][number]): void {
  const registry = registryOf(app)
  registry.preparations = [...registry.preparations, prepare]
}

function registryOf(app: FastifyInstance): Registry {
  const known = registries.own(app)
  if (known !== undefined) return known
  const above = registries.get(app)
  // The hooks of the context above serve this one, too.
  const root = above?.root ?? newRoot(app)
  const registry = new Registry(root, above ?? null)
  registries.set(app, registry)
  if (above === undefined) {
    app.addHook('onRegister', function inheritConventions(child) {
      registryOf(child)
    })
  }
  return registry
}

function newRoot(app: FastifyInstance): Root {
  const root: Root = { reporter: reporterOf(app), compiled: [], registries: [], unhooked: [] }
  // Its hook has to be before the one that is added here.
  const routes = routesOf(app)
  Object.assign(root.reporter.face, { explain: (request: InjectOptions | string) => explain(app, request) })
  compiledOn.declare(app)
  app.addHook('onRequest', hooks.onRequest.beforeApp as never)
  app.addHook('onSend', hooks.onSend.beforeApp as never)
  app.addHook('onRoute', function compileOrShare(options) {
    compileIn(root, registries.get(this) as Registry, this, options, routes.of(options))
  })
  app.addHook('onReady', function arrangeSteps(done) {
    for (const { registry, entries, route } of root.compiled.splice(0)) {
      for (const { unknown } of registry.entries.filter((entry) => !entries.includes(entry))) {
        if (unknown !== null) route.parts.push(beforeAppOnly(unknown))
      }
      route.arrange(true)
    }
    for (const registry of root.registries) registry.arrange()
    done()
  })
  return root
}

function compileIn(
  root: Root,
  registry: Registry,
  context: FastifyInstance,
  options: Route,
  declared: Declared | HeadSibling,
): void {
  const route =
    'methods' in declared
      ? compileRoute(root, registry, context, options, declared)
      : shareRoute(context, declared.options, options)
  // Fastify reads the hooks of a route when all plugins are loaded, so those of `onRoute` hooks of the app are known.
  if (root.unhooked.push([options, route]) === 1) {
    context.after(() => {
      for (const [one, compiled] of root.unhooked.splice(0)) addHooks(one, compiled)
    })
  }
}

function compileRoute(
  root: Root,
  registry: Registry,
  context: FastifyInstance,
  options: Route,
  declared: Declared,
): CompiledRoute {
  const { entries, preparations } = registry
  for (const prepare of preparations) prepare(options, declared)
  const route = new CompiledRoute()
  compiledOf.set(options, route)
  const compiling = entries.filter(({ compile }) => compile !== null)
  root.compiled.push({ registry, entries: compiling, route })
  noteRoute(context, options)
  const { name, methods, path } = declared
  const facts = {
    app: context,
    name,
    path,
    methods,
    route: options,
    exclusionReason: exclusionReasonOf(options),
  }
  const plugins = entries.map((entry) => entry.name)
  findUnread(options, name, plugins, root.reporter)
  for (const entry of entries) {
    declared.seenBy.add(entry.name)
    entry.servesRoutes ||= !entry.isSettingUp
    findMisspelt(entry, options, name, root.reporter)
    if (entry.compile !== null) route.parts.push(entry.compile(facts))
  }
  return route
}

/** Copies what conventions changed on a GET route to the HEAD route that Fastify adds right after it. */
function shareRoute(context: FastifyInstance, get: RouteOptions, head: Route): CompiledRoute {
  head.config = { ...head.config, ...get.config }
  for (const name of ['errorHandler', 'validatorCompiler', 'serializerCompiler']) {
    // A compiler may be a getter.
    const property = Object.getOwnPropertyDescriptor(get, name)
    if (property !== undefined) Object.defineProperty(head, name, property)
  }
  documentHeadRoute(context, get, head)
  return compiledOf.get(get) ?? nothing
}

/** Finds keys of `config` that look like the name of a convention: its options would be ignored without a word. */
function findMisspelt(
  { name, mode }: Entry,
  { config = {} }: Route,
  route: string,
  reporter: Reporter,
): void {
  if (mode === 'off') return
  for (const [key, value] of Object.entries(config)) {
    // Options are an object or `false`: `config.version: '2'` is something else.
    if ((value !== false && !isObject(value)) || !isMisspelt(key, name)) continue
    const problem = `config.${clip(key, maxKey)} is not read by anything of this package`
    reporter.addFinding({
      plugin: 'conventions',
      rule: 'config',
      route,
      problem,
      instead: `config.${name}`,
      mode,
    })
  }
}

const maxKey = 50

type AnyHook = (...parameters: never[]) => void

// A registered symbol: two copies of this package may serve one app.
const ofConventions = Symbol.for('fastify-conventions.hook')

/** Adds the hooks of the places that have steps. */
function addHooks(options: RouteOptions, route: CompiledRoute): void {
  const taken = route.places()
  for (const phase of phases) {
    // The app may have copied the options of another route, with the hooks of that route.
    const own = [(options[phase] ?? []) as AnyHook | AnyHook[]]
      .flat()
      .filter((hook) => !(ofConventions in hook))
    const hookOf = (side: Side): AnyHook[] => (taken.has(`${phase} ${side}`) ? [hooks[phase][side]] : [])
    const all = [...hookOf('beforeRoute'), ...own, ...hookOf('afterRoute')]
    if (all.length > 0) Object.assign(options, { [phase]: all })
  }
}

const phasesWithPayload: ReadonlySet<Phase> = new Set(['preParsing', 'preSerialization', 'onSend'])

/** Returns the hook that runs the steps of a place, with the parameters that Fastify gives to hooks of the phase. */
function hookAt(phase: Phase, side: Side): AnyHook {
  const place: Place = `${phase} ${side}`
  const run = (
    app: FastifyInstance,
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: Next,
  ): void => {
    runSteps({ steps: routeOf(app, request).at(place), phase, request, reply, next }, payload)
  }
  const hook = phasesWithPayload.has(phase)
    ? function (
        this: FastifyInstance,
        request: FastifyRequest,
        reply: FastifyReply,
        payload: unknown,
        next: Next,
      ) {
        run(this, request, reply, payload, next)
      }
    : phase === 'onError'
      ? function (
          this: FastifyInstance,
          request: FastifyRequest,
          reply: FastifyReply,
          _: unknown,
          next: Next,
        ) {
          // Steps do not handle errors: the response is sent without the step.
          run(this, request, reply, undefined, () => next())
        }
      : function (this: FastifyInstance, request: FastifyRequest, reply: FastifyReply, next: Next) {
          run(this, request, reply, undefined, next)
        }
  Object.defineProperty(hook, 'name', { value: `conventions ${place}` })
  return Object.assign(hook, { [ofConventions]: place })
}

const hooks = Object.fromEntries(
  phases.map((phase) => [phase, Object.fromEntries(sides.map((side) => [side, hookAt(phase, side)]))]),
) as Readonly<Record<Phase, Readonly<Record<Side, AnyHook>>>>

/** Returns what the conventions do on the route of a request. Fastify builds `routeOptions` anew at each reading. */
function routeOf(context: FastifyInstance, request: FastifyRequest): CompiledRoute {
  const known = compiledOn.get(request)
  if (known !== undefined) return known
  const route = compiledOf.of(request) ?? unservedIn(registries.get(context), request)
  compiledOn.set(request, route)
  return route
}

function unservedIn(registry: Registry | undefined, { is404 }: FastifyRequest): CompiledRoute {
  return registry === undefined ? nothing : is404 ? registry.unknown : registry.earlier
}

/** Returns the steps of the paths of a context that have no route, before the hooks of the app. */
export function stepsWithoutRoute(
  app: FastifyInstance,
  phase: 'onRequest' | 'onSend',
): readonly PlacedStep[] {
  return registries.get(app)?.unknown.at(`${phase} beforeApp`) ?? []
}

const nothing = new CompiledRoute()
