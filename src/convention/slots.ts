import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'

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

/** A value that a convention keeps on routes, in their `config`. */
export function routeSlot<T>(name: string) {
  const key = keyOf(name)
  const valueIn = (config: unknown): T | undefined => (config as Keyed<T> | undefined)?.[key]
  return {
    /** Sets the value of a route. Call it from an `onRoute` hook. */
    set(route: RouteOptions, value: T): void {
      ;(ownConfig(route) as Keyed<T>)[key] = value
    },
    get: ({ config }: Pick<RouteOptions, 'config'>) => valueIn(config),
    /** Returns the value of the route of a request. Fastify builds `routeOptions` anew at each reading. */
    of: (request: FastifyRequest) => valueIn(request.routeOptions.config),
    /** Returns the member of `config` that holds a value, for routes that no `onRoute` hook sees. */
    config: (value: T): object => ({ [key]: value }),
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

/** A value that a convention keeps on requests. */
export const requestSlot = <T>(name: string) => slotOf<FastifyRequest, T>(name)

/** A value that a convention keeps on replies. */
export const replySlot = <T>(name: string) => slotOf<FastifyReply, T>(name)

const values = keyOf('values')

/** All values of a request or a reply are in one object: Fastify sets decorators one by one, on each request. */
function slotOf<Owner extends object, T>(name: string) {
  const key = keyOf(name)
  return {
    set(owner: Owner, value: T): void {
      const holder = owner as Keyed<Keyed<T>>
      holder[values] ??= {}
      holder[values][key] = value
    },
    get: (owner: Owner): T | undefined => (owner as Keyed<Keyed<T>>)[values]?.[key],
  }
}

/** Decorates requests and replies with the property of their values: setting it changes no object's shape. */
export function declareValues(app: FastifyInstance): void {
  for (const decorated of ['request', 'reply'] as const)
    decorateUnlessTaken(app, decorated, values, undefined)
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

/** A value that a convention keeps on a context, for that context and those below it. */
export function appSlot<T>(name: string) {
  const key = keyOf(name)
  const get = (app: object): T | undefined => (app as Keyed<T>)[key]
  return {
    /** @throws FST_ERR_DEC_ALREADY_PRESENT if the context itself has a value */
    set: (app: FastifyInstance, value: T) => void app.decorate<unknown>(key, value),
    /** Returns the value of a context, or of the closest one above it that has one. */
    get,
    own: (app: FastifyInstance) => (Object.hasOwn(app, key) ? get(app) : undefined),
  }
}
