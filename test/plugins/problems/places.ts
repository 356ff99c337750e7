import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'

export type Handler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void
type AddRoutes = (app: FastifyInstance, options?: RouteShorthandOptions) => void
type SetUp = (app: FastifyInstance, plug: () => unknown, add: AddRoutes, handler: Handler) => Promise<void>

/** Where an app may set its error handler. */
export const places: Readonly<Record<string, SetUp>> = {
  before: async (app, plug, add, handler) => {
    app.setErrorHandler(handler)
    await plug()
    add(app)
  },
  after: async (app, plug, add, handler) => {
    await plug()
    app.setErrorHandler(handler)
    add(app)
  },
  'after the routes': async (app, plug, add, handler) => {
    await plug()
    add(app)
    app.setErrorHandler(handler)
  },
  'on the routes': async (app, plug, add, errorHandler) => {
    await plug()
    add(app, { errorHandler })
  },
  'in a child': async (app, plug, add, handler) => {
    await plug()
    app.register(async (child) => {
      child.setErrorHandler(handler)
      add(child)
    })
  },
}
