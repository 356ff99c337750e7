import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  type InjectOptions,
  type RouteShorthandOptions,
} from 'fastify'
import type { Test } from 'tap'
import { type ProblemsOptions, problems } from '../../../src/index.js'
import { type ExpectedProblem, injected, isProblem } from '../../support/problem.js'

export async function appWith(
  options: ProblemsOptions = {},
  server: FastifyServerOptions = {},
): Promise<FastifyInstance> {
  const app = Fastify(server)
  await app.register(problems, options)
  return app
}

/** Sends a request, and checks that a problem is the answer. */
export async function refuses(
  t: Test,
  app: FastifyInstance,
  request: string | InjectOptions,
  expected: ExpectedProblem,
  about?: string,
) {
  const response = await app.inject(request)
  const document = isProblem(t, injected(response), expected, about)
  return Object.assign(response, { document })
}

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
