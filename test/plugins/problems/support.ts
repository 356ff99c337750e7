import Fastify, { type FastifyInstance, type FastifyServerOptions, type InjectOptions } from 'fastify'
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
