/** Decisions.md §10: with `report` not one byte of any response changes; what would is counted per route. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { fields } from '../../src/index.js'
import { keepLogs, levels } from '../support/logs.js'
import { exchange, requestBytes } from '../support/raw.js'
import { serve } from '../support/serve.js'

const user = { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } }
const targets = [
  '/v1/users/1',
  '/v1/users/1?fields=name',
  '/v1/users/1?fields=nope',
  '/v1/users/1?fields=',
  `/v1/users/1?fields=${','.repeat(5000)}`,
  '/v1/users?fields=name',
  '/v1/schemaless?fields=name',
  '/v1/errors?fields=name',
]

t.test('byte for byte as without the plugin', async (t) => {
  const bare = await serve(t, routes(Fastify()))
  const reporting = Fastify()
  await reporting.register(fields, { mode: 'report' })
  const reported = await serve(t, routes(reporting))
  for (const method of ['GET', 'HEAD']) {
    for (const target of targets) {
      const request = requestBytes(method, target)
      const [expected, received] = [
        await exchange(bare.port, request),
        await exchange(reported.port, request),
      ]
      t.equal(withoutDate(received), withoutDate(expected), `${method} ${target.slice(0, 40)}`)
    }
  }
})

t.test('requests that select are counted per route, and logged once each, without a value', async (t) => {
  const logs = keepLogs('warn')
  const app = Fastify({ logger: logs.logger })
  await app.register(fields, { mode: 'report' })
  routes(app)
  for (const target of [
    '/v1/users/1?fields=name',
    '/v1/users/2?fields=nope',
    '/v1/users/3',
    '/v1/users?fields=id',
  ]) {
    await app.inject(target)
  }
  const { observations } = app.conventions.report()
  t.strictSame(
    observations.map(({ plugin, rule, route, count, requestId }) => [plugin, rule, route, count, requestId]),
    [
      ['fields', 'projection', '/v1/users/:id', 2, 'req-1'],
      ['fields', 'projection', '/v1/users', 1, 'req-4'],
    ],
  )
  const lines = logs.lines.filter(({ msg }) => msg === 'convention not kept')
  t.equal(lines.length, 2)
  t.match(lines[0], {
    level: levels.warn,
    convention: 'fields.projection',
    route: '/v1/users/:id',
    reqId: 'req-1',
  })
  t.notMatch(JSON.stringify([lines, observations]), /Ada|nope/)
})

t.test('request.fields is null: the handler has to read all', async (t) => {
  const app = Fastify()
  await app.register(fields, { mode: 'report' })
  app.get('/v1/users/:id', { schema: { response: { 200: user } } }, (request) => ({
    name: String(request.fields),
  }))
  t.equal((await app.inject('/v1/users/1?fields=name')).payload, '{"name":"null"}')
})

t.test('a route may enforce where the app reports, and the other way round', async (t) => {
  for (const [mode, own] of [
    ['report', 'enforce'],
    ['enforce', 'report'],
  ] as const) {
    const app = Fastify()
    await app.register(fields, { mode })
    app.get('/v1/users/:id', { schema: { response: { 200: user } } }, () => ({ id: 1, name: 'Ada' }))
    app.get(
      '/v1/own/:id',
      { schema: { response: { 200: user } }, config: { fields: { mode: own } } },
      () => ({ id: 1, name: 'Ada' }),
    )
    const projects = mode === 'enforce' ? '/v1/users/1' : '/v1/own/1'
    for (const url of ['/v1/users/1', '/v1/own/1']) {
      const { payload } = await app.inject(`${url}?fields=name`)
      t.equal(payload, url === projects ? '{"name":"Ada"}' : '{"id":1,"name":"Ada"}', `${mode}: ${url}`)
    }
    t.equal(app.conventions.report().observations.length, 1)
  }
})

function routes(app: FastifyInstance): FastifyInstance {
  const list = { type: 'object', properties: { users: { type: 'array', items: user } } }
  app.get('/v1/users/:id', { schema: { response: { 200: user } } }, () => ({ id: 1, name: 'Ada', extra: 1 }))
  app.get('/v1/users', { schema: { response: { 200: list } } }, () => ({ users: [{ id: 1, name: 'Ada' }] }))
  app.get('/v1/schemaless', () => ({ id: 1, name: 'Ada' }))
  app.get('/v1/errors', { schema: { response: { 200: user } } }, (_, reply) =>
    reply.code(404 as 200).send({ name: 'Ada' }),
  )
  return app
}

function withoutDate(bytes: string): string {
  return bytes.replace(/\r\ndate: [^\r]+/i, '')
}
