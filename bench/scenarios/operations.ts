import Fastify, { type FastifyInstance } from 'fastify'
import conventions, {
  memoryOperationStore,
  type OperationRecord,
  operations,
  problems,
  serverOptions,
} from 'fastify-conventions'
import { loadScenario } from '../scenario.js'

const id = '0123456789abcdef0123456789abcdef'
const href = `/v1/operations/${id}`
const startedAt = Date.parse('2026-11-20T12:00:00.000Z')
const inAnHour = 3_600_000

const document = {
  id,
  status: 'In progress',
  created_at: '2026-11-20T12:00:00.000Z',
  progress: 0.4,
  link: { rel: 'cancel', method: 'DELETE', href },
}

const schema = {
  response: {
    200: {
      type: 'object',
      properties: {
        id: { type: 'string' },
        status: { type: 'string' },
        created_at: { type: 'string' },
        progress: { type: 'number' },
        link: {
          type: 'object',
          properties: { rel: { type: 'string' }, method: { type: 'string' }, href: { type: 'string' } },
        },
      },
    },
  },
}

/** What it costs to be asked how an operation stands. */
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
  const record: OperationRecord = {
    schema: 2,
    id,
    version: 1,
    name: 'payments.retry',
    owner: null,
    access: 'id',
    status: 'In progress',
    cancellable: true,
    isCancelling: false,
    inputLength: 0,
    run: 1,
    uncounted: 0,
    retries: 0,
    runUntil: startedAt + inAnHour,
    notBefore: null,
    dueAt: startedAt + inAnHour,
    priority: 0,
    progress: 0.4,
    createdAt: startedAt,
    updatedAt: startedAt,
    since: startedAt,
    finishedAt: null,
    goneAt: null,
    resource: null,
    result: null,
    error: null,
    requestId: null,
    traceparent: null,
  }
  await store.create(record, null)
  const now = () => startedAt
  await app.register(operations, { store, polls: { max: 1_000_000_000 }, retryAfter: 30, now })
  app.operations.define('payments.retry', { cancellable: true }, async () => {})
  return app
}
