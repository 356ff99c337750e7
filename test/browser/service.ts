import type { IncomingHttpHeaders } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Test } from 'tap'
import conventions, { type ConventionsOptions, serverOptions } from '../../src/index.js'
import { serve } from '../support/serve.js'

/** A request as it came in, preflights too. */
export interface Arrival {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Of its answer, once there is one. */
  readonly status: number
}

const time = '2026-01-02T03:04:05Z'

/**
 * Serves the whole preset over a collection `users`; the `id` of an item is what its path ends in. `handled` has the effective
 * method and the path of each of its handlers that ran. What `addRoutes` adds, besides, is part of the same app.
 */
export async function serveUsers(
  t: Test,
  options: ConventionsOptions = {},
  addRoutes: (app: FastifyInstance) => unknown = () => {},
) {
  // A browser opens connections that it may need, and the end of the test is not to wait for what it asks there.
  const app: FastifyInstance = Fastify({ ...serverOptions(), forceCloseConnections: true })
  const arrived: Arrival[] = []
  // Before Fastify: it does not tell hooks of all that comes in, and overrides methods.
  app.server.prependListener('request', ({ method = '', url = '', headers }, response) => {
    arrived.push({
      method,
      url,
      headers: { ...headers },
      get status() {
        return response.statusCode
      },
    })
  })
  const handled: string[] = []
  await app.register(conventions, options)
  const note = ({ method, url }: FastifyRequest) => void handled.push(`${method} ${url}`)
  app.get('/v1/users', { config: { lists: {} } }, (request, reply) => {
    note(request)
    return reply.list([2, 1].map((id) => ({ id, created_at: time })))
  })
  app.post('/v1/users', (request, reply) => {
    note(request)
    return reply.code(201).header('location', '/v1/users/3').send({ id: 3 })
  })
  app.route<{ Params: { id: string } }>({
    method: ['GET', 'PUT', 'PATCH'],
    url: '/v1/users/:id',
    config: { caching: { validators: () => ({ version: 1 }) } },
    handler(request) {
      note(request)
      return { id: Number(request.params.id), updated_at: time }
    },
  })
  app.delete('/v1/users/:id', (request, reply) => {
    note(request)
    return reply.code(204).send()
  })
  await addRoutes(app)
  const { origin } = await serve(t, app)
  return { app, url: origin, arrived, handled }
}
