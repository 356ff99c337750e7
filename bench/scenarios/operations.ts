import Fastify, { type FastifyInstance } from 'fastify'
import conventions, { memoryOperationStore, operations, problems, serverOptions } from 'fastify-conventions'
import { operationRecord, startedAt } from '../fixtures/operation-record.js'
import { loadScenario } from '../scenario.js'

const id = '0123456789abcdef0123456789abcdef'
const href = `/v1/operations/${id}`

const document = {
  id,
  status: 'In progress',
  progress: 0.4,
  link: { rel: 'cancel', method: 'DELETE', href },
  created_at: '2026-11-20T12:00:00.000Z',
}

const schema = {
  response: {
    200: {
      type: 'object',
      properties: {
        id: { type: 'string' },
        status: { type: 'string' },
        progress: { type: 'number' },
        link: {
          type: 'object',
          properties: { rel: { type: 'string' }, method: { type: 'string' }, href: { type: 'string' } },
        },
        created_at: { type: 'string' },
      },
    },
  },
}

/** The cost of a poll. */
export default loadScenario({
  title: 'a poll of an operation that is in progress, its record in memory',
  baseline: 'bare',
  requests: [{ target: `${href}/status`, headers: { accept: 'application/json' } }],
  sameBody: true,
  bounds: { alone: { max: 1.4 } },
  variants: {
    bare: {
      about: 'Fastify, the same document from a constant, no-store and Retry-After',
      build: () => {
        const app = Fastify()
        app.get('/v1/operations/:id/status', { schema }, async (_request, reply) => {
          reply.headers({ 'cache-control': 'no-store', 'retry-after': '30' })
          return document
        })
        return app
      },
    },
    alone: {
      about: 'operations alone',
      build: async () => withOperation(Fastify(serverOptions())),
    },
    withProblems: {
      about: 'problems and operations',
      build: async () => {
        const app = Fastify(serverOptions())
        await app.register(problems)
        return withOperation(app)
      },
    },
    preset: {
      about: 'all conventions',
      build: async () => {
        const app = Fastify(serverOptions())
        await app.register(conventions, { rateLimit: { max: 1_000_000_000 }, operations: false })
        return withOperation(app)
      },
    },
  },
})

async function withOperation(app: FastifyInstance): Promise<FastifyInstance> {
  const store = memoryOperationStore()
  await store.create(operationRecord(id), null)
  const now = () => startedAt
  await app.register(operations, { store, polls: false, retryAfter: 30, now })
  app.operations.define('payments.retry', { cancellable: true }, async () => {})
  return app
}
