import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import { problems } from '../../../src/plugins/problems/index.js'
import { type ResponseRulesOptions, responseRules } from '../../../src/plugins/response-rules/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

interface Answer {
  payload: unknown
}

/** An app with one route, `/v1/things`, that answers with what `answer.payload` is. */
async function appWith(
  options: ResponseRulesOptions,
  answer: Answer,
  logs = keepLogs(),
): Promise<FastifyInstance> {
  const app = Fastify({ logger: logs.logger })
  await app.register(responseRules, options)
  app.get('/v1/things', (_request, reply) => reply.send(answer.payload))
  await app.ready()
  return app
}

const serverFault = {
  status: 500,
  code: 'response-invalid',
  title: 'Invalid response',
  detail: 'The server failed to answer. The cause is in its log, under the request id.',
}

t.test('a payload that breaks a rule is a 500 without details; the log has the reason', async (t) => {
  const logs = keepLogs()
  const app = await appWith({}, { payload: { createdBy: 'secret', tag: ['secret'] } }, logs)
  const response = await app.inject('/v1/things')
  const document = isProblem(t, injected(response), serverFault)
  t.same(Object.keys(document).sort(), ['code', 'detail', 'instance', 'status', 'title', 'type'])
  const [logged] = logs.lines.filter((line) => line.level === levels.error)
  t.equal(logged?.msg, 'Invalid response')
  t.match(
    JSON.stringify(logged),
    /GET \/v1\/things breaks responseRules: keys: \/createdBy .*write created_by; plural:/,
  )
  t.notMatch(JSON.stringify(logs.lines), /secret/, 'never a value')
})

t.test('with problems too, however the handler answers', async (t) => {
  const logs = keepLogs()
  const app = Fastify({ logger: logs.logger })
  await app.register(problems)
  await app.register(responseRules)
  const bad = { createdBy: 'secret' }
  app.get('/v1/async', async () => bad)
  app.get('/v1/send', (_request, reply) => void reply.header('x-kept', 'yes').send(bad))
  app.get('/v1/created', async (_request, reply) => reply.code(201).send(bad))
  for (const path of ['/v1/async', '/v1/send', '/v1/created']) {
    isProblem(t, injected(await app.inject(path)), serverFault, path)
    const head = await app.inject({ method: 'HEAD', url: path })
    t.equal(head.statusCode, 500, `${path}: HEAD answers as GET does`)
    t.equal(head.body, '')
  }
  const logged = logs.lines.filter((line) => line.level === levels.error)
  t.equal(logged.length, 6, 'one line each')
  t.match(JSON.stringify(logged[0]), /GET \/v1\/async breaks responseRules/)
})

t.test('with refusals: errorHandler, the error handler of the app gets the refusal', async (t) => {
  const app = Fastify()
  await app.register(problems, { mode: 'off', refusals: 'errorHandler' })
  await app.register(responseRules)
  app.setErrorHandler((error: Error & { code?: string }, _request, reply) =>
    reply.code(418).send({ brokenBy: error.code }),
  )
  app.get('/v1/things', async () => ({ createdBy: 1 }))
  const response = await app.inject('/v1/things')
  t.equal(response.statusCode, 418)
  t.same(response.json(), { brokenBy: 'response-invalid' }, 'and its own answer is not judged')
})

t.test('each rule that needs no schema has its mode', async (t) => {
  const bad: Record<string, unknown> = {
    object: [{ id: 1 }],
    envelope: { data: { id: 1 } },
    keys: { createdBy: 1 },
    plural: { user: [] },
    dates: { created_at: 'yesterday' },
  }
  for (const [rule, payload] of Object.entries(bad)) {
    const refused = await (await appWith({}, { payload })).inject('/v1/things')
    t.equal(refused.statusCode, 500, `${rule}: enforce`)
    const off = await (await appWith({ rules: { [rule]: 'off' } }, { payload })).inject('/v1/things')
    t.equal(off.body, JSON.stringify(payload), `${rule}: off`)
    const others = await appWith({ rules: { [rule]: 'off' } }, { payload: { createdBy: 1, user: [] } })
    t.equal((await others.inject('/v1/things')).statusCode, 500, `${rule}: off, but not the other rules`)
    const app = await appWith({ rules: { [rule]: 'report' } }, { payload })
    t.equal((await app.inject('/v1/things')).body, JSON.stringify(payload), `${rule}: report`)
    t.match(app.conventions.report().observations, [{ rule, count: 1 }], `${rule}: observed`)
  }
})

t.test('in report mode responses do not change, byte for byte', async (t) => {
  const build = async (withRules: boolean): Promise<FastifyInstance> => {
    const app = Fastify()
    if (withRules) await app.register(responseRules, { mode: 'report' })
    let count = 0
    const payloads: Record<string, () => unknown> = {
      array: () => [{ aB: 1 }],
      envelope: () => ({ data: [] }),
      number: () => 5,
      date: () => ({ created_at: new Date(0), at: 'x', user: [1] }),
      frozen: () => Object.freeze({ aB: Object.freeze([1]) }),
      getter: () => ({
        get aB() {
          count += 1
          return count
        },
      }),
      custom: () => ({ toJSON: () => ({ count: ++count, aB: 1 }) }),
      text: () => 'createdBy',
      bytes: () => Buffer.from('{"aB":1}'),
      stream: () => Readable.from(['{"aB":1}']),
      null: () => null,
    }
    for (const [name, payload] of Object.entries(payloads)) {
      app.get(`/v1/${name}`, (_request, reply) => void reply.send(payload()))
    }
    app.get(
      '/v1/schema',
      { schema: { response: { 200: { type: 'array', items: { type: 'object' } } } } },
      async () => [{}],
    )
    app.get('/v1/error', async () => Promise.reject(new Error('aB')))
    app.get('/v1/conflict', (_request, reply) => void reply.code(409).send([{ aB: 1 }]))
    await app.ready()
    return app
  }
  const [plain, ruled] = await Promise.all([build(false), build(true)])
  const paths = 'array envelope number date frozen getter custom text bytes stream null schema error conflict'
  for (const path of [...paths.split(' '), 'absent']) {
    for (const method of ['GET', 'HEAD'] as const) {
      const answers = await Promise.all(
        [plain, ruled].map((app) => app.inject({ method, url: `/v1/${path}` })),
      )
      const seen = answers.map(({ statusCode, headers, rawPayload }) => {
        const { date: _, ...others } = headers
        return { statusCode, headers: others, body: rawPayload.toString() }
      })
      t.same(seen[1], seen[0], `${method} ${path}`)
    }
  }
  const seen = ruled.conventions.report().observations.map(({ rule, route }) => `${rule} ${route}`)
  t.same(
    seen.filter((line) => /text|bytes|stream|null|error|conflict|absent/.test(line)),
    [],
    'not judged',
  )
  t.ok(seen.includes('object GET /v1/array'), 'judged')
})

t.test('breaches in report mode are counted, and logged once, without values', async (t) => {
  const logs = keepLogs()
  const answer: Answer = { payload: { createdBy: 'secret' } }
  const app = await appWith({ mode: 'report' }, answer, logs)
  const { headers } = await app.inject('/v1/things')
  t.match(headers['content-type'], 'application/json')
  answer.payload = { deletedBy: 'secret' }
  await app.inject('/v1/things')
  t.match(app.conventions.report().observations, [
    {
      plugin: 'responseRules',
      rule: 'keys',
      route: 'GET /v1/things',
      count: 2,
      example: 'keys: /createdBy is not in snake_case; write created_by',
    },
  ])
  const warnings = logs.lines.filter((line) => line.level === levels.warn)
  t.match(warnings, [{ convention: 'responseRules.keys', route: '/v1/things' }])
  t.equal(warnings.length, 1)
  t.notMatch(JSON.stringify(logs.lines), /secret/)
})

t.test('the first payloads of each status are checked; refused ones do not count', async (t) => {
  const good = { id: 1 }
  const bad = { createdBy: 1 }
  const answer: Answer = { payload: bad }
  const app = Fastify()
  await app.register(responseRules, { samples: 2 })
  app.get('/v1/things/:status', async (request, reply) =>
    reply.code(Number((request.params as { status: string }).status)).send(answer.payload),
  )
  const statusOf = async (payload: unknown, status: number): Promise<number> => {
    answer.payload = payload
    return (await app.inject(`/v1/things/${status}`)).statusCode
  }
  for (let round = 0; round < 4; round += 1) t.equal(await statusOf(bad, 200), 500, 'refused every time')
  t.equal(await statusOf(good, 200), 200, 'the first that is clean')
  t.equal(await statusOf(bad, 200), 500)
  t.equal(await statusOf(good, 200), 200, 'the second')
  t.equal(await statusOf(bad, 200), 200, 'after the samples, payloads are not checked')
  t.equal(await statusOf(bad, 201), 500, 'another status has a count of its own')
  t.equal(await statusOf(bad, 299), 500)
  t.equal(await statusOf(bad, 302), 302, 'only success is judged')
  t.equal(await statusOf(bad, 404), 404)
})

t.test('in report mode the count goes down with every payload', async (t) => {
  const app = await appWith({ mode: 'report', samples: 3 }, { payload: { aB: 1 } })
  for (let round = 0; round < 5; round += 1) await app.inject('/v1/things')
  t.match(app.conventions.report().observations, [{ rule: 'keys', count: 3 }])
})

t.test('a response counts once for each rule, however many members break it', async (t) => {
  const app = await appWith({ mode: 'report' }, { payload: { aB: 1, bC: 2, tag: [], name: [] } })
  await app.inject('/v1/things')
  t.same(
    app.conventions.report().observations.map(({ rule, count }) => [rule, count]),
    [
      ['keys', 1],
      ['plural', 1],
    ],
  )
})

t.test('a local offset is only counted, in enforce mode too', async (t) => {
  const payload = { created_at: '2026-01-31T12:00:00+02:00' }
  const app = await appWith({}, { payload })
  t.equal((await app.inject('/v1/things')).body, JSON.stringify(payload))
  t.match(app.conventions.report().observations, [
    { rule: 'utc', example: 'utc: /created_at has a local offset; write UTC: Z' },
  ])
  const off = await appWith({ rules: { dates: 'off' } }, { payload })
  await off.inject('/v1/things')
  t.same(off.conventions.report().observations, [])
})

t.test('only routes without a response schema for success have the hook', async (t) => {
  const app = Fastify()
  const watched: string[] = []
  await app.register(responseRules)
  app.addHook('onRoute', (route) => {
    const hooks = [route.preSerialization ?? []].flat() as { name: string }[]
    const isWatched = hooks.some(({ name }) => name === 'responseRulesOnPreSerialization')
    if (isWatched && route.method === 'GET') watched.push(route.path)
  })
  const own = async () => undefined
  const handler = async () => ({})
  const schema = (response: object) => ({ schema: { response } })
  const off = (['object', 'envelope', 'keys', 'plural', 'dates'] as const).map((rule) => [rule, 'off'])
  app.get('/no-schema', handler)
  app.get('/own-hook', { preSerialization: own }, handler)
  app.get('/errors', schema({ 400: { type: 'object' } }), handler)
  app.get('/words', schema({ 200: { description: 'fine' } }), handler)
  app.get('/schema', schema({ 200: { type: 'object' } }), handler)
  app.get('/csv', schema({ 200: { content: { 'text/csv': { schema: { type: 'string' } } } } }), handler)
  app.get('/files/*', handler)
  app.get('/hidden', { schema: { hide: true } as object }, handler)
  app.get('/off', { config: { responseRules: false } }, handler)
  app.get('/rules-off', { config: { responseRules: { rules: Object.fromEntries(off) } } }, handler)
  app.get('/mode-off', { config: { responseRules: { mode: 'off' } } }, handler)
  await app.ready()
  t.same(watched, ['/no-schema', '/own-hook', '/errors', '/words'])
})

t.test('the check runs after the hooks of the route', async (t) => {
  const app = Fastify()
  await app.register(responseRules)
  const wrap = async (_request: unknown, _reply: unknown, payload: unknown) => ({ data: payload })
  app.get('/v1/things', { preSerialization: wrap }, async () => ({ id: 1 }))
  t.equal((await app.inject('/v1/things')).statusCode, 500)
})

t.test('payloads that are not JSON are not checked', async (t) => {
  const app = Fastify()
  await app.register(responseRules)
  const asXml = (reply: FastifyReply) =>
    reply
      .type('application/xml')
      .serializer(() => '<x/>')
      .send({ aB: 1 })
  app.get('/v1/xml', (_request, reply) => void asXml(reply))
  app.get('/v1/hal', (_request, reply) => void reply.type('application/hal+json').send({ aB: 1 }))
  t.equal((await app.inject('/v1/xml')).body, '<x/>')
  t.equal((await app.inject('/v1/hal')).statusCode, 500)
})

t.test('samples: 0 checks no payload', async (t) => {
  const app = await appWith({ samples: 0 }, { payload: { aB: 1 } })
  t.equal((await app.inject('/v1/things')).statusCode, 200)
})
