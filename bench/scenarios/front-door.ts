import fastifyCors from '@fastify/cors'
import helmet from '@fastify/helmet'
import fastifyRateLimit from '@fastify/rate-limit'
import Fastify, { type FastifyInstance } from 'fastify'
import { cors, rateLimit, securityHeaders } from 'fastify-conventions'
import { user, userSchema } from '../fixtures/user.js'
import { loadScenario } from '../scenario.js'

const target = '/v1/users/42'
const origin = ['https://app.example']
// Counted on every request and never reached.
const quota = { max: 1_000_000_000, timeWindow: '1 hour' }
const fromPage = [{ target, headers: { accept: 'application/json', origin: 'https://app.example' } }]

/** What the headers of the front door and the count of requests cost, against the plugins they are made of. */
export default loadScenario({
  title: 'GET of one item behind security headers, CORS and a rate limit, one by one and together',
  baseline: 'bare',
  requests: [{ target, headers: { accept: 'application/json' } }],
  sameBody: true,
  bounds: {
    securityHeaders: [{ max: 1.15 }, { max: 0.7, to: 'helmet' }],
    helmetProfile: { max: 0.8, to: 'helmet' },
    cors: { max: 1.1 },
    rateLimit: { max: 1, to: 'fastifyRateLimit' },
    rateLimitTwo: [
      { max: 1.1, to: 'rateLimit' },
      { max: 1, to: 'fastifyRateLimitTwo' },
    ],
    together: { max: 0.75, to: 'peers' },
  },
  variants: {
    bare: { about: 'Fastify', build: () => withItem(async () => {}) },
    helmet: { about: '@fastify/helmet', build: () => withItem(async (app) => app.register(helmet)) },
    helmetProfile: {
      about: 'securityHeaders, the same headers',
      build: () => withItem(async (app) => app.register(securityHeaders, { profile: 'helmet' })),
    },
    securityHeaders: {
      about: 'securityHeaders, those of an API',
      build: () => withItem(async (app) => app.register(securityHeaders)),
    },
    fastifyCors: {
      about: '@fastify/cors, for one origin',
      build: () => withItem(async (app) => app.register(fastifyCors, { origin })),
    },
    cors: {
      about: 'cors, for one origin',
      build: () => withItem(async (app) => app.register(cors, { origin })),
    },
    fastifyCorsPage: {
      about: '@fastify/cors, asked by a page',
      requests: fromPage,
      build: () => withItem(async (app) => app.register(fastifyCors, { origin })),
    },
    corsPage: {
      about: 'cors, asked by a page',
      requests: fromPage,
      build: () => withItem(async (app) => app.register(cors, { origin })),
    },
    fastifyRateLimit: {
      about: '@fastify/rate-limit',
      build: () => withItem(async (app) => app.register(fastifyRateLimit, quota)),
    },
    rateLimit: {
      about: 'rateLimit',
      build: () => withItem(async (app) => app.register(rateLimit, quota)),
    },
    fastifyRateLimitTwo: {
      about: '@fastify/rate-limit, two quotas',
      build: () =>
        withItem(async (app) => {
          await app.register(fastifyRateLimit, quota)
          const count = app.createRateLimit(quota)
          app.addHook('onRequest', async function countAgain(request) {
            await count(request)
          })
        }),
    },
    rateLimitTwo: {
      about: 'rateLimit, two quotas',
      build: () =>
        withItem(async (app) =>
          app.register(rateLimit, {
            quotas: [
              { name: 'burst', ...quota },
              { name: 'daily', ...quota },
            ],
          }),
        ),
    },
    rateLimitByCaller: {
      about: 'rateLimit, max by caller',
      build: () => withItem(async (app) => app.register(rateLimit, { ...quota, max: async () => quota.max })),
    },
    peers: {
      about: '@fastify/helmet, cors and rate-limit',
      build: () =>
        withItem(async (app) => {
          await app.register(fastifyCors, { origin })
          await app.register(helmet)
          await app.register(fastifyRateLimit, quota)
        }),
    },
    together: {
      about: 'securityHeaders, cors and rateLimit',
      build: () =>
        withItem(async (app) => {
          await app.register(cors, { origin })
          await app.register(securityHeaders)
          await app.register(rateLimit, quota)
        }),
    },
  },
})

async function withItem(setUp: (app: FastifyInstance) => Promise<unknown>): Promise<FastifyInstance> {
  const app = Fastify()
  await setUp(app)
  app.get('/v1/users/:id', { schema: { response: { 200: userSchema } } }, async () => user)
  return app
}
