import Fastify, { type FastifyInstance } from 'fastify'
import { presetApp } from '../fixtures/apps.js'
import { userSchema, users } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

interface Page {
  readonly users: readonly { readonly id: number | bigint }[]
}

const firstLargeId = 2n ** 53n + 1n

// Both lists have the same items but for the ids.
const plain = Object.freeze({ users })
const large = Object.freeze({
  users: users.map((user) => Object.freeze({ ...user, id: firstLargeId + BigInt(user.id) })),
})
const requests = [{ target: '/v1/users', headers: { accept: 'application/json' } }]

/** The price of ids beyond 2^53: of their digits, and of their twins. */
export default loadScenario({
  title: 'GET of a list: fifty items of ten declared fields, with ids beyond 2^53',
  baseline: 'bare',
  requests,
  requestsPerRound: 1_500,
  sameBody: false,
  bounds: { preset: { max: 1.29 } },
  variants: {
    bare: { about: 'Fastify; the ids are small numbers', build: () => withList(Fastify(), plain) },
    bareBigInt: {
      about: 'Fastify; the ids are BigInts, without twins',
      build: () => withList(Fastify(), large),
    },
    preset: {
      about: 'all conventions with their defaults; the ids are BigInts and have twins',
      build: async () => withList(await presetApp(), large),
    },
  },
})

function withList(app: FastifyInstance, page: Page): FastifyInstance {
  app.get('/v1/users', { schema: { response: { 200: listSchema() } } }, async () => page)
  return app
}

function listSchema() {
  const id = { type: 'integer', format: 'int64' }
  const items = { ...userSchema, properties: { ...userSchema.properties, id } }
  return { type: 'object', required: ['users'], properties: { users: { type: 'array', items } } }
}
