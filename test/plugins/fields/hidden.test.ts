/** A hidden field never appears, and to whom it is hidden it looks unknown. */
import { Readable } from 'node:stream'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import t from 'tap'
import { type FieldsRouteOptions, fields, integerTwins, operations, problems } from '../../../src/index.js'
import { withPlugins } from '../../support/app.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'
import { array, int64, object, text } from './one-route.js'

declare module 'fastify' {
  interface FastifyRequest {
    asker?: string
  }
}

const user = object({
  id: int64,
  name: text,
  salary: { type: 'integer' },
  address: object({ city: text, door_code: text }),
  friends: array(object({ name: text, phone: text })),
})
const ada = {
  id: 9_007_199_254_740_993n,
  name: 'Ada',
  salary: 5,
  address: { city: 'London', door_code: '1234' },
  friends: [{ name: 'Eve', phone: '555' }],
}
const visible =
  '{"id":9007199254740993,"id_str":"9007199254740993","name":"Ada","address":{"city":"London"},"friends":[{"name":"Eve"}]}'
const hidden: NonNullable<FieldsRouteOptions['hidden']> = {
  salary: (request) => request.asker !== 'boss',
  'address.door_code': true,
  'friends.phone': true,
}
const salary = { hidden: { salary: true } } as const
const one = '/v1/users/1'
const asBoss = { headers: { asker: 'boss' } }
const internal = { status: 500, code: 'internal-server-error' }

const writes = ['POST', 'PUT', 'PATCH', 'DELETE'] as const
const all = ['GET', ...writes] as const

type Answer = (reply: FastifyReply) => unknown

interface SetUp {
  readonly answer?: Answer
  readonly response?: object
  readonly logger?: object
  readonly methods?: readonly (typeof all)[number][]
}

/** An app with one item for each method, and a list. */
async function service(options: FieldsRouteOptions, { answer, response, logger, methods = all }: SetUp = {}) {
  const app = await withPlugins(Fastify({ ...(logger && { logger }) }), problems, fields, integerTwins)
  app.addHook('preHandler', async (request) => {
    request.asker = String(request.headers.asker)
  })
  for (const method of options.default === undefined ? methods : (['GET'] as const)) {
    const handler = (_: FastifyRequest, reply: FastifyReply) => (answer === undefined ? ada : answer(reply))
    const schema = { response: response ?? (method === 'GET' ? { 200: user } : { '2xx': user }) }
    app.route({ method, url: '/v1/users/:id', schema, config: { fields: options }, handler })
  }
  if (response !== undefined) return app
  const list = { response: { 200: object({ users: array(user) }) } }
  app.get('/v1/users', { schema: list, config: { fields: options } }, () => ({ users: [ada] }))
  return app
}

t.test('hidden fields are not sent, whatever is selected', async (t) => {
  const app = await service({ hidden })
  const rows: readonly (readonly [query: string, body: string])[] = [
    ['', visible],
    ['?fields=*', visible],
    ['?fields=address,address.city', '{"address":{"city":"London"}}'],
    ['?fields=friends.name', '{"friends":[{"name":"Eve"}]}'],
  ]
  for (const [query, body] of rows) {
    t.equal((await app.inject(one + query)).payload, body, query)
    t.equal((await app.inject(`/v1/users${query}`)).payload, `{"users":[${body}]}`, `${query} of a list`)
    const head = await app.inject({ method: 'HEAD', url: one + query })
    t.equal(head.headers['content-length'], String(Buffer.byteLength(body)), `${query} by HEAD`)
  }
  const byDefault = await service({ hidden, default: ['name', 'salary', 'address'] })
  t.equal((await byDefault.inject(one)).payload, '{"name":"Ada","address":{"city":"London"}}', 'by default')
  const boss = await byDefault.inject({ url: one, ...asBoss })
  t.equal(boss.payload, '{"name":"Ada","salary":5,"address":{"city":"London"}}')
})

t.test('a request for a hidden field is refused like one for an unknown field', async (t) => {
  const app = await service({ hidden: { ...hidden, id: true } })
  const top = /The fields are name, address, friends$/
  for (const [asked, unknown, detail] of [
    ['salary', 'nope', top],
    ['salary.x', 'nope.x', top],
    ['id_str', 'nope_str', top],
    ['salary,zzz', 'nope,zzz', top],
    ['*,salary', '*,nope', top],
    ['friends.phone', 'friends.nope', /The fields of friends are name$/],
    ['name&fields=salary', 'name&fields=nope', top],
    ['address,address.door_code', 'address,address.nope', /The fields of address are city$/],
  ] as const) {
    const received = injected(await app.inject(`${one}?fields=${asked}`))
    const expected = injected(await app.inject(`${one}?fields=${unknown}`))
    isProblem(t, received, { status: 400, code: 'fields-invalid', detail }, asked)
    const nameless = (body: string): string =>
      body.replaceAll(/nope|\bid\b|id(?=_str)|salary|door_code|phone|"instance":"[^"]*"/g, '')
    t.equal(nameless(received.body), nameless(expected.body), asked)
  }
})

t.test('a predicate runs once per request, after the hooks of the app and before the handler', async (t) => {
  const app = await service({ hidden })
  const asked = `${one}?fields=name,salary`
  t.equal((await app.inject({ url: asked, ...asBoss })).payload, '{"name":"Ada","salary":5}')
  t.equal((await app.inject({ url: asked, headers: { asker: 'somebody' } })).statusCode, 400)
  const order: string[] = []
  const noting = { hidden: { salary: () => order.push('predicate') > 0 } }
  const noted = await service(noting, { answer: () => ({ name: order.push('handler') }) })
  for (const query of ['', '?fields=name', '?fields=*']) {
    await noted.inject(one + query)
    t.strictSame(order.splice(0), ['predicate', 'handler'], query)
  }
})

t.test('the twin of a hidden number is hidden, and the number of a hidden twin', async (t) => {
  for (const name of ['id', 'id_str']) {
    const app = await service({ hidden: { [name]: true } })
    for (const query of ['', '?fields=*']) t.notMatch((await app.inject(one + query)).payload, 'id')
    t.equal((await app.inject(`${one}?fields=id`)).statusCode, 400, name)
  }
})

t.test('request.fields has no hidden fields; that of a write is null if nothing is hidden', async (t) => {
  for (const method of ['GET', 'PUT'] as const) {
    const seen: unknown[] = []
    const answer = ({ request: { fields } }: FastifyReply) => {
      seen.push(fields?.names, fields?.paths, fields?.has('salary'))
      return ada
    }
    await (await service({ hidden }, { answer })).inject({ method, url: one })
    const paths = ['id', 'name', 'address.city', 'friends.name']
    t.strictSame(seen, [['id', 'name', 'address', 'friends'], paths, false], method)
    await (await service({}, { answer })).inject({ method, url: one })
    t.strictSame(seen.slice(3), [undefined, undefined, undefined], method)
  }
})

t.test('hidden applies to every 2xx of each method, fields= to reads only', async (t) => {
  for (const status of [200, 201, 202, 207]) {
    const app = await service({ hidden }, { answer: (reply) => reply.code(status).send(ada) })
    for (const method of writes) {
      for (const query of ['', '?fields=name', '?fields=salary', '?fields=']) {
        const { statusCode, payload } = await app.inject({ method, url: one + query })
        t.strictSame([statusCode, payload], [status, visible], `${method} ${status} ${query}`)
      }
      const { payload } = await app.inject({ method, url: one, ...asBoss })
      t.match(payload, '"salary":5', `${method} ${status}: a predicate is asked`)
    }
  }
  const answer = (reply: FastifyReply) => reply.code(202).send(ada)
  const read = await service({ hidden, default: ['name'] }, { answer, response: { 200: user, 202: user } })
  for (const query of ['', '?fields=name', '?fields=*'])
    t.equal((await read.inject(one + query)).payload, visible, `a 202 of a GET ${query}`)
})

t.test('a write hides the fields of each of its schemas of success', async (t) => {
  const list = object({ users: array(user), next: text })
  const problem = object({ code: text })
  const page = { users: [ada], next: 'x' }
  const ofUsers = {
    'users.salary': true,
    'users.address.door_code': true,
    'users.friends.phone': true,
  } as const
  type Row = readonly [response: object, typeof hidden, number, value: object, body: string]
  const rows: readonly Row[] = [
    [{ 201: user, default: problem }, hidden, 201, ada, visible],
    [{ '2xx': user }, hidden, 206, ada, visible],
    [{ 200: list }, ofUsers, 200, page, `{"users":[${visible}],"next":"x"}`],
    [{ 200: list, 201: user }, { ...hidden, ...ofUsers }, 201, ada, visible],
    [{ 200: user, 201: problem }, hidden, 201, { code: 'x' }, '{"code":"x"}'],
  ]
  for (const [response, hidden, status, value, body] of rows) {
    const answer: Answer = (reply) => reply.code(status).send(value)
    const app = await service({ hidden }, { answer, response, methods: ['POST'] })
    const { statusCode, payload } = await app.inject({ method: 'POST', url: one })
    t.strictSame([statusCode, payload], [status, body], JSON.stringify(Object.keys(response)))
  }
})

t.test('a payload from which fields cannot be removed is a 500, with the reason in the log', async (t) => {
  const bytes = Buffer.from(JSON.stringify({ salary: 5 }))
  const answers: readonly (readonly [about: string, answer: Answer])[] = [
    ['a string', (reply) => reply.type('application/json').send(String(bytes))],
    ['bytes', (reply) => reply.send(bytes)],
    ['a stream', (reply) => reply.send(Readable.from([bytes]))],
    ['a web stream', (reply) => reply.send(new Response(bytes).body)],
    ['a Response', (reply) => reply.send(new Response(bytes, { status: 201 }))],
    ['a serializer of its own', (reply) => reply.serializer(() => String(bytes)).send({ salary: 5 })],
    ['a status without a schema', (reply) => reply.code(203).send({ salary: 5 })],
  ]
  for (const [about, answer] of answers) {
    const { logger, lines } = keepLogs('info')
    const app = await service(salary, { answer, response: { 200: user }, logger })
    for (const method of all) {
      lines.length = 0
      const received = injected(await app.inject({ method, url: one }))
      isProblem(t, received, internal, `${method} ${about}`)
      t.notMatch(received.body, 'salary', about)
      const [error] = lines.filter(({ level }) => level === levels.error)
      t.match(error, { err: { message: /^hidden fields cannot be removed/ } }, about)
    }
  }
})

t.test('such a payload is sent if nothing is hidden from the request; so are errors and 204', async (t) => {
  type Row = readonly [answer: Answer, isHidden: boolean, number, body: RegExp]
  const rows: readonly Row[] = [
    [(reply) => reply.send('text'), false, 200, /^text$/],
    [(reply) => reply.code(204).send(), true, 204, /^$/],
    [(reply) => reply.send(null), true, 200, /^\{\}$/],
    [(reply) => reply.code(302).header('location', '/').send('moved'), true, 302, /^moved$/],
    [(reply) => reply.code(409).send(ada), true, 409, /"salary":5/],
  ]
  for (const [answer, isHidden, status, body] of rows) {
    const app = await service({ hidden: { salary: () => isHidden } }, { answer })
    const { statusCode, payload } = await app.inject({ method: 'PUT', url: one })
    t.match([statusCode, payload], [status, body])
  }
})

t.test('hidden fields are removed from the response of a hook too', async (t) => {
  for (const hook of ['onRequest', 'preValidation', 'preHandler'] as const) {
    const app = await service(salary, { answer: () => t.fail('the handler runs'), response: { 200: user } })
    app.addHook(hook as 'onRequest', async ({ headers }, reply) =>
      reply.send(headers.asker === 'text' ? '{"salary":5}' : { name: 'Ada', salary: 5 }),
    )
    for (const method of all) {
      const answer = await app.inject({ method, url: one })
      t.equal(answer.payload, '{"name":"Ada"}', `${hook} ${method}`)
      const text = await app.inject({ method, url: one, headers: { asker: 'text' } })
      t.equal(text.statusCode, 500, `${hook} ${method}: from a text they cannot be`)
    }
  }
})

t.test('the awaited result of an operation has no hidden fields; the report names its polls', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(problems)
  await app.register(fields)
  await app.register(operations)
  const result = { name: 'Ada', salary: 5, friends: [{ phone: '1' }] }
  app.operations.define('users.update', async () => ({ result }))
  const config = { fields: { hidden: { salary: true, 'friends.phone': true } as const } }
  const starting = { ...config, operations: { starts: 'users.update' } }
  const schema = { response: { 200: user } }
  const start = (_: unknown, reply: FastifyReply) => reply.startOperation('users.update')
  app.put('/v1/users/:id', { schema, config: starting }, start)
  app.get('/v1/users/:id', { schema, config: { operations: { starts: 'users.update' } } }, start)
  app.post('/v1/users/:id', { schema, config }, (_, reply) => reply.notReady(3))
  for (const method of ['PUT', 'POST'] as const)
    t.match(await app.inject({ method, url: one }), { statusCode: 202, payload: /"status":"In progress"/ })
  const ended = await app.inject({ method: 'PUT', url: one, headers: { prefer: 'wait=10' } })
  t.match(ended.json(), { status: 'Succeeded', result: { name: 'Ada' } })
  t.notMatch(ended.payload, /salary|phone/)
  const { exceptions } = app.conventions.report()
  t.match(exceptions, [{ plugin: 'fields', route: 'PUT /v1/users/:id', rules: ['hidden'] }])
  t.equal(exceptions.length, 1)
})

t.test('a predicate that throws is a 500, and nothing hidden is sent', async (t) => {
  for (const thrown of [new Error('no such asker'), undefined]) {
    const { logger, lines } = keepLogs('info')
    const salary = () => {
      throw thrown
    }
    const app = await service({ hidden: { salary } }, { logger })
    isProblem(t, injected(await app.inject(one)), internal)
    const error = lines.find(({ level }) => level === levels.error)
    if (thrown !== undefined) t.match(error, { err: { message: 'no such asker' } })
    const early = await service({ hidden: { salary } })
    early.addHook('preHandler', async (_, reply) => reply.send(ada))
    const answer = await early.inject(one)
    t.equal(answer.statusCode, 500)
    t.notMatch(answer.body, 'salary')
  }
})

t.test('where a predicate hides a field, no shared cache may store a response', async (t) => {
  const bySome = { salary: () => false }
  const sent = (value: string) => (reply: FastifyReply) =>
    reply.header('cache-control', value).send({ name: 'Ada' })
  const headers = { 'cache-control': 'max-age=60' }
  const rows: readonly (readonly [typeof hidden, Answer, expected: string])[] = [
    [bySome, (reply) => reply.send({ name: 'Ada' }), 'private'],
    [bySome, sent('public, max-age=60'), 'max-age=60, private'],
    [bySome, sent('no-store'), 'no-store'],
    [bySome, () => Response.json({ name: 'Ada' }, { headers }), 'max-age=60, private'],
    [{ ...bySome, 'friends.phone': true }, sent('max-age=60'), 'max-age=60, private'],
    [salary.hidden, sent('max-age=60'), 'max-age=60'],
  ]
  for (const [hidden, answer, expected] of rows) {
    const { statusCode, headers } = await (await service({ hidden }, { answer })).inject(one)
    t.strictSame([statusCode, headers['cache-control']], [200, expected], expected)
  }
})
