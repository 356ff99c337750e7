import Fastify, { type FastifyInstance } from 'fastify'
import { methodOverride } from 'fastify-conventions'
import { user, userSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

/** What a GET pays where a POST may be overridden: nothing that can be told from noise. */
export default loadScenario({
  title: 'GET of one item, where a POST may stand for another method',
  baseline: 'bare',
  requests: [{ target: '/v1/users/42', headers: { accept: 'application/json' } }],
  sameBody: true,
  bounds: { methodOverride: { max: 1.05 } },
  variants: {
    bare: { about: 'Fastify', build: () => withRoute(Fastify()) },
    bareAgain: { about: 'Fastify once more: the noise', build: () => withRoute(Fastify()) },
    methodOverride: {
      about: 'methodOverride alone',
      build: async () => {
        const app = Fastify()
        await app.register(methodOverride)
        return withRoute(app)
      },
    },
    rewriteUrl: {
      about: 'the header by hand, in rewriteUrl of the constructor; no forms',
      build: () =>
        withRoute(
          Fastify({
            rewriteUrl(raw) {
              const named = raw.method === 'POST' && raw.headers['x-http-method-override']
              if (typeof named === 'string') raw.method = named.toUpperCase()
              return raw.url ?? '/'
            },
          }),
        ),
    },
  },
})

function withRoute(app: FastifyInstance): FastifyInstance {
  app.get('/v1/users/:id', { schema: { response: { 200: userSchema } } }, async () => user)
  return app
}
