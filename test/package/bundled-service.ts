import Fastify, { type FastifyInstance } from 'fastify'
import conventions, { serverOptions } from '../../src/index.js'

/**
 * A service with the preset, for tests that run it in another form: minified, on a second copy of Fastify, or with plugins
 * of two copies of this package.
 */
export async function buildService(
  create = Fastify,
  register: (app: FastifyInstance) => PromiseLike<unknown> = (app) => app.register(conventions),
): Promise<FastifyInstance> {
  const app = create({ ...serverOptions(), bodyLimit: 10_000 }) as FastifyInstance
  await register(app)
  const text = { type: 'string' }
  const date = { type: 'string', format: 'date-time' }
  const id = { type: 'integer', format: 'int64' }
  const user = { type: 'object', properties: { id, name: text, password: text, updated_at: date } }
  const updated_at = '2026-11-20T08:00:00Z'
  const ada = { id: 9007199254740993n, name: 'Ada', password: 'secret', updated_at }
  const config = { fields: { hidden: { password: true } } } as const
  app.get('/v1/users/:id', { schema: { response: { 200: user } }, config }, async () => ada)
  const body = { type: 'object', required: ['name'], properties: { name: text } }
  app.post('/v1/users', { schema: { body } }, (_, reply) => reply.code(201).send({ name: 'Ada' }))
  app.get('/v1/failures', async () => Promise.reject(new Error('broken')))
  return app
}

/** A service whose route is declared before the preset has been loaded. */
export function buildUnawaited(): FastifyInstance {
  const app = Fastify()
  app.register(conventions)
  app.get('/v1/users', async () => ({}))
  return app
}
