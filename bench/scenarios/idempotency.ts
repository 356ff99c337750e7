import Fastify, { type FastifyInstance } from 'fastify'
import { idempotency, serverOptions } from 'fastify-conventions'
import { loadScenario } from '../scenario.js'

const schema = {
  body: { type: 'object', properties: { amount: { type: 'integer' } } },
  response: { 201: { type: 'object', properties: { id: { type: 'integer' }, status: { type: 'string' } } } },
}

/** What keys cost where a request has one, and where it has none. No package for Fastify is a peer. */
export default loadScenario({
  title: 'POST with and without Idempotency-Key',
  baseline: 'bare',
  requests: [
    {
      method: 'POST',
      target: '/v1/payments',
      headers: { 'content-type': 'application/json' },
      body: '{"amount":5}',
      status: 201,
    },
  ],
  sameBody: true,
  bounds: { withoutKey: { max: 1.02 }, withKey: { max: 1.4, to: 'bareWithKey' } },
  variants: {
    bare: { about: 'Fastify', build: () => withPayments(Fastify()) },
    withoutKey: {
      about: 'idempotency, requests without a key',
      build: async () => withPayments(await withIdempotency()),
    },
    bareWithKey: {
      about: 'Fastify, each request with a new key',
      build: () => withPayments(withKeys(Fastify())),
    },
    withKey: {
      about: 'idempotency in memory, each request with a new key',
      build: async () => withPayments(withKeys(await withIdempotency())),
    },
  },
})

function withPayments(app: FastifyInstance): FastifyInstance {
  app.post('/v1/payments', { schema }, async (_request, reply) =>
    reply.code(201).send({ id: 1, status: 'paid' }),
  )
  return app
}

/** The driver sends the same bytes over and over, so that the app gives each request a key. */
function withKeys(app: FastifyInstance): FastifyInstance {
  let last = 0
  app.addHook('onRequest', function setKey({ headers }, _reply, next) {
    last += 1
    headers['idempotency-key'] = `"8e03978e-40d5-43e8-bc93-${last}"`
    next()
  })
  return app
}

async function withIdempotency(): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  await app.register(idempotency)
  return app
}
