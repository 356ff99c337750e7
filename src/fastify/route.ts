import type {
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
  // The app may have copied the options of another route, with the hooks of that route.
  const others = hooksOf(route, phase).filter((other) => stepOf(other) !== step || placed.has(other))
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
  // All onRoute hooks run before this does, and Fastify reads the hooks of a route later.
  queueMicrotask(() => arrange(route, placed))
  return placed
}

/** Sorts the hooks of a route after all `onRoute` hooks have run, and puts back hooks that one of them has dropped. */
function arrange(route: RouteOptions, placed: Placed): void {
  const own = [...placed]
  for (const phase of new Set(placed.values())) {
    const others = hooksOf(route, phase).filter((hook) => !placed.has(hook))
    const ofPhase = own.filter(([, phaseOfHook]) => phaseOfHook === phase).map(([hook]) => hook)
    assign(route, phase, sorted(phase, [...others, ...ofPhase]))
  }
}

function sorted(phase: Phase, hooks: readonly AnyHook[]): AnyHook[] {
  const steps: readonly string[] = order[phase]
  const rankOf = (hook: AnyHook): number => {
    const rank = steps.indexOf(stepOf(hook) ?? routeHooks)
    return rank === -1 ? steps.indexOf(routeHooks) : rank
  }
  return [...hooks].sort((one, other) => rankOf(one) - rankOf(other))
}

function hooksOf(route: RouteOptions, phase: Phase): AnyHook[] {
  return [(route[phase] ?? []) as AnyHook | AnyHook[]].flat()
}

function assign(route: RouteOptions, phase: Phase, hooks: AnyHook[]): void {
  ;(route as { [P in Phase]?: unknown })[phase] = hooks
}

function mark(hook: AnyHook, step: string): void {
  Object.defineProperty(hook, stepKey, { value: step, configurable: true })
}

function stepOf(hook: AnyHook & { readonly [stepKey]?: string }): string | undefined {
  return hook[stepKey]
}

/** Phases in which a convention may have a hook for all requests of a context, with or without a route. */
type AppPhase = 'onRequest' | 'onSend'

type Next = (error?: Error | null, payload?: unknown) => void

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
    next: (error: Error | null, payload?: unknown) => void,
  ) => void
}

type Lists = { [P in AppPhase]?: AppHooks[P][] }

interface Context {
  readonly [listsKey]: Lists
}

const listsKey = Symbol.for('fastify-conventions.hooks')

/**
 * Adds a hook of a convention for all requests of a context, those that no route serves included, at its place in
 * {@link order}: whichever plugin is registered first, in this context or in one above. All such hooks run where the
 * first convention was registered; hooks that the app adds before it run before all of them.
 */
export function addAppHook<P extends AppPhase>(
  app: FastifyInstance,
  phase: P,
  step: Step<P>,
  hook: AppHooks[P],
): void {
  mark(hook, step)
  const lists = listsOf(app)
  const list = lists[phase]
  if (list === undefined) {
    if (phase === 'onRequest') app.addHook('onRequest', runOnRequest)
    else app.addHook('onSend', runOnSend)
  }
  lists[phase] = sorted(phase, [...(list ?? []), hook]) as Lists[P]
}

function listsOf(app: FastifyInstance): Lists {
  if (Object.hasOwn(app, listsKey)) return (app as FastifyInstance & Context)[listsKey]
  const lists: Lists = {}
  app.decorate(listsKey, lists)
  // A context has the hooks that the one above it has when it is created.
  app.addHook('onRegister', function inheritHooks(child) {
    child.decorate(listsKey, { ...(child as FastifyInstance & Context)[listsKey] })
  })
  return lists
}

function runOnRequest(
  this: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  const hooks = (this as FastifyInstance & Context)[listsKey].onRequest ?? []
  let index = 0
  const next = (error?: Error | null): void => {
    const hook = hooks[index++]
    if (error || hook === undefined) {
      done(error ?? undefined)
      return
    }
    if (reply.sent) return
    try {
      hook.call(this, request, reply, next)
    } catch (thrown) {
      done(thrown as Error)
    }
  }
  next()
}

function runOnSend(
  this: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: Error | null, payload?: unknown) => void,
): void {
  const hooks = (this as FastifyInstance & Context)[listsKey].onSend ?? []
  let index = 0
  const next: Next = (error, changed) => {
    if (changed !== undefined) payload = changed
    const hook = hooks[index++]
    if (error || hook === undefined) {
      done(error ?? null, payload)
      return
    }
    try {
      hook.call(this, request, reply, payload, next)
    } catch (thrown) {
      done(thrown as Error)
    }
  }
  next()
}
