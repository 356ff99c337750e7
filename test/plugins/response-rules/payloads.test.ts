import Fastify from 'fastify'
import t from 'tap'
import { problems } from '../../../src/plugins/problems/index.js'
import { responseRules } from '../../../src/plugins/response-rules/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { keepLogs, levels } from '../../support/logs.js'

t.test('a payload that breaks a rule is sent, counted and logged: what is done is no 500', async (t) => {
  const logs = keepLogs()
  const app = await withPlugins(Fastify({ logger: logs.logger }), problems, responseRules)
  const sent = { data: { id: 1, createdAt: 'secret' } }
  app.post('/v1/things', async (_request, reply) => reply.code(201).send(sent))
  app.post('/v1/others', async () => ({ createdBy: 'secret' }))
  app.delete('/v1/users/:id', async (request, reply) => {
    const { id } = request.params as { readonly id: string }
    return reply.code(Number(id)).send(id === '204' ? undefined : {})
  })
  for (const path of ['things', 'things', 'others']) {
    const response = await app.inject({ method: 'POST', url: `/v1/${path}` })
    t.equal(response.statusCode, path === 'things' ? 201 : 200)
    if (path === 'things') t.same(response.json(), sent)
  }
  for (const status of [200, 202, 204, 404])
    await app.inject({ method: 'DELETE', url: `/v1/users/${status}` })
  const rows = [
    ['envelope', 'POST /v1/things', 2],
    ['keys', 'POST /v1/things', 2],
    ['dates', 'POST /v1/things', 2],
    ['keys', 'POST /v1/others', 1],
    ['delete', 'DELETE /v1/users/:id', 1],
  ] as const
  const { observations } = app.conventions.report()
  const counted = observations.map(({ rule, route, count, effect }) => [rule, route, count, effect])
  t.strictSame(
    counted,
    Array.from(rows, (row) => [...row, 'none']),
  )
  const warnings = logs.lines.filter((line) => line.level === levels.warn)
  t.strictSame(
    warnings.map(({ convention, route }) => [convention, route]),
    rows.map(([rule, route]) => [`responseRules.${rule}`, route]),
    'once for each rule and route',
  )
  t.notMatch(JSON.stringify(logs.lines), /secret/, 'never a value')
})

t.test('the boot and the report say which routes have no response schema', async (t) => {
  const logs = keepLogs('info')
  const app = await withPlugins(Fastify({ logger: logs.logger }), responseRules)
  const handler = async () => ({})
  const schema = (response: object) => ({ schema: { response } })
  app.get('/v1/users', handler)
  app.post('/v1/users', schema({ 402: { type: 'object' } }), handler)
  app.get('/v1/orders', schema({ 200: { type: 'object' } }), handler)
  app.delete('/v1/orders', schema({ 204: { type: 'null' } }), handler)
  app.get('/v1/links', schema({ 302: { type: 'null' } }), handler)
  app.get('/v1/events', { config: { responseRules: { mode: 'off' } } }, handler)
  await app.ready()
  const reason = 'no response schema: only its first payloads are checked'
  const named = app.conventions.report().exceptions.filter((exception) => exception.reason === reason)
  t.strictSame(named.map(({ route }) => route).join(), 'GET /v1/users,POST /v1/users')
  const said = logs.lines.map(({ msg }) => msg).filter((msg) => /no response schema/.test(String(msg)))
  t.same(said, ['conventions: responseRules: 2 routes have no response schema'])

  const quiet = keepLogs('info')
  const complete = await withPlugins(Fastify({ logger: quiet.logger }), responseRules)
  complete.get('/v1/orders', schema({ 200: { type: 'object' } }), handler)
  await complete.ready()
  const isLogged = quiet.lines.some(({ msg }) => /responseRules/.test(String(msg)))
  t.notOk(isLogged, 'nothing where each route has one')
})

t.test('the first payloads of success are checked', async (t) => {
  const app = await appOf(responseRules)
  app.get('/v1/things/:status', async (request, reply) =>
    reply.code(Number((request.params as { status: string }).status)).send({ createdBy: 1 }),
  )
  const countAfter = async (status: number): Promise<number | undefined> => {
    t.equal((await app.inject(`/v1/things/${status}`)).statusCode, status)
    return app.conventions.report().observations[0]?.count
  }
  t.equal(await countAfter(300), undefined, 'only success is judged')
  t.equal(await countAfter(404), undefined)
  t.equal(await countAfter(201), 1)
  for (let count = 2; count <= 20; count++) t.equal(await countAfter(200), count)
  t.equal(await countAfter(200), 20, 'after 20, payloads are not checked')
})

t.test('a local offset is only counted, in enforce mode too', async (t) => {
  const payload = { created_at: '2026-01-31T12:00:00+02:00' }
  const example = 'dates: /created_at has a local offset; write UTC: Z'
  for (const [options, told] of [
    [{}, [{ rule: 'dates', example }]],
    [{ rules: { dates: 'off' } }, []],
  ] as const) {
    const app = await appOf([responseRules, options])
    app.get('/v1/things', () => payload)
    t.equal((await app.inject('/v1/things')).body, JSON.stringify(payload))
    const { observations } = app.conventions.report()
    const seen = observations.map(({ rule, example }) => ({ rule, example }))
    t.strictSame(seen, told)
  }
})

t.test('the payload is checked after the hooks of the route, if it is JSON', async (t) => {
  const app = await appOf(responseRules)
  const wrap = async (_request: unknown, _reply: unknown, payload: unknown) => ({ data: payload })
  app.get('/v1/things', { preSerialization: wrap }, async () => ({ id: 1 }))
  const xml = () => '<x/>'
  app.get('/v1/xml', (_request, reply) => void reply.type('application/xml').serializer(xml).send({ aB: 1 }))
  app.get('/v1/hal', (_request, reply) => void reply.type('application/hal+json').send({ aB: 1 }))
  t.equal((await app.inject('/v1/xml')).body, '<x/>')
  t.same(app.conventions.report().observations, [])
  await app.inject('/v1/hal')
  t.same((await app.inject('/v1/things')).json(), { data: { id: 1 } })
  const { observations } = app.conventions.report()
  t.match(observations, [
    { rule: 'keys', route: 'GET /v1/hal' },
    { rule: 'envelope', route: 'GET /v1/things' },
  ])
})
