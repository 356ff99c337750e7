import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { appKey, isNotFoundHandlerSet } from './internals.js'

type Hooks = RouteOptions['preHandler']

/** Options of a not-found handler. Fastify's types have the first two. */
export interface NotFoundOptions {
  preHandler?: Hooks
  preValidation?: Hooks
  preParsing?: RouteOptions['preParsing']
  config?: object
  errorHandler?: RouteOptions['errorHandler']
}

type NotFoundHandler = (this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) => unknown
type SetHandler = (this: FastifyInstance, ...given: unknown[]) => FastifyInstance

/** Who answers requests without a route below a prefix. */
export interface NotFoundAnswers {
  /** Whether a handler of the app does. */
  isOfApp: boolean
}

// The prefixes at which this package answers, by app.
const answered = new WeakMap<object, Map<string, NotFoundAnswers>>()

/** Sets a not-found handler, unless the app has one. */
export function setNotFoundHandler(
  app: FastifyInstance,
  options: NotFoundOptions,
  handler: NotFoundHandler,
): NotFoundAnswers {
  const setHandler = app.setNotFoundHandler as SetHandler
  const byPrefix = answered.get(appKey(app)) ?? new Map<string, NotFoundAnswers>()
  answered.set(appKey(app), byPrefix)
  const answers: NotFoundAnswers = { isOfApp: false }
  let current = handler
  function handleNotFound(this: FastifyInstance, request: FastifyRequest, reply: FastifyReply): unknown {
    return current.call(this, request, reply)
  }
  try {
    setHandler.call(app, options, handleNotFound)
  } catch (error) {
    if (!isNotFoundHandlerSet(error)) throw error
    // A context beside this one has the same prefix.
    return byPrefix.get(app.prefix) ?? { isOfApp: true }
  }
  byPrefix.set(app.prefix, answers)

  function setOwnHandler(this: FastifyInstance, ...given: unknown[]): FastifyInstance {
    try {
      return setHandler.apply(this, given)
    } catch (error) {
      const own = given.find((one) => typeof one === 'function') as NotFoundHandler | undefined
      const isReplaceable = isNotFoundHandlerSet(error) && !answers.isOfApp && this.prefix === app.prefix
      if (!isReplaceable || own === undefined) throw error
      const [first] = given
      const { preHandler, preValidation } = (typeof first === 'object' ? first : {}) as NotFoundOptions
      answers.isOfApp = true
      current = own.bind(this)
      delete options.preParsing
      Object.assign(options, {
        preHandler: bound(preHandler, this),
        preValidation: bound(preValidation, this),
      })
      return this
    }
  }
  app.setNotFoundHandler = setOwnHandler as FastifyInstance['setNotFoundHandler']
  return answers
}

function bound(hooks: Hooks, context: FastifyInstance): Hooks {
  return [hooks ?? []].flat().map((hook) => hook.bind(context)) as Hooks
}
