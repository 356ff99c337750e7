import Fastify, { type FastifyInstance } from 'fastify'
import conventions, { type ConventionsOptions, serverOptions } from '../../../src/index.js'

const text = { type: 'string' }
const id = { type: 'integer', format: 'int64' }

/** A user, as all routes of the service have it. */
export const User = {
  type: 'object',
  properties: {
    id,
    name: text,
    tags: { type: 'array', items: text },
    address: { type: 'object', properties: { city: text, zip: { type: ['string', 'null'] } } },
    secret: text,
  },
}

const Users = { type: 'object', properties: { users: { type: 'array', items: User } } }

export const rows = [
  { id: 9007199254740993n, name: 'Ada & Co', tags: ['x'], address: { city: '=1+1', zip: null }, secret: 's' },
  { id: 2n, name: '', tags: [], address: { city: 'K', zip: '1' }, secret: 's' },
]

const quiet: ConventionsOptions = {
  pathGuard: false,
  responseRules: false,
  rateLimit: false,
  securityHeaders: false,
}

/** An app with the preset and formats. */
export async function presetApp(options: ConventionsOptions = {}): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  await app.register(conventions, { ...quiet, formats: {}, ...options })
  return app
}

/** Routes of users that opt in: a list and an item. */
export function addUsers(app: FastifyInstance): FastifyInstance {
  app.get(
    '/v1/users',
    {
      schema: { response: { 200: Users } },
      config: { formats: ['xml', 'csv'], lists: { total: false }, fields: { hidden: { secret: true } } },
    },
    async (_request, reply) => reply.list([...rows]),
  )
  app.get(
    '/v1/users/:id',
    { schema: { response: { 200: User } }, config: { formats: ['xml'] } },
    async ({ params }) => rows.find((row) => row.id === BigInt((params as { readonly id: string }).id)) ?? {},
  )
  app.get('/v1/plain', { schema: { response: { 200: User } } }, async () => rows[1])
  return app
}
