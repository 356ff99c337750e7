/** A hidden field never appears, and to whom it is hidden it looks unknown. */
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import t from 'tap'
import {
  type FieldSelection,
  type FieldsRouteOptions,
  fields,
  integerTwins,
  operations,
  problems,
} from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

declare module 'fastify' {
  interface FastifyRequest {
    asker?: string
  }
}

const text = { type: 'string' }
const address = { type: 'object', properties: { city: text, door_code: text } }
const user = {
  type: 'object',
  properties: {
    id: { type: 'integer', format: 'int64' },
    name: text,
    salary: { type: 'integer' },
    address,
    friends: { type: 'array', items: { type: 'object', properties: { name: text, phone: text } } },
  },
}
const ada = {
  id: 9_007_199_254_740_993n,
  name: 'Ada',
  salary: 5,
  address: { city: 'London', door_code: '1234' },
  friends: [{ name: 'Eve', phone: '555' }],
}
const visible =
  '{"id":9007199254740993,"id_str":"9007199254740993","name":"Ada","address":{"city":"London"},"friends":[{"name":"Eve"}]}'
const hidden: FieldsRouteOptions['hidden'] = {
  salary: (request) => request.asker !== 'boss',
  'address.door_code': true,
  'friends.phone': true,
}

t.test('hidden fields are not sent, whatever is selected', async (t) => {
  const app = await service({ hidden })
  const rows: readonly (readonly [query: string, body: string])[] = [
    ['', visible],
    ['?fields=*', visible],
    ['?fields=*&fields=name', visible],
    ['?fields=address', '{"address":{"city":"London"}}'],
    ['?fields=address,address.city', '{"address":{"city":"London"}}'],
    ['?fields=friends', '{"friends":[{"name":"Eve"}]}'],
    ['?fields=friends.name', '{"friends":[{"name":"Eve"}]}'],
  ]
  for (const [query, body] of rows) {
    t.equal((await app.inject(`/v1/users/1${query}`)).payload, body, query)
    t.equal((await app.inject(`/v1/users${query}`)).payload, `{"users":[${body}]}`, `${query} of a list`)
    const head = await app.inject({ method: 'HEAD', url: `/v1/users/1${query}` })
    t.equal(head.headers['content-length'], String(Buffer.byteLength(body)), `${query} by HEAD`)
  }
})

t.test('a request for a hidden field is refused like one for an unknown field', async (t) => {
  const app = await service({ hidden })
  const top = /The fields are id, name, address, friends$/
  for (const [asked, unknown, detail] of [
    ['salary', 'nope', top],
    ['salary.x', 'nope.x', top],
    ['address.door_code', 'address.nope', /The fields of address are city$/],
    ['friends.phone', 'friends.nope', /The fields of friends are name$/],
    ['name&fields=salary', 'name&fields=nope', top],
    ['address,address.door_code', 'address,address.nope', /The fields of address are city$/],
  ] as const) {
    const [received, expected] = [
      injected(await app.inject(`/v1/users/1?fields=${asked}`)),
      injected(await app.inject(`/v1/users/1?fields=${unknown}`)),
    ]
    isProblem(t, received, { status: 400, code: 'fields-invalid', detail }, asked)
    const nameless = (body: string): string =>
      body.replaceAll(/nope|salary|door_code|phone|"instance":"[^"]*"/g, '')
    t.equal(nameless(received.body), nameless(expected.body), asked)
  }
})

t.test('a predicate runs after the hooks of the app', async (t) => {
  const app = await service({ hidden })
  const answer = await app.inject({ url: '/v1/users/1?fields=name,salary', headers: { asker: 'boss' } })
  t.equal(answer.payload, '{"name":"Ada","salary":5}')
  const other = await app.inject({ url: '/v1/users/1?fields=name,salary', headers: { asker: 'somebody' } })
  t.equal(other.statusCode, 400)
  const all = await app.inject({ url: '/v1/users/1', headers: { asker: 'boss' } })
  t.match(all.payload, '"salary":5')
  t.notMatch(all.payload, 'door_code')
})

t.test('a predicate runs once per request, before the handler', async (t) => {
  const order: string[] = []
  const app = await service({ hidden: { salary: () => order.push('predicate') > 0 } }, () =>
    order.push('handler'),
  )
  for (const query of ['', '?fields=name', '?fields=*']) {
    order.length = 0
    await app.inject(`/v1/users/1${query}`)
    t.strictSame(order, ['predicate', 'handler'], query)
  }
})

t.test('a hidden field of the default is not sent', async (t) => {
  const app = await service({ hidden, default: ['name', 'salary', 'address'] })
  t.equal((await app.inject('/v1/users/1')).payload, '{"name":"Ada","address":{"city":"London"}}')
  const boss = await app.inject({ url: '/v1/users/1', headers: { asker: 'boss' } })
  t.equal(boss.payload, '{"name":"Ada","salary":5,"address":{"city":"London"}}')
})

t.test('the twin of a hidden number is hidden', async (t) => {
  const app = await service({ hidden: { id: true } })
  for (const query of ['', '?fields=*']) t.notMatch((await app.inject(`/v1/users/1${query}`)).payload, 'id')
  for (const query of ['?fields=id', '?fields=id_str', '?fields=name,id_str']) {
    t.equal((await app.inject(`/v1/users/1${query}`)).statusCode, 400, query)
  }
})

t.test('request.fields has no hidden fields, so the handler need not read them', async (t) => {
  const seen: unknown[] = []
  const app = await service({ hidden }, (fields) =>
    seen.push(fields?.names, fields?.paths, fields?.has('salary')),
  )
  await app.inject('/v1/users/1')
  t.strictSame(seen, [
    ['id', 'name', 'address', 'friends'],
    ['id', 'name', 'address.city', 'friends.name'],
    false,
  ])
})

t.test('a 202 is not projected, but hidden fields are removed', async (t) => {
  const app = Fastify()
  await app.register(fields)
  const schema = { response: { 200: user, 202: user } }
  const config = { fields: { hidden, default: ['name'] } }
  app.get('/v1/users/:id', { schema, config }, (_, reply) => reply.code(202).send(ada))
  const body = visible.replace(',"id_str":"9007199254740993"', '')
  for (const query of ['', '?fields=name', '?fields=*']) {
    t.equal((await app.inject(`/v1/users/1${query}`)).payload, body, query)
  }
})

const writes = ['POST', 'PUT', 'PATCH', 'DELETE'] as const

/** The hidden fields of the items in a member. */
function below(member: string): NonNullable<typeof hidden> {
  return Object.fromEntries(Object.entries(hidden ?? {}).map(([path, hides]) => [`${member}.${path}`, hides]))
}

t.test('hidden applies to every 2xx of each method, fields= to reads only', async (t) => {
  for (const method of writes) {
    for (const status of [200, 201, 202, 207]) {
      const app = await writeService(method, { hidden }, (reply) => reply.code(status).send(ada))
      for (const query of ['', '?fields=name', '?fields=salary', '?fields=']) {
        const { statusCode, payload } = await app.inject({ method, url: `/v1/users/1${query}` })
        t.strictSame([statusCode, payload], [status, visible], `${method} ${status} ${query}`)
      }
      const url = '/v1/users/1'
      const { payload } = await app.inject({ method, url, headers: { asker: 'boss' } })
      t.match(payload, '"salary":5', `${method} ${status}: a predicate is asked`)
      t.notMatch(payload, 'door_code')
    }
  }
})

t.test(
  'hidden fields are found in each schema of success: 201, a list of a POST, beside default',
  async (t) => {
    const list = { type: 'object', properties: { users: { type: 'array', items: user }, next: text } }
    const problem = { type: 'object', properties: { code: text } }
    const rows: readonly (readonly [
      response: object,
      config: FieldsRouteOptions,
      status: number,
      value: object,
      body: string,
    ])[] = [
      [{ 201: user }, { hidden }, 201, ada, visible],
      [{ 201: user, default: problem }, { hidden }, 201, ada, visible],
      [{ '2xx': user }, { hidden }, 206, ada, visible],
      [
        { 200: list },
        { hidden: below('users') },
        200,
        { users: [ada], next: 'x' },
        `{"users":[${visible}],"next":"x"}`,
      ],
      [{ 200: list, 201: user }, { hidden: { ...hidden, ...below('users') } }, 201, ada, visible],
      [{ 200: user, 201: problem }, { hidden }, 201, { code: 'x' }, '{"code":"x"}'],
    ]
    for (const [response, config, status, value, body] of rows) {
      const app = await writeService('POST', config, (reply) => reply.code(status).send(value), response)
      const { statusCode, payload } = await app.inject({ method: 'POST', url: '/v1/users/1' })
      t.strictSame([statusCode, payload], [status, body], JSON.stringify(Object.keys(response)))
    }
  },
)

t.test('a payload from which fields cannot be removed is a 500, with the reason in the log', async (t) => {
  const bytes = Buffer.from(JSON.stringify({ salary: 5 }))
  const answers: readonly (readonly [about: string, answer: (reply: FastifyReply) => unknown])[] = [
    ['a string', (reply) => reply.type('application/json').send(String(bytes))],
    ['bytes', (reply) => reply.send(bytes)],
    ['a stream', (reply) => reply.send(Readable.from([bytes]))],
    ['a web stream', (reply) => reply.send(new Response(bytes).body)],
    ['a Response', (reply) => reply.send(new Response(bytes, { status: 201 }))],
    ['a serializer of its own', (reply) => reply.serializer(() => String(bytes)).send({ salary: 5 })],
    ['a status without a schema', (reply) => reply.code(203).send({ salary: 5 })],
  ]
  for (const [about, answer] of answers) {
    for (const method of ['GET', ...writes] as const) {
      const logs = keepLogs('info')
      const app = await writeService(method, { hidden: { salary: true } }, answer, { 200: user }, logs.logger)
      const received = injected(await app.inject({ method, url: '/v1/users/1' }))
      isProblem(t, received, { status: 500, code: 'internal-server-error' }, `${method} ${about}`)
      t.notMatch(received.body, 'salary', about)
      const [error] = logs.lines.filter(({ level }) => level === levels.error)
      t.match(error, { err: { message: /^hidden fields cannot be removed/ } }, about)
    }
  }
})

t.test('if nothing is hidden from the request, such a payload is sent; errors and 204 are too', async (t) => {
  const answers: readonly (readonly [(reply: FastifyReply) => unknown, number, string])[] = [
    [(reply) => reply.send('text'), 200, 'text'],
    [(reply) => reply.code(204).send(), 204, ''],
    [(reply) => reply.send(null), 200, '{}'],
    [(reply) => reply.code(302).header('location', '/').send('moved'), 302, 'moved'],
  ]
  for (const [answer, status, body] of answers) {
    const isHidden = status !== 200 || body === '{}'
    const app = await writeService('PUT', { hidden: { salary: () => isHidden } }, answer)
    const { statusCode, payload } = await app.inject({ method: 'PUT', url: '/v1/users/1' })
    t.strictSame([statusCode, payload], [status, body])
  }
})

t.test('hidden fields are removed from the response of a hook too', async (t) => {
  for (const hook of ['onRequest', 'preValidation', 'preHandler'] as const) {
    for (const method of ['GET', ...writes] as const) {
      const app = Fastify()
      await app.register(fields)
      app.addHook(hook as 'onRequest', async (_request, reply) => reply.send({ name: 'Ada', salary: 5 }))
      const config = { fields: { hidden: { salary: true as const } } }
      const handler = () => t.fail('the handler runs')
      app.route({ method, url: '/v1/users/:id', schema: { response: { 200: user } }, config, handler })
      t.equal(
        (await app.inject({ method, url: '/v1/users/1' })).payload,
        '{"name":"Ada"}',
        `${hook} ${method}`,
      )
    }
  }
})

t.test(
  'request.fields of a write has the fields that are not hidden; without hidden it is null',
  async (t) => {
    for (const [config, names] of [
      [{ hidden }, ['id', 'name', 'address', 'friends']],
      [{}, null],
    ] as const) {
      let seen: unknown
      const app = await writeService('PUT', config, (reply) => {
        seen = reply.request.fields?.names ?? null
        return reply.send(ada)
      })
      await app.inject({ method: 'PUT', url: '/v1/users/1' })
      t.strictSame(seen, names)
    }
  },
)

t.test('options that do not apply to a write fail the boot', async (t) => {
  const rows: readonly (readonly [FieldsRouteOptions, object, RegExp])[] = [
    [
      { hidden: { nope: true } },
      { 201: user },
      /config\.fields\.hidden: expected fields of the response schema/,
    ],
    [{ hidden: { salary: true } }, { 204: { type: 'null' } }, /config\.fields\.hidden: expected none/],
    [{ default: ['name'] }, { 200: user }, /config\.fields\.default: expected a route that answers GET/],
  ]
  for (const [config, response, message] of rows) {
    const failing = async (): Promise<unknown> =>
      (await writeService('POST', config, (reply) => reply.send(ada), response)).ready()
    await t.rejects(failing(), { code: 'FST_CONV_OPTION_INVALID', message })
  }
})

t.test('an operation: its 202 is sent, and hidden fields are removed from an awaited result', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(problems)
  await app.register(fields)
  await app.register(operations)
  app.operations.define('users.update', async () => ({
    result: { name: 'Ada', salary: 5, friends: [{ phone: '1' }] },
  }))
  const config = {
    fields: { hidden: { salary: true, 'friends.phone': true } as const },
    operations: { starts: 'users.update' },
  }
  const schema = { response: { 200: user } }
  app.put('/v1/users/:id', { schema, config }, (_, reply) => reply.startOperation('users.update'))
  app.post('/v1/users/:id', { schema, config: { fields: config.fields } }, (_, reply) => reply.notReady(3))
  const url = '/v1/users/1'
  t.match(await app.inject({ method: 'PUT', url }), { statusCode: 202, payload: /"status":"In progress"/ })
  t.match(await app.inject({ method: 'POST', url }), { statusCode: 202, payload: /"status":"In progress"/ })
  const ended = await app.inject({ method: 'PUT', url, headers: { prefer: 'wait=10' } })
  t.match(ended.json(), { status: 'Succeeded', result: { name: 'Ada' } })
  t.notMatch(ended.payload, /salary|phone/)
})

t.test('errors are not projected: a 4xx of a handler is sent as it is', async (t) => {
  const app = Fastify()
  await app.register(fields)
  const schema = { response: { 200: user, '4xx': user } }
  app.get('/v1/users/:id', { schema, config: { fields: { hidden } } }, (_, reply) =>
    reply.code(409 as 200).send(ada),
  )
  for (const query of ['', '?fields=name']) {
    t.match((await app.inject(`/v1/users/1${query}`)).payload, '"salary":5', query)
  }
})

t.test('a predicate that throws is a 500, with the reason in the log', async (t) => {
  const logs = keepLogs('info')
  const app = await service({ hidden: { salary: () => broken() } }, undefined, logs.logger)
  const answer = injected(await app.inject('/v1/users/1'))
  isProblem(t, answer, { status: 500, code: 'internal-server-error' })
  t.match(
    logs.lines.find(({ level }) => level === levels.error),
    { err: { message: 'no such asker' } },
  )
})

t.test('a predicate that throws no error is a 500, too: nothing hidden is sent', async (t) => {
  const hidden = {
    salary: () => {
      throw undefined
    },
  }
  const app = await service({ hidden })
  t.equal((await app.inject('/v1/users/1')).statusCode, 500)
  t.equal((await app.inject('/v1/users/1?fields=name')).statusCode, 500)

  const early = await service({ hidden })
  early.addHook('preHandler', async (_, reply) => reply.send(ada))
  const answer = await early.inject('/v1/users/1')
  t.equal(answer.statusCode, 500)
  t.notMatch(answer.body, 'salary')
})

function broken(): boolean {
  throw new Error('no such asker')
}

async function writeService(
  method: 'GET' | (typeof writes)[number],
  options: FieldsRouteOptions,
  answer: (reply: FastifyReply) => unknown,
  response: object = { '2xx': user },
  logger: object | false = false,
): Promise<FastifyInstance> {
  const app = Fastify({ logger })
  await app.register(problems)
  await app.register(fields)
  await app.register(integerTwins)
  app.addHook('preHandler', async (request) => {
    request.asker = String(request.headers.asker)
  })
  const handler = (_: FastifyRequest, reply: FastifyReply) => answer(reply)
  app.route({ method, url: '/v1/users/:id', schema: { response }, config: { fields: options }, handler })
  return app
}

type Seen = (fields: FieldSelection | null) => unknown

async function service(
  options: FieldsRouteOptions,
  see: Seen = () => {},
  logger: object | false = false,
): Promise<FastifyInstance> {
  const app = Fastify({ logger })
  await app.register(problems)
  await app.register(fields)
  await app.register(integerTwins)
  app.addHook('preHandler', async (request) => {
    request.asker = String(request.headers.asker)
  })
  app.get(
    '/v1/users/:id',
    { schema: { response: { 200: user } }, config: { fields: options } },
    (request) => {
      see(request.fields)
      return ada
    },
  )
  const list = { type: 'object', properties: { users: { type: 'array', items: user } } }
  app.get('/v1/users', { schema: { response: { 200: list } }, config: { fields: options } }, () => ({
    users: [ada],
  }))
  return app
}

t.test(
  'the report names routes that hide fields and start an operation: its polls hide nothing',
  async (t) => {
    const app = Fastify()
    await app.register(fields)
    await app.register(operations)
    app.operations.define('users.update', async () => ({ result: {} }))
    const config = { fields: { hidden: { salary: true } }, operations: { starts: 'users.update' } } as const
    const schema = { response: { 200: user } }
    app.put('/v1/users/:id', { schema, config }, (_, reply) => reply.startOperation('users.update'))
    app.patch('/v1/users/:id', { schema, config: { fields: config.fields } }, () => ({}))
    await app.ready()
    t.match(app.conventions.report().exceptions, [
      { plugin: 'fields', route: 'PUT /v1/users/:id', rules: ['hidden'] },
    ])
    t.equal(app.conventions.report().exceptions.length, 1)
    await app.close()
  },
)

t.test('where a predicate hides a field, no shared cache may store a response', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(fields)
  const schema = { response: { 200: user } }
  const route = (path: string, hides: NonNullable<FieldsRouteOptions['hidden']>, cacheControl?: string) =>
    app.get(path, { schema, config: { fields: { hidden: hides } } }, async (_, reply) => {
      if (cacheControl !== undefined) reply.header('cache-control', cacheControl)
      return { name: 'Ada' }
    })
  const bySome = { salary: () => false }
  route('/v1/plain', bySome)
  route('/v1/aged', bySome, 'max-age=60')
  route('/v1/shared', bySome, 'public, max-age=60')
  route('/v1/unstored', bySome, 'no-store')
  route('/v1/same', { salary: true }, 'max-age=60')
  app.get('/v1/fetched', { schema, config: { fields: { hidden: bySome } } }, async () =>
    Response.json({ name: 'Ada' }, { headers: { 'cache-control': 'max-age=60' } }),
  )
  const rows = [
    ['/v1/plain', 'private'],
    ['/v1/aged', 'max-age=60, private'],
    ['/v1/shared', 'max-age=60, private'],
    ['/v1/unstored', 'no-store'],
    ['/v1/same', 'max-age=60'],
    ['/v1/fetched', 'max-age=60, private'],
  ] as const
  for (const [path, expected] of rows) {
    const { statusCode, headers } = await app.inject(path)
    t.equal(statusCode, 200, path)
    t.equal(headers['cache-control'], expected, path)
  }
})
