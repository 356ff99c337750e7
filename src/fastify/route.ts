import type {
  DoneFuncWithErrOrRes,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onErrorHookHandler,
  onRequestHookHandler,
  onSendHookHandler,
  preHandlerHookHandler,
  preParsingHookHandler,
  preSerializationHookHandler,
  preValidationHookHandler,
  RouteOptions,
} from 'fastify'
import { order, type Phase, routeHooks, type Step } from './order.js'
import { hookError } from './reply.js'

interface Hooks {
  readonly onRequest: onRequestHookHandler
  readonly preParsing: preParsingHookHandler
  readonly preValidation: preValidationHookHandler
  readonly preHandler: preHandlerHookHandler
  readonly preSerialization: preSerializationHookHandler<never>
  readonly onSend: onSendHookHandler<never>
  readonly onError: onErrorHookHandler
}

/**
 * Adds a hook of a convention to a route, at its place in {@link order}: whichever plugin is registered first, and
 * whatever the `onRoute` hooks of the app add to the route or assign later. Hooks of one place keep the order in which
 * they are added. Call it from an `onRoute` hook.
 */
export function addHook<P extends Phase>(route: RouteOptions, phase: P, step: Step<P>, hook: Hooks[P]): void {
  const placed = placedOn(route)
  mark(hook, step)
  const before = hooksOf(route, phase)
  if (before.length === 0) {
    placed.set(hook, phase)
    assign(route, phase, [hook])
    return
  }
  // The app may have copied the options of another route, with the hooks of that route.
  const others = before.filter((other) => stepOf(other) !== step || placed.has(other))
  placed.set(hook, phase)
  assign(route, phase, sorted(phase, [...others, hook]))
}

type AnyHook = (...parameters: never[]) => unknown

// Registered symbols: two copies of this package may serve one app.
const stepKey = Symbol.for('fastify-conventions.step')
const placedKey = Symbol.for('fastify-conventions.placed')

/** The hooks of all conventions on a route. */
type Placed = Map<AnyHook, Phase>

function placedOn(route: RouteOptions & { [placedKey]?: Placed }): Placed {
  const known = route[placedKey]
  if (known !== undefined) return known
  const placed: Placed = new Map()
  // Not enumerable: copies of the options are of other routes.
  Object.defineProperty(route, placedKey, { value: placed })
  if (unarranged.length === 0) queueMicrotask(arrangeAll)
  unarranged.push([route, placed])
  return placed
}

// The routes that are declared in one go.
const unarranged: [route: RouteOptions, placed: Placed][] = []

/** Runs after all `onRoute` hooks of these routes; Fastify reads the hooks of a route later. */
function arrangeAll(): void {
  for (const [route, placed] of unarranged.splice(0)) arrange(route, placed)
}

/** Sorts the hooks of a route after all `onRoute` hooks have run, and puts back hooks that one of them has dropped. */
function arrange(route: RouteOptions, placed: Placed): void {
  for (const phase of new Set(placed.values())) {
    const hooks = hooksOf(route, phase)
    const own: AnyHook[] = []
    for (const [hook, phaseOfHook] of placed) if (phaseOfHook === phase) own.push(hook)
    if (own.every((hook) => hooks.includes(hook)) && isSorted(phase, hooks)) continue
    assign(route, phase, sorted(phase, [...hooks.filter((hook) => !placed.has(hook)), ...own]))
  }
}

function sorted<Hook extends AnyHook>(phase: Phase, hooks: readonly Hook[]): Hook[] {
  return [...hooks].sort((one, other) => rankOf(phase, one) - rankOf(phase, other))
}

function isSorted(phase: Phase, hooks: readonly AnyHook[]): boolean {
  let before = -1
  return hooks.every((hook) => {
    const rank = rankOf(phase, hook)
    const follows = before <= rank
    before = rank
    return follows
  })
}

/** The place of a hook in {@link order}: that of its step, or that of the hooks of routes. */
function rankOf(phase: Phase, hook: AnyHook): number {
  const steps: readonly string[] = order[phase]
  const rank = steps.indexOf(stepOf(hook) ?? routeHooks)
  return rank === -1 ? steps.indexOf(routeHooks) : rank
}

function hooksOf(route: RouteOptions, phase: Phase): readonly AnyHook[] {
  const hooks = (route[phase] ?? []) as AnyHook | AnyHook[]
  return Array.isArray(hooks) ? hooks : [hooks]
}

function assign(route: RouteOptions, phase: Phase, hooks: AnyHook[]): void {
  ;(route as { [P in Phase]?: unknown })[phase] = hooks
}

function mark(hook: AnyHook, step: string): void {
  // One hook may be on many routes.
  if (stepOf(hook) !== step) Object.defineProperty(hook, stepKey, { value: step, configurable: true })
}

function stepOf(hook: AnyHook & { readonly [stepKey]?: string }): string | undefined {
  return hook[stepKey]
}

/** Phases in which a convention may have a hook for all requests of a context, with or without a route. */
type AppPhase = 'onRequest' | 'onSend'

interface AppHooks {
  readonly onRequest: (
    this: FastifyInstance,
    request: FastifyRequest,
    reply: FastifyReply,
    next: (error?: Error) => void,
  ) => void
  readonly onSend: (
    this: FastifyInstance,
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: DoneFuncWithErrOrRes,
  ) => void
}

/** The hooks of conventions in one phase of a context. */
interface Slots<Hook> {
  /** All hooks in the order in which they were added. */
  readonly added: readonly Hook[]
  /** What runs where: as many lists as there are hooks, the first one where the first hook was added. */
  readonly runs: readonly (readonly Hook[])[]
}

type ContextHooks = { [P in AppPhase]?: Slots<AppHooks[P]> }

interface Context {
  readonly [contextKey]: ContextHooks
}

const contextKey = Symbol.for('fastify-conventions.hooks')

/**
 * Adds a hook of a convention for all requests of a context, those that no route serves included, at its place in
 * {@link order}: whichever plugin is registered first, in this context or in one above. Hooks that the app adds keep
 * their place after the conventions that are registered before them: a hook of a convention runs where it is added, or
 * earlier, where one that follows it in the table was added before.
 */
export function addAppHook<P extends AppPhase>(
  app: FastifyInstance,
  phase: P,
  step: Step<P>,
  hook: AppHooks[P],
): void {
  mark(hook, step)
  const hooks = contextHooks(app)
  const added: readonly AppHooks[P][] = [...(hooks[phase]?.added ?? []), hook]
  const slot = added.length - 1
  if (phase === 'onRequest') {
    app.addHook('onRequest', function runConventions(request, reply, next) {
      runOnRequest(this, hooksAt(this, 'onRequest', slot), request, reply, next)
    })
  } else {
    app.addHook('onSend', function runConventions(request, reply, payload, next) {
      runOnSend(this, hooksAt(this, 'onSend', slot), request, reply, payload, next)
    })
  }
  hooks[phase] = { added, runs: distribute(phase, added) } as ContextHooks[P]
}

function contextHooks(app: FastifyInstance): ContextHooks {
  if (Object.hasOwn(app, contextKey)) return (app as FastifyInstance & Context)[contextKey]
  const hooks: ContextHooks = {}
  app.decorate(contextKey, hooks)
  // A context has the hooks that the one above it has when it is created.
  app.addHook('onRegister', function inheritHooks(child) {
    child.decorate(contextKey, { ...(child as FastifyInstance & Context)[contextKey] })
  })
  return hooks
}

function hooksAt<P extends AppPhase>(app: FastifyInstance, phase: P, slot: number): readonly AppHooks[P][] {
  const { [phase]: slots } = (app as FastifyInstance & Context)[contextKey]
  return (slots?.runs[slot] ?? []) as readonly AppHooks[P][]
}

/** Gives each hook the slot in which it was added, or the earliest of those that follow it in the table. */
function distribute<Hook extends AnyHook>(
  phase: Phase,
  added: readonly Hook[],
): readonly (readonly Hook[])[] {
  const runs: Hook[][] = added.map(() => [])
  let slot = added.length
  for (const hook of sorted(phase, added).reverse()) {
    slot = Math.min(slot, added.indexOf(hook))
    runs[slot]?.unshift(hook)
  }
  return runs
}

function runOnRequest(
  app: FastifyInstance,
  hooks: readonly AppHooks['onRequest'][],
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  const [only] = hooks
  // Where plugins are registered in the order of the table, each slot has one hook.
  if (hooks.length === 1 && only !== undefined) {
    try {
      only.call(app, request, reply, done)
    } catch (error) {
      done(hookError(error))
    }
    return
  }
  let index = 0
  const next = (error?: Error): void => {
    const hook = hooks[index++]
    if (error || hook === undefined) done(error)
    else if (!reply.sent) attempt(() => hook.call(app, request, reply, next), done)
  }
  next()
}

function runOnSend(
  app: FastifyInstance,
  hooks: readonly AppHooks['onSend'][],
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: DoneFuncWithErrOrRes,
): void {
  const [only] = hooks
  if (hooks.length === 1 && only !== undefined) {
    try {
      only.call(app, request, reply, payload, done)
    } catch (error) {
      done(hookError(error))
    }
    return
  }
  let index = 0
  const next = (error?: Error | null, changed: unknown = payload): void => {
    payload = changed
    const hook = hooks[index++]
    if (error) done(error)
    else if (hook === undefined) done(null, payload)
    else attempt(() => hook.call(app, request, reply, payload, next), done)
  }
  next()
}

/** Runs a hook and passes on what it throws: a hook before it may have called `next` later, outside Fastify's own `try`. */
function attempt(run: () => void, failed: (error: Error) => void): void {
  try {
    run()
  } catch (error) {
    failed(hookError(error))
  }
}
