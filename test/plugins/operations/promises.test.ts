/** What a client may rely on: one start per key, a cancellation that says what happened, and shares for everybody. */
import Fastify from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import t, { type Test } from 'tap'
import {
  inProcessEngine,
  memoryOperationStore,
  type OperationsOptions,
  operations,
} from '../../../src/plugins/operations/index.js'

async function service(t: Test, options: OperationsOptions = {}) {
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
    return new Promise<undefined>((resolve) => ends.push(() => resolve(undefined)))
  })
  app.post('/work', async (_request, reply) => reply.startOperation('work', {}))
  await app.ready()
  return {
    app,
    runs,
    end() {
      for (const end of ends.splice(0)) end()
    },
    async start(caller: string | null, key: Record<string, string> = {}) {
      const headers = { ...(caller !== null && { 'x-caller': caller }), ...key }
      const answer = await app.inject({ method: 'POST', url: '/work', headers })
      return { statusCode: answer.statusCode, id: String(answer.json().id) }
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

t.test('a result with a BigInt is sent beside a serializer of the app', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setSerializerCompiler(serializerCompiler)
  app.setValidatorCompiler(validatorCompiler)
  await app.register(operations)
  app.operations.define('work', async () => ({ result: { id: 9007199254740993n } }))
  app.post('/work', async (_request, reply) => reply.startOperation('work'))
  const headers = { prefer: 'wait=5' }
  const { id } = (await app.inject({ method: 'POST', url: '/work', headers })).json()
  for (const path of [id, `${id}/status`]) {
    const answer = await app.inject(`/v1/operations/${path}`)
    t.equal(answer.statusCode, 200)
    t.match(answer.body, '"result":{"id":9007199254740993}')
  }
})
