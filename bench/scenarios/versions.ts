import Fastify, { type FastifyInstance } from 'fastify'
import { serverOptions, type VersionsOptions, versions } from 'fastify-conventions'
import { user, userSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

const target = '/v1/users/42'
const lifecycle = { deprecated: '2026-01-01', sunset: '9999-01-01', link: { successor: '/v2' } }
const headers = {
  deprecation: '@1767225600',
  sunset: 'Fri, 01 Jan 9999 00:00:00 GMT',
  link: '</v2>; rel="successor-version"',
}

/** What it costs to have versions, and to announce the end of one. */
export default loadScenario({
  title: 'GET of one item of a version that goes on, of one that is deprecated, and of one that is retired',
  baseline: 'bare',
  requests: [{ target, headers: { accept: 'application/json' } }],
  sameBody: true,
  bounds: { current: { max: 1.05 }, deprecated: { max: 1.2, to: 'byHand' } },
  variants: {
    bare: { about: 'Fastify', build: () => withUser(Fastify()) },
    byHand: {
      about: 'Fastify, and a hook that sets the same three headers',
      build: () => {
        const app = Fastify()
        app.addHook('onRequest', async (_request, reply) => void reply.headers(headers))
        return withUser(app)
      },
    },
    current: {
      about: 'versions alone, another version is deprecated',
      build: async () => withUser(await withVersions({ versions: { 0: lifecycle, 1: {} } })),
    },
    deprecated: {
      about: 'versions alone, the version is deprecated',
      build: async () => withUser(await withVersions({ versions: { 1: lifecycle } })),
    },
    retired: {
      about: 'versions alone, 410',
      sameBody: false,
      requests: [{ target, status: 410 }],
      build: async () =>
        withUser(await withVersions({ versions: { 1: { ...lifecycle, sunset: '2026-02-01' } } })),
    },
  },
})

function withUser(app: FastifyInstance): FastifyInstance {
  app.get('/v1/users/:id', { schema: { response: { 200: userSchema } } }, async () => user)
  return app
}

async function withVersions(options: VersionsOptions): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  await app.register(versions, options)
  return app
}
