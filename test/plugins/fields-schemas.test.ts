/** Which schema is projected, and what the parameter adds to the route's own (design: what OpenAPI shows is what runs). */
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { fields } from '../../src/index.js'

const text = { type: 'string' }
const user = { type: 'object', properties: { name: text, age: { type: 'integer' } } }
const ada = { name: 'Ada', age: 36, extra: 1 }

t.test('the response schema may stand under its status, its class, or default', async (t) => {
  for (const status of ['200', '2xx', '2XX', 'default']) {
    const app = await service({ response: { [status]: user, '5xx': { type: 'object' } } })
    t.equal((await app.inject('/v1/users/1?fields=name')).payload, '{"name":"Ada"}', status)
    t.equal((await app.inject('/v1/users/1?fields=nope')).statusCode, 400, status)
  }
})

t.test('it may be one of several media types; the answer’s own is projected', async (t) => {
  const content = {
    'application/vnd.short+json': { schema: { type: 'object', properties: { age: { type: 'integer' } } } },
    'application/json': { schema: user },
  }
  const types = ['application/json', 'application/json; charset=utf-8', 'application/vnd.short+json']
  const app = Fastify()
  await app.register(fields)
  app.get<{ Querystring: { type: string } }>(
    '/v1/users/:id',
    { schema: { response: { 200: { content } } } },
    (request, reply) => reply.type(request.query.type).send(ada),
  )
  for (const type of types) {
    const { payload } = await app.inject({ url: '/v1/users/1', query: { fields: 'age,name', type } })
    t.equal(payload, type.includes('short') ? '{"age":36}' : '{"name":"Ada","age":36}', type)
  }
  const any = await service({ response: { 200: { content: { '*/*': { schema: user } } } } })
  t.equal((await any.inject('/v1/users/1?fields=age')).payload, '{"age":36}', 'any media type')
})

t.test('it may be shared, also when it is added after the route', async (t) => {
  const app = Fastify()
  await app.register(fields)
  app.addSchema({ $id: 'user', ...user })
  const list = { type: 'object', properties: { users: { type: 'array', items: { $ref: 'user#' } } } }
  app.get('/v1/users', { schema: { response: { 200: list } } }, () => ({ users: [ada] }))
  app.get('/v1/users/:id', { schema: { response: { 200: { $ref: 'user#' } } } }, () => ada)
  app.get('/v1/late/:id', { schema: { response: { 200: { $ref: 'late#' } } } }, () => ada)
  app.addSchema({ $id: 'late', ...user })
  await app.register(async (child) => {
    child.addSchema({ $id: 'own', ...user })
    child.get('/v1/child/:id', { schema: { response: { 200: { $ref: 'own#' } } } }, () => ada)
  })
  t.equal((await app.inject('/v1/users?fields=name')).payload, '{"users":[{"name":"Ada"}]}')
  for (const url of ['/v1/users/1', '/v1/late/1', '/v1/child/1']) {
    t.equal((await app.inject(`${url}?fields=name`)).payload, '{"name":"Ada"}', url)
  }
})

t.test('a schema that refers to nothing keeps the app from booting, by the name', async (t) => {
  const app = await service({
    response: { 200: { type: 'object', properties: { user: { $ref: 'nobody#' } } } },
  })
  await t.rejects(async () => app.ready(), { message: /nobody/ })
})

t.test('the parameter passes a query schema that lets no others in', async (t) => {
  const closed = {
    type: 'object',
    properties: { limit: { type: 'integer', default: 5 } },
    additionalProperties: false,
  }
  for (const options of [
    {},
    { ajv: { customOptions: { removeAdditional: false as const } } },
    { ajv: { customOptions: { coerceTypes: false as const } } },
  ]) {
    const app = Fastify(options)
    await app.register(fields)
    app.get('/v1/users/:id', { schema: { querystring: closed, response: { 200: user } } }, () => ada)
    t.equal((await app.inject('/v1/users/1?fields=name')).payload, '{"name":"Ada"}')
    t.equal((await app.inject('/v1/users/1?fields=name&fields=age')).payload, '{"name":"Ada","age":36}')
    const stranger = await app.inject('/v1/users/1?fields=name&stranger=1')
    const removes = !('ajv' in options && 'removeAdditional' in options.ajv.customOptions)
    t.equal(stranger.statusCode, removes ? 200 : 400, 'others are as welcome as before')
  }
})

t.test('defaults and coercion of the route’s own query stay', async (t) => {
  const app = Fastify()
  await app.register(fields)
  const querystring = {
    type: 'object',
    properties: {
      limit: { type: 'integer', default: 5 },
      ids: { type: 'array', items: { type: 'integer' } },
    },
  }
  const seen: unknown[] = []
  app.get('/v1/users/:id', { schema: { querystring, response: { 200: user } } }, (request) => {
    seen.push({ ...(request.query as object) })
    return ada
  })
  await app.inject('/v1/users/1?fields=name&ids=7')
  await app.inject('/v1/users/1?limit=9')
  t.strictSame(seen, [{ fields: 'name', ids: [7], limit: 5 }, { limit: 9 }])
})

t.test('a route may declare the parameter itself', async (t) => {
  const list = { type: 'object', properties: { fields: { type: 'array', items: text, description: 'mine' } } }
  const app = await service({ querystring: list, response: { 200: user } })
  t.equal((await app.inject('/v1/users/1?fields=name')).payload, '{"name":"Ada"}')
  t.equal((await app.inject('/v1/users/1?fields=name&fields=age')).payload, '{"name":"Ada","age":36}')
})

t.test('the schema object of the route is not changed', async (t) => {
  const schema = { querystring: { type: 'object', properties: {} }, response: { 200: user } }
  const before = JSON.stringify(schema)
  const app = await service(schema)
  await app.ready()
  t.equal(JSON.stringify(schema), before)
})

t.test('OpenAPI shows the parameter on GET, with the default, and nowhere else', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 't', version: '1' } } })
  await app.register(fields)
  const schema = { response: { 200: user } }
  app.get('/v1/users/:id', { schema }, () => ada)
  app.get('/v1/defaults', { schema, config: { fields: { default: ['name', 'age'] } } }, () => ada)
  app.get('/v1/off', { schema, config: { fields: false } }, () => ada)
  app.get('/v1/schemaless', () => ada)
  app.post('/v1/users', { schema }, () => ada)
  await app.ready()
  const { paths } = app.swagger() as { paths: Record<string, Record<string, { parameters?: Parameter[] }>> }
  const shown = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
      parameters
        .filter((one) => one.in === 'query')
        .map((one) => [method, path, one.name, one.description?.replace(/^.* Default/, 'Default')]),
    ),
  )
  t.strictSame(shown, [
    ['get', '/v1/users/{id}', 'fields', 'Default: all'],
    ['get', '/v1/defaults', 'fields', 'Default: name, age'],
  ])
})

interface Parameter {
  readonly in: string
  readonly name: string
  readonly description?: string
}

async function service(schema: object): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(fields)
  app.get('/v1/users/:id', { schema }, () => ada)
  return app
}
