/** What a client may rely on: one start per key, a cancellation that says what happened, and shares for everybody. */
import Fastify, { type FastifyInstance } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import t, { type Test } from 'tap'
import {
  inProcessEngine,
  memoryOperationStore,
  type OperationOutcome,
  type OperationsOptions,
  operations,
} from '../../../src/plugins/operations/index.js'

interface Held {
  readonly app: FastifyInstance
  readonly runs: string[]
  end(): void
  start(caller: string | null, headers?: Record<string, string>): Promise<{ statusCode: number; id: string }>
  ask(method: 'GET' | 'DELETE', path: string, caller: string | null, accept?: string): Promise<number>
}

async function service(t: Test, options: OperationsOptions = {}, result: unknown = undefined): Promise<Held> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, {
    identify: ({ headers }) => (headers['x-caller'] as string | undefined) ?? null,
    drain: 0,
    unwind: 0,
    ...options,
  })
  const runs: string[] = []
  const ends: (() => void)[] = []
  app.operations.define('work', { cancellable: true }, ({ operationId }) => {
    runs.push(operationId)
    return new Promise<OperationOutcome>((resolve) => ends.push(() => resolve({ result })))
  })
  app.post('/work', async (_request, reply) => reply.startOperation('work', {}))
  await app.ready()
  const callerOf = (caller: string | null) => (caller === null ? {} : { 'x-caller': caller })
  return {
    app,
    runs,
    end() {
      for (const end of ends.splice(0)) end()
    },
    async start(caller, headers = {}) {
      const answer = await app.inject({
        method: 'POST',
        url: '/work',
        headers: { ...callerOf(caller), ...headers },
      })
      return { statusCode: answer.statusCode, id: answer.json().id }
    },
    async ask(method, path, caller, accept = '*/*') {
      const url = `/v1/operations/${path}`
      return (await app.inject({ method, url, headers: { ...callerOf(caller), accept } })).statusCode
    },
  }
}

t.test('a start with the same Idempotency-Key of the same caller is the first one', async (t) => {
  const { start, runs } = await service(t)
  const key = { 'idempotency-key': 'a' }
  const [first, again] = [await start('ann', key), await start('ann', key)]
  t.equal(first.statusCode, 202)
  t.strictSame(again, first)
  t.not((await start('bob', key)).id, first.id, 'of another caller')
  t.not((await start('ann', { 'idempotency-key': 'b' })).id, first.id, 'another key')
  t.not((await start('ann')).id, (await start('ann')).id, 'no key')
  t.not((await start(null, key)).id, (await start(null, key)).id, 'whose caller is not known')
  t.equal(new Set(runs).size, runs.length)
})

t.test('a start whose process died before it was queued is queued by the same start again', async (t) => {
  const engine = inProcessEngine()
  let isDown = true
  const store = memoryOperationStore()
  const { start, runs } = await service(t, {
    store: { ...store, remove: async () => false },
    engine: {
      ...engine,
      enqueue: (job) => (isDown ? Promise.reject(new Error('the process dies')) : engine.enqueue(job)),
    },
  })
  t.equal((await start('ann', { 'idempotency-key': 'a' })).statusCode, 503)
  isDown = false
  const { id } = await start('ann', { 'idempotency-key': 'a' })
  t.strictSame(runs, [id])
})

t.test('a cancellation that comes too late is a 409, and never a 204 with the effect', async (t) => {
  const { start, ask, end } = await service(t)
  const { id } = await start('ann')
  const answer = ask('DELETE', id, 'ann')
  await new Promise((resolve) => setTimeout(resolve, 50))
  end()
  t.equal(await answer, 409)
})

t.test('one caller, and all who are not known together, have a tenth of the queue', async (t) => {
  const { start } = await service(t, { engine: inProcessEngine({ concurrency: 1, maxQueued: 20 }) })
  await start('eve')
  for (const caller of ['ann', null]) {
    const statuses = []
    for (let count = 0; count < 3; count += 1) statuses.push((await start(caller)).statusCode)
    t.strictSame(statuses, [202, 202, 429])
  }
  t.equal((await start('bob')).statusCode, 202)
})

t.test('a result with a BigInt is sent beside a serializer of the app', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setSerializerCompiler(serializerCompiler)
  app.setValidatorCompiler(validatorCompiler)
  await app.register(operations)
  app.operations.define('work', async () => ({ result: { id: 9007199254740993n } }))
  app.post('/work', async (_request, reply) => reply.startOperation('work'))
  const { id } = (await app.inject({ method: 'POST', url: '/work' })).json()
  await new Promise((resolve) => setTimeout(resolve, 50))
  for (const path of [id, `${id}/status`]) {
    const answer = await app.inject(`/v1/operations/${path}`)
    t.equal(answer.statusCode, 200)
    t.match(answer.body, '"result":{"id":9007199254740993}')
  }
})
