import type { FastifyInstance, InjectOptions, RouteOptions } from 'fastify'
import { bootErrors } from '../boot-errors.js'
import { kept } from '../kept.js'
import { exclusionReasonOf, type Mode } from '../report/modes.js'
import { type Reporter, reporterOf } from '../report/report.js'
import {
  type Declared,
  findUnseen,
  presetName,
  type Route,
  type RouteFacts,
  routesOf,
  type Watcher,
} from './declared-routes.js'
import { documentHeadRoute } from './document.js'
import { explain, watch } from './explain.js'
import { phases } from './order.js'
import { findUnread, noteRoute } from './route-schemas.js'
import {
  type AnyHook,
  type CompiledRoute,
  compiledOf,
  hookOfApp,
  hookOfRoute,
  newRoute,
  ofConventions,
  type Part,
  type PlacedStep,
  unserved,
} from './run.js'
import { appSlot, declareValues } from './slots.js'
import type { PayloadStep } from './steps.js'
import { findUnreadConfig } from './unread-config.js'

export interface Entry extends Watcher {
  isSettingUp: boolean
  /** Compiles a route, once the plugin is set up. The preset has no part of its own. */
  compile: ((facts: RouteFacts) => Part | null) | null
  /** What it does on paths without a route. */
  unknown: Part | null
}

/** What is shared by a context that registers a convention first, and by all contexts below it. */
interface Root {
  readonly reporter: Reporter
  /** All plugins, in the order of registration. */
  readonly entries: Entry[]
  readonly compiled: (readonly [registry: Registry, route: CompiledRoute])[]
  readonly registries: Registry[]
  /** Routes whose hooks are not added yet. */
  readonly unhooked: (readonly [options: RouteOptions, route: CompiledRoute])[]
}

class Registry {
  /** In the order of registration. */
  entries: readonly Entry[]
  readonly root: Root
  readonly unserved = { unknown: newRoute(), earlier: newRoute() }

  constructor(root: Root, above: Registry | null) {
    this.root = root
    this.entries = above?.entries ?? []
    root.registries.push(this)
  }

  arrange(): void {
    const { unknown, earlier } = this.unserved
    const parts = this.entries.flatMap((entry) => entry.unknown ?? [])
    unknown.parts.push(...parts)
    arrange(unknown, false)
    earlier.parts.push(...parts.map(beforeAppOnly))
    arrange(earlier, true)
  }
}

/** @param isServed whether it is a route: only there are hooks between those of the app and the handler */
function arrange({ parts, steps }: CompiledRoute, isServed: boolean): void {
  for (const step of stepsOf(parts).sort((one, other) => one.place.rank - other.place.rank)) {
    const { phase, place } = step.place
    const there = kept(steps, isServed ? place : (`${phase} beforeApp` as const), () => [])
    if (!there.some(({ run }) => run === step.run)) there.push(step)
  }
}

function stepsOf(parts: readonly Part[]): PlacedStep[] {
  const steps: PlacedStep[] = []
  for (const part of parts) {
    for (const member in part.steps) {
      const place = part.places.get(member)
      const run: PayloadStep | undefined = place && part.steps[place.member]
      if (place !== undefined && run !== undefined) steps.push({ place, part, run })
    }
  }
  return steps
}

/** The part of a route that a convention has not seen: what it does for all requests. */
function beforeAppOnly(part: Part): Part {
  const early = [...part.places.values()].filter(({ side }) => side === 'beforeApp')
  return { ...part, steps: Object.fromEntries(early.map(({ member }) => [member, part.steps[member]])) }
}

const registries = appSlot<Registry>('registry')

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
  // The preset may turn others off for a route.
  registry.entries = entry.name === presetName ? [entry, ...registry.entries] : [...registry.entries, entry]
  registry.root.entries.push(entry)
  return entry
}

/** Returns the mode of a plugin that has none: that of the preset that registers it. */
export function modeOfPreset(app: FastifyInstance): Mode {
  const entries = registries.get(app)?.entries ?? []
  return entries.find(({ name, isSettingUp }) => name === presetName && isSettingUp)?.mode ?? 'enforce'
}

function registryOf(app: FastifyInstance): Registry {
  const known = registries.own(app)
  if (known !== undefined) return known
  const above = registries.get(app)
  // The hooks of the context above serve this one, too.
  const root = above?.root ?? newRoot(app)
  const registry = new Registry(root, above ?? null)
  registries.set(app, registry)
  unserved.set(app, registry.unserved)
  if (above === undefined) {
    app.addHook('onRegister', function inheritConventions(child) {
      registryOf(child)
    })
  }
  return registry
}

function newRoot(app: FastifyInstance): Root {
  const reporter = reporterOf(app)
  const root: Root = { reporter, entries: [], compiled: [], registries: [], unhooked: [] }
  // Its hook has to be before the one that is added here.
  const routes = routesOf(app)
  reporter.checkAtReady(() => findUnseen(routes.declared, root.entries, reporter))
  reporter.note(() => {
    const { entries } = root
    const isSilent = entries.some(({ name }) => name === presetName || name === 'problems')
    return isSilent || entries.every(({ mode }) => mode !== 'enforce')
      ? ''
      : 'without the plugin problems, other errors than refusals by conventions stay as Fastify and the app send them'
  })
  const explainRequest = (request: InjectOptions | string) => explain(app, request)
  Object.assign(reporter.face, { explain: explainRequest, watch })
  declareValues(app)
  app.addHook('onRequest', hookOfApp('onRequest') as never)
  app.addHook('onSend', hookOfApp('onSend') as never)
  app.addHook('onRoute', function compileOrShare(options) {
    const declared = routes.of(options)
    const route = declared.route === options ? compileRoute(root, declared) : shareRoute(declared, options)
    // Fastify reads the hooks of a route when all plugins are loaded, so those of `onRoute` hooks of the app are known.
    if (root.unhooked.push([options, route]) === 1) {
      this.after(() => {
        for (const [one, compiled] of root.unhooked.splice(0)) addHooks(one, compiled)
      })
    }
  })
  app.addHook('onReady', function arrangeSteps(done) {
    for (const [registry, route] of root.compiled.splice(0)) {
      const compiled = new Set(route.parts.map(({ convention }) => convention))
      for (const { name, unknown } of registry.entries) {
        if (unknown !== null && !compiled.has(name)) route.parts.push(beforeAppOnly(unknown))
      }
      arrange(route, true)
    }
    for (const registry of root.registries) registry.arrange()
    done()
  })
  return root
}

function compileRoute(root: Root, declared: Declared): CompiledRoute {
  const { app, name, route: options } = declared
  const registry = registries.get(app) as Registry
  const route = newRoute()
  compiledOf.set(options, route)
  root.compiled.push([registry, route])
  noteRoute(app, options)
  // A hook of the app may have hidden the route since it was declared.
  declared.exclusionReason = exclusionReasonOf(options)
  const plugins = registry.entries.map((entry) => entry.name)
  findUnread(options, name, plugins, root.reporter)
  for (const entry of registry.entries) {
    declared.seenBy.add(entry.name)
    entry.servesRoutes ||= !entry.isSettingUp
    const part = entry.compile?.(declared)
    if (part) route.parts.push(part)
  }
  root.reporter.checkAtReady(() => findUnreadConfig(declared, registry.entries, root.reporter))
  return route
}

/** Copies what conventions changed on a GET route to the HEAD route that Fastify adds right after it. */
function shareRoute({ app: context, route: get }: Declared, head: Route): CompiledRoute {
  head.config = { ...head.config, ...get.config }
  for (const name of ['errorHandler', 'validatorCompiler', 'serializerCompiler']) {
    // A compiler may be a getter.
    const property = Object.getOwnPropertyDescriptor(get, name)
    if (property !== undefined) Object.defineProperty(head, name, property)
  }
  head.serializerCompiler ??= compileLater(context)
  documentHeadRoute(context, get, head)
  return compiledOf.get(get) ?? newRoute()
}

/** Compiles serializers of a HEAD route when they are first used: at boot, those of its GET route cost as much again. */
function compileLater(context: FastifyInstance): Compile {
  return (route) => {
    let serialize: ReturnType<Compile> | undefined
    return (data) => {
      serialize ??= (context.serializerCompiler as Compile)(route)
      return serialize(data)
    }
  }
}

type Compile = NonNullable<RouteOptions['serializerCompiler']>

const placesOfRoute = phases.map((phase) => ({
  phase,
  before: `${phase} beforeRoute` as const,
  after: `${phase} afterRoute` as const,
}))

function addHooks(options: RouteOptions, route: CompiledRoute): void {
  if (route.hooks.size === 0) makeHooks(route)
  for (const { phase, before, after } of placesOfRoute) {
    const first = route.hooks.get(before)
    const last = route.hooks.get(after)
    const given = options[phase] as AnyHook | AnyHook[] | undefined
    if (first === undefined && last === undefined && given === undefined) continue
    const hooks: AnyHook[] = first === undefined ? [] : [first]
    // The app may have copied the options of another route, with the hooks of that route.
    if (given !== undefined) hooks.push(...[given].flat().filter((hook) => !(ofConventions in hook)))
    if (last !== undefined) hooks.push(last)
    options[phase] = hooks as never
  }
}

function makeHooks(route: CompiledRoute): void {
  for (const step of stepsOf(route.parts)) {
    const { side, phase, place } = step.place
    if (side !== 'beforeApp' && !route.hooks.has(place))
      route.hooks.set(place, hookOfRoute(route, phase, place))
  }
}
