/** Operations with schemas of their input and of their result. */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { conventions, problems, serverOptions } from '../../../src/index.js'
import { type OperationDefinition, operations } from '../../../src/plugins/operations/index.js'
import { withoutReferences } from '../../support/openapi.js'
import { headerOf, injected, isProblem } from '../../support/problem.js'
import { until } from '../../support/until.js'
import { sure } from './samples.js'

const int64 = { type: 'integer', format: 'int64' }
const input = {
  type: 'object',
  required: ['id'],
  properties: {
    id: int64,
    friend_ids: { type: 'array', items: int64 },
    parent_id: { type: ['integer', 'null'], format: 'int64' },
    count: { type: 'integer', default: 3 },
    at: { type: 'string', format: 'date-time' },
  },
}
const result = {
  type: 'object',
  properties: { id: int64, friend_ids: { type: 'array', items: int64 }, count: { type: 'integer' } },
}

async function service(
  t: Test,
  kind: 'alone' | 'preset',
  definition: OperationDefinition = { input, result },
  prepare: (app: FastifyInstance) => unknown = () => {},
) {
  const app: FastifyInstance = Fastify(serverOptions())
  t.teardown(() => app.close())
  await prepare(app)
  if (kind === 'preset') await app.register(conventions, { operations: { drain: 0 } })
  else {
    await app.register(problems)
    await app.register(operations, { drain: 0 })
  }
  const inputs: unknown[] = []
  const work = app.operations.define<Record<string, unknown>, unknown>(
    'work',
    definition,
    async (context) => {
      inputs.push(context.input)
      return { result: context.input }
    },
  )
  const config = { operations: { starts: 'work' } }
  app.post('/v1/works', { config }, (request, reply) => reply.startOperation('work', request.body))
  await app.ready()
  return {
    app,
    work,
    inputs,
    async done(given?: Record<string, unknown>) {
      const { id } = await app.operations.start(work, given, { owner: null })
      const isDone = (document: { status: string } | null) => document?.status === 'Succeeded'
      return sure(await until(() => app.operations.find(id), isDone, 5_000, 2))
    },
    async post(payload: string) {
      const headers = { 'content-type': 'application/json', prefer: 'wait=5' }
      return injected(await app.inject({ method: 'POST', url: '/v1/works', headers, payload }))
    },
    status: async (id: string) => injected(await app.inject(`/v1/operations/${id}/status`)),
  }
}

for (const kind of ['alone', 'preset'] as const) {
  t.test(`${kind}: integers declared int64 are BigInts in the handler, whatever their size`, async (t) => {
    const { inputs, done } = await service(t, kind)
    const large = 9007199254740993n
    const lists = { friend_ids: [1, large], parent_id: large }
    for (const [given, received] of [
      [{ id: 7 }, { id: 7n, count: 3 }],
      [{ id: `${large}` }, { id: large, count: 3 }],
      [
        { ...lists, id: large, count: 4 },
        { id: large, friend_ids: [1n, large], parent_id: large, count: 4 },
      ],
      [
        { id: 1, parent_id: null, other: 5 },
        { id: 1n, parent_id: null, other: 5, count: 3 },
      ],
    ] as const) {
      await done(given)
      t.strictSame(inputs.pop(), received)
    }
  })

  t.test(`${kind}: an input that is not valid is a 400 with pointers, and starts nothing`, async (t) => {
    const { app, work, inputs, post } = await service(t, kind)
    for (const [payload, pointer] of [
      ['{"id":"x"}', '/id'],
      ['{}', '/id'],
      ['{"id":1,"friend_ids":[1,"x"]}', '/friend_ids/1'],
      ['{"id":1,"at":"yesterday"}', '/at'],
      ['[]', ''],
    ] as const) {
      const answer = await post(payload)
      isProblem(t, answer, { status: 400, code: 'validation' })
      t.match(JSON.parse(answer.body), { errors: [{ in: 'body', pointer }] }, payload)
    }
    await t.rejects(app.operations.start(work), { code: 'validation', statusCode: 400 })
    t.strictSame(inputs, [])
  })
}

t.test('a result has the twins that its schema declares, also of small integers', async (t) => {
  const { done, status, post } = await service(t, 'preset')
  const { id, result: found } = await done({ id: 7, friend_ids: [8], count: 9 })
  t.strictSame(found, { id: 7n, friend_ids: [8n], count: 9 })
  const written = '"result":{"id":7,"id_str":"7","friend_ids":[8],"friend_ids_str":["8"],"count":9}'
  t.match((await status(id)).body, written)
  t.match((await post('{"id":7,"friend_ids":[8],"count":9}')).body, written)
})

t.test('without `integerTwins` it has none', async (t) => {
  const { done, status } = await service(t, 'alone')
  const { id } = await done({ id: 9007199254740993n })
  t.match((await status(id)).body, '"result":{"id":9007199254740993,"count":3}')
})

t.test('schemas may refer to those of the app', async (t) => {
  const { inputs, done, app, work } = await service(
    t,
    'preset',
    { input: { type: 'object', properties: { payment: { $ref: 'payment#' } } } },
    (app) => app.addSchema({ $id: 'payment', type: 'object', required: ['id'], properties: { id: int64 } }),
  )
  await done({ payment: { id: 7 } })
  t.strictSame(inputs, [{ payment: { id: 7n } }])
  await t.rejects(app.operations.start(work, { payment: {} }), { code: 'validation' })
})

t.test('a validator of the app validates inputs, and the routes of operations do without', async (t) => {
  class Even {
    safeParse(value: unknown): { value: number } | { error: Error } {
      return Number(value) % 2 === 0 ? { value: Number(value) } : { error: new Error('is odd') }
    }
  }
  const compiler = ({ schema }: { schema: Even }) => schema.safeParse
  const { inputs, done, app, work, status } = await service(t, 'alone', { input: new Even() }, (app) =>
    app.setValidatorCompiler<Even>(compiler),
  )
  const { id } = await done('8' as never)
  t.strictSame(inputs, [8])
  await t.rejects(app.operations.start(work, 7 as never), { code: 'validation', message: /is odd/ })
  t.equal((await status(id)).status, 200)
})

t.test('a schema that cannot be compiled does not boot', async (t) => {
  await t.rejects(service(t, 'alone', { input: { type: 'nonsense' } }))
})

t.test('the OpenAPI document shows the result of a route that starts the operation', async (t) => {
  const { app } = await service(t, 'preset', { input, result }, (app) =>
    app.register(swagger, { openapi: {} }),
  )
  const post = withoutReferences(app.swagger()).paths?.['/v1/works']?.post
  t.match(post?.responses?.['202'], {
    content: { 'application/json': { schema: { properties: { result: { properties: { id: int64 } } } } } },
  })
  t.equal(headerOf(injected(await app.inject('/v1/operations/7')), 'cache-control'), 'no-store')
})
