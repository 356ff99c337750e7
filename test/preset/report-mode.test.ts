import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import conventions from '../../src/index.js'
import { keepLogs, levels } from '../support/logs.js'

const json = { 'content-type': 'application/json' }
const named = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }

t.test('each rule is counted and logged once, with the first example and its request id', async (t) => {
  const logs = keepLogs('warn')
  const app = await reporting(logs.logger)
  logs.lines.length = 0
  await app.inject('/v1/Users')
  const before = app.conventions.report()
  for (const url of ['/v1/Users', '/v1/users/AbC', '/v1/conflicts']) await app.inject(url)
  const after = app.conventions.report()
  const counts = [before, after].map(({ observations }) => observations[0]?.count)
  t.strictSame(counts, [1, 2], 'a report that was given does not change later')
  const found = { route: 'GET /v1/Users', effect: 'refused', status: 404, example: '/v1/Users' }
  const body = { route: 'GET /v1/conflicts', example: '409 without a problem document' }
  const ofBody = after.observations.find(({ rule }) => rule === 'body')
  t.match(ofBody, body)
  const seen = logs.lines.filter(({ convention }) => convention === 'pathGuard.uppercase')
  t.equal(seen.length, 1)
  const msg = 'convention not kept'
  t.match(seen[0], { ...found, level: levels.warn, msg, module: 'fastify-conventions', reqId: 'req-1' })
})

t.test('an app without a logger gets no lines: its test that mocks app.log counts its own', async (t) => {
  const app = Fastify()
  const lines: string[] = []
  // Fastify writes lines of level info to `app.log`, and nobody reads them.
  for (const method of ['debug', 'warn', 'error'] as const) {
    app.log[method] = (...line: unknown[]) => void lines.push(String(line.at(-1)))
  }
  await app.register(conventions, { mode: 'report', selfAlias: { collections: ['none'] } })
  addRoutes(app)
  app.get('/v1/logs', async () => {
    app.log.warn('of the app')
    return {}
  })
  for (const url of ['/v1/logs', '/v1/Users', '/v1/payments']) await app.inject(url)
  t.not(app.conventions.report().observations.length, 0)
  t.strictSame(lines, ['of the app'])
})

t.test('no value of a body is in the report or in the log', async (t) => {
  const secret = 'hunter2'
  const logs = keepLogs('debug')
  const app = await reporting(logs.logger)
  for (const payload of [{ name: { secret } }, { name: secret, statusCode: 422 }, `{"name":"${secret}`]) {
    await app.inject({ method: 'POST', url: '/v1/orders', headers: json, payload })
  }

  t.ok(app.conventions.report().observations.length > 0)
  t.notMatch(JSON.stringify(app.conventions.report()), secret)
  t.notMatch(JSON.stringify(logs.lines.filter(({ convention }) => convention !== undefined)), secret)
})

async function reporting(logger?: ReturnType<typeof keepLogs>['logger']): Promise<FastifyInstance> {
  const app = Fastify(logger === undefined ? {} : { logger })
  await app.register(conventions, { mode: 'report' })
  addRoutes(app)
  return app.ready().then(() => app)
}

function addRoutes(app: FastifyInstance): void {
  app.get('/v1/conflicts', async (_, reply) => reply.code(409).send({ message: 'twice' }))
  app.get('/v1/Users', { schema: { response: { 200: { type: 'object' } } } }, async () => ({ users: [] }))
  app.get('/v1/users/:id', async (request) => request.params)
  app.get('/v1/payments', async () => [{ id: 2 ** 60, amount: 1, Currency: 'jpy', made: 'today' }])
  app.post('/v1/orders', { schema: { body: named } }, async (request, reply) => {
    const { statusCode = 200 } = request.body as { readonly statusCode?: number }
    return reply.code(statusCode).send(request.body)
  })
}
