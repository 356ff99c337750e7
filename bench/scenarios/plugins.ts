import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import * as conventions from 'fastify-conventions'
import { accessToken, issuerKey } from '../fixtures/access-token.js'
import { peersApp, presetApp } from '../fixtures/apps.js'
import { user, userSchema } from '../fixtures/user.js'
import { type LoadVariant, loadScenario } from '../scenario.js'

const target = '/v1/users/42'
const accept = 'application/json'

const bearerOptions: conventions.BearerOptions = {
  issuer: 'https://issuer.bench',
  audience: 'https://api.bench',
  jwks: { keys: [issuerKey] },
}

/** What a plain request pays for each plugin, whether it has work for the plugin or not. */
export default loadScenario({
  title: 'GET of one item, with each plugin alone and with all of them',
  baseline: 'bare',
  requests: [{ target, headers: { accept } }],
  requestsPerRound: 3_000,
  sameBody: true,
  variants: {
    bare: { about: 'Fastify', build: () => withUser(Fastify()) },
    bareAgain: { about: 'Fastify once more: the noise', build: () => withUser(Fastify()) },
    problems: alone(conventions.problems),
    cors: alone(conventions.cors, { origin: ['https://app.example'] }),
    securityHeaders: alone(conventions.securityHeaders),
    httpsOnly: {
      ...alone(conventions.httpsOnly),
      requests: [{ target, headers: { accept, 'x-forwarded-proto': 'https' } }],
    },
    maintenance: alone(conventions.maintenance),
    // Counted on every request and never reached.
    rateLimit: alone(conventions.rateLimit, { max: 1_000_000_000 }),
    pathGuard: alone(conventions.pathGuard),
    methodOverride: alone(conventions.methodOverride),
    versions: alone(conventions.versions, { versions: { 1: {} } }),
    bearer: {
      ...alone(conventions.bearer, bearerOptions),
      requests: [{ target, headers: { accept, authorization: `Bearer ${accessToken}` } }],
    },
    xsrf: alone(conventions.xsrf, { cookies: ['session'], secret: 'a secret of at least 32 characters' }),
    selfAlias: alone(conventions.selfAlias, { collections: ['users'], identify: () => 42 }),
    lists: alone(conventions.lists),
    responseRules: alone(conventions.responseRules),
    fields: alone(conventions.fields),
    integerTwins: alone(conventions.integerTwins),
    idempotency: alone(conventions.idempotency),
    caching: alone(conventions.caching),
    operations: alone(conventions.operations),
    formats: alone(conventions.formats),
    preset: {
      about: 'all conventions with their defaults, and CORS for all origins',
      build: async () => withUser(await presetApp()),
    },
    peers: {
      about: '@fastify/helmet, cors, rate-limit and etag with their defaults',
      build: async () => withUser(await peersApp()),
    },
  },
})

function alone<Options extends object>(plugin: FastifyPluginAsync<Options>, options?: Options): LoadVariant {
  return {
    about: 'alone',
    build: async () => {
      const app = Fastify({ ...conventions.serverOptions(), trustProxy: true })
      await app.register(plugin as FastifyPluginAsync<object>, options ?? {})
      return withUser(app)
    },
  }
}

function withUser(app: FastifyInstance): FastifyInstance {
  app.get('/v1/users/:id', { schema: { response: { 200: userSchema } } }, async () => user)
  return app
}
