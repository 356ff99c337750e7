import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'

/** A value that a convention keeps on routes, in their `config`. */
export interface RouteSlot<T> {
  /** Sets the value of a route. Call it from an `onRoute` hook. */
  set(route: RouteOptions, value: T): void
  get(route: Pick<RouteOptions, 'config'>): T | undefined
  /** Returns the value of the route of a request. Fastify builds `routeOptions` anew at each reading. */
  of(request: FastifyRequest): T | undefined
  /** Returns the member of `config` that holds a value, for routes that no `onRoute` hook sees. */
  config(value: T): object
}

/** A value that a convention keeps on requests or replies. */
export interface Slot<Owner, T> {
  /** Decorates the requests or replies of a context, unless they have the slot: setting it changes no object's shape. */
  declare(app: FastifyInstance): void
  set(owner: Owner, value: T): void
  get(owner: Owner): T | undefined
}

/** A value that a convention keeps on a context, for that context and those below it. */
export interface AppSlot<T> {
  /** @throws FST_ERR_DEC_ALREADY_PRESENT if the context itself has a value */
  set(app: FastifyInstance, value: T): void
  /** Returns the value of a context, or of the closest one above it that has one. */
  get(app: FastifyInstance): T | undefined
  own(app: FastifyInstance): T | undefined
}

type Keyed<T> = { [key: symbol]: T | undefined }

// Registered symbols: two copies of this package, such as its ESM and its CommonJS build, may serve one app.
const keyOf = (name: string): symbol => Symbol.for(`fastify-conventions.${name}`)

/** Returns a value that all copies of this package in the process share. */
export function sharedByCopies<T>(name: string, make: () => T): T {
  const shared = globalThis as unknown as Record<symbol, T | undefined>
  const key = keyOf(name)
  shared[key] ??= make()
  return shared[key] as T
}

export function routeSlot<T>(name: string): RouteSlot<T> {
  const key = keyOf(name)
  const valueIn = (config: unknown): T | undefined => (config as Keyed<T> | undefined)?.[key]
  return {
    set: (route, value) => {
      ;(ownConfig(route) as Keyed<T>)[key] = value
    },
    get: ({ config }) => valueIn(config),
    of: (request) => valueIn(request.routeOptions.config),
    config: (value) => ({ [key]: value }),
  }
}

const routeOfConfig = new WeakMap<object, RouteOptions>()

/** Returns the `config` of a route, copied once: the app may have given the same object to several routes. */
function ownConfig(route: RouteOptions): object {
  const { config } = route
  if (config !== undefined && routeOfConfig.get(config) === route) return config
  const own = Object.assign({}, config)
  routeOfConfig.set(own, route)
  route.config = own
  return own
}

export function requestSlot<T>(name: string): Slot<FastifyRequest, T> {
  return slotOf(name, 'request')
}

export function replySlot<T>(name: string): Slot<FastifyReply, T> {
  return slotOf(name, 'reply')
}

function slotOf<Owner extends object, T>(name: string, decorated: Decorated): Slot<Owner, T> {
  const key = keyOf(name)
  return {
    declare: (app) => void decorateUnlessTaken(app, decorated, key, undefined),
    set: (owner, value) => {
      ;(owner as Keyed<T>)[key] = value
    },
    get: (owner) => (owner as Keyed<T>)[key],
  }
}

const decorators = {
  app: ['hasDecorator', 'decorate'],
  request: ['hasRequestDecorator', 'decorateRequest'],
  reply: ['hasReplyDecorator', 'decorateReply'],
} as const

export type Decorated = keyof typeof decorators

/** Decorates the app, its requests or its replies. Returns whether it does: not if they have such a decorator. */
export function decorateUnlessTaken(
  app: FastifyInstance,
  decorated: Decorated,
  name: string | symbol,
  value: unknown,
): boolean {
  const [has, decorate] = decorators[decorated]
  if (app[has](name)) return false
  ;(app[decorate] as (this: object, name: string | symbol, value: unknown) => unknown).call(app, name, value)
  return true
}

export function appSlot<T>(name: string): AppSlot<T> {
  const key = keyOf(name)
  const get = (app: object): T | undefined => (app as Keyed<T>)[key]
  return {
    set: (app, value) => void app.decorate<unknown>(key, value),
    get,
    own: (app) => (Object.hasOwn(app, key) ? get(app) : undefined),
  }
}
