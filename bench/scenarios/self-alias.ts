import Fastify, { type FastifyInstance } from 'fastify'
import { selfAlias, serverOptions } from 'fastify-conventions'
import { user, userSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

const headers = { accept: 'application/json', authorization: 'Bearer ada' }
const params = { type: 'object', properties: { id: { type: 'integer' } } }
const schema = { params, response: { 200: userSchema } }
const asMe = { requests: [{ target: '/v1/users/me', headers }] }

/** What the alias costs where it is used, and where it is not. */
export default loadScenario({
  title: 'GET of one item by its id and by the alias me',
  baseline: 'bare',
  requests: [{ target: '/v1/users/42', headers }],
  sameBody: true,
  bounds: { byId: { max: 1.05 }, me: { max: 1.3, to: 'byHand' } },
  variants: {
    bare: { about: 'Fastify, by id', build: () => withUser(Fastify()) },
    byHand: {
      about: 'me: Fastify, and a hook that puts the id in its place and sets the same headers',
      ...asMe,
      build: () => {
        const app = Fastify()
        app.addHook('preValidation', async (request, reply) => {
          const own = request.params as { id: string }
          if (own.id !== 'me') return
          own.id = '42'
          reply.headers({
            'cache-control': 'private',
            'content-location': '/v1/users/42',
            vary: 'authorization, cookie',
          })
        })
        return withUser(app)
      },
    },
    byId: { about: 'selfAlias alone, by id', build: async () => withUser(await withAlias()) },
    me: { about: 'selfAlias alone, me', ...asMe, build: async () => withUser(await withAlias()) },
  },
})

function withUser(app: FastifyInstance): FastifyInstance {
  app.get('/v1/users/:id', { schema }, async () => user)
  return app
}

async function withAlias(): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  await app.register(selfAlias, { collections: ['users'], identify: () => 42 })
  return app
}
