/** Which schema is projected, and what the parameter adds to the route's own (design: what OpenAPI shows is what runs). */
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { fields } from '../../../src/index.js'
import { withoutReferences } from '../../support/openapi.js'
import { array, object, oneRoute, text } from './one-route.js'

const user = object({ name: text, age: { type: 'integer' } })
const ada = { name: 'Ada', age: 36, extra: 1 }
const service = (schema: object) => oneRoute(schema, ada)

t.test('the schema may be one of several media types; that of the response applies', async (t) => {
  const content = {
    'application/vnd.short+json': { schema: object({ age: { type: 'integer' } }) },
    'application/json': { schema: user },
  }
  const types = ['application/json', 'application/json; charset=utf-8', 'application/vnd.short+json']
  const app = Fastify()
  await app.register(fields)
  app.get('/v1/users/:id', { schema: { response: { 200: { content } } } }, ({ query }, reply) =>
    reply.type((query as { readonly type: string }).type).send(ada),
  )
  for (const type of types) {
    const { payload } = await app.inject({ url: '/v1/users/1', query: { fields: 'age,name', type } })
    t.equal(payload, type.includes('short') ? '{"age":36}' : '{"name":"Ada","age":36}', type)
  }
  const any = await service({ response: { 200: { content: { '*/*': { schema: user } } } } })
  t.equal((await any.inject('/v1/users/1?fields=age')).payload, '{"age":36}', 'any media type')
})

t.test('the schema may be shared in a child context', async (t) => {
  const app = Fastify()
  await app.register(fields)
  await app.register(async (child) => {
    child.addSchema({ $id: 'own', ...user })
    child.get('/v1/child/:id', { schema: { response: { 200: { $ref: 'own#' } } } }, () => ada)
  })
  t.equal((await app.inject('/v1/child/1?fields=name')).payload, '{"name":"Ada"}')
})

t.test('an unresolved reference fails the boot, with its name', async (t) => {
  const app = await service({ response: { 200: object({ user: { $ref: 'nobody#' } }) } })
  await t.rejects(async () => app.ready(), { message: /nobody/ })
})

const tag = { type: 'string', enum: ['a', 'b'] }
const limit = { type: 'integer', default: 5 }
const properties = { limit, tag: { $ref: '#/definitions/tag' } }
const closedQuery = object(properties, { definitions: { tag }, additionalProperties: false })

t.test(
  'the parameter passes a shared query schema that forbids others, for all forms of reference',
  async (t) => {
    const definitions = { tag }
    const rows: Readonly<Record<string, object>> = {
      'a reference': { $ref: 'closed#' },
      'a reference into a document': { $ref: 'parts#/definitions/closed' },
      'to what is added after the route': { $ref: 'late#' },
      'to a reference': { $ref: 'alias#' },
      'a reference with a word beside it': { $ref: 'closed#', description: 'of lists' },
      'one of allOf': { type: 'object', allOf: [{ $ref: 'closed#' }] },
      'one of allOf that is added after the route': { type: 'object', allOf: [{ $ref: 'later#' }] },
      alternatives: { type: 'object', anyOf: [{ $ref: 'closed#' }, { type: 'object', required: ['nope'] }] },
      'few members': { ...closedQuery, maxProperties: 2 },
      'names that are known': object(properties, { definitions, propertyNames: { enum: ['limit', 'tag'] } }),
    }
    for (const [about, querystring] of Object.entries(rows)) {
      for (const removeAdditional of [true, false]) {
        const app = Fastify({ ajv: { customOptions: { removeAdditional } } })
        await app.register(fields)
        app.addSchema({ $id: 'closed', ...closedQuery })
        app.addSchema({ $id: 'alias', $ref: 'closed#' })
        app.addSchema({ $id: 'parts', definitions: { closed: closedQuery, tag } })
        const seen: unknown[] = []
        app.get('/v1/users/:id', { schema: { querystring, response: { 200: user } } }, (request) => {
          seen.push({ ...(request.query as object) })
          return ada
        })
        for (const $id of ['late', 'later']) app.addSchema({ $id, ...closedQuery })
        const label = `${about}, ${removeAdditional ? 'removing' : 'refusing'} others`
        for (const [query, expected] of [
          ['?fields=name&tag=a', '{"name":"Ada"}'],
          ['?fields=name&fields=age', '{"name":"Ada","age":36}'],
          ['?fields=nope', 400],
          ['?tag=nope', 400],
          ['', '{"name":"Ada","age":36}'],
        ] as const) {
          const { statusCode, payload } = await app.inject(`/v1/users/1${query}`)
          t.equal(expected === 400 ? statusCode : payload, expected, `${label}: ${query}`)
        }
        t.match(seen[0], { fields: undefined, tag: 'a' }, `${label}: the parameter is not in the query`)
        if (about === 'a reference')
          t.match(seen, [{ limit: 5 }, { limit: 5 }, { limit: 5 }], 'with its defaults')
      }
    }
  },
)

t.test('a shared query schema with the parameter validates it', async (t) => {
  const only = object({ fields: { type: 'string', enum: ['name'] } })
  const own = { ...only, required: ['fields'], additionalProperties: false }
  for (const querystring of [
    { $ref: 'own#' },
    { $ref: 'late#' },
    { type: 'object', allOf: [{ $ref: 'own#' }] },
  ]) {
    const app = Fastify()
    await app.register(fields)
    app.addSchema({ $id: 'own', ...own })
    app.get('/v1/users/:id', { schema: { querystring, response: { 200: user } } }, () => ada)
    app.addSchema({ $id: 'late', ...own })
    const label = JSON.stringify(querystring)
    t.equal((await app.inject('/v1/users/1?fields=name')).payload, '{"name":"Ada"}', label)
    t.equal((await app.inject('/v1/users/1?fields=age')).statusCode, 400, label)
    t.equal((await app.inject('/v1/users/1')).statusCode, 400, label)
  }
})

t.test('the parameter passes another validator, also one that removes unknown parameters', async (t) => {
  class Query {
    readonly known = ['limit']
  }
  const app = Fastify()
  await app.register(fields)
  app.setValidatorCompiler(() => ({ limit }: Record<string, unknown>) => ({
    value: Object.freeze({ limit }),
  }))
  app.get('/v1/users/:id', { schema: { querystring: new Query(), response: { 200: user } } }, () => ada)
  t.equal((await app.inject('/v1/users/1?fields=name&limit=5')).payload, '{"name":"Ada"}')
  t.equal((await app.inject('/v1/users/1?limit=5')).payload, '{"name":"Ada","age":36}')
})

t.test('a route may declare the parameter, and its defaults and coercion stay', async (t) => {
  const app = Fastify()
  await app.register(fields)
  const querystring = object({ limit, ids: array({ type: 'integer' }), fields: array(text) })
  const seen: object[] = []
  app.get('/v1/users/:id', { schema: { querystring, response: { 200: user } } }, (request) => {
    seen.push({ ...(request.query as object) })
    return ada
  })
  const both = await app.inject('/v1/users/1?fields=name&fields=age&ids=7')
  t.equal(both.payload, '{"name":"Ada","age":36}')
  t.equal((await app.inject('/v1/users/1?fields=name&limit=9')).payload, '{"name":"Ada"}')
  t.match(seen, [{ ids: [7], limit: 5 }, { limit: 9 }])
})

t.test('the schema object of the route is not changed', async (t) => {
  const schema = { querystring: { type: 'object', properties: {} }, response: { 200: user } }
  const before = JSON.stringify(schema)
  const app = await service(schema)
  await app.ready()
  t.equal(JSON.stringify(schema), before)
})

t.test('OpenAPI shows the parameter where it works, with the default, and nowhere else', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 't', version: '1' } } })
  await app.register(fields)
  app.addSchema({ $id: 'user', ...user })
  app.addSchema({ $id: 'closed', ...object({ limit: { type: 'integer' } }, { additionalProperties: false }) })
  const shows: Readonly<Record<string, object>> = {
    item: { response: { 200: user } },
    shared: { response: { 200: { $ref: 'user#' } } },
    late: { response: { 200: { $ref: 'late#' } } },
    class: { response: { '2XX': user } },
    default: { response: { default: user } },
    parts: { response: { 200: { allOf: [{ $ref: 'user#' }, { type: 'object', required: ['name'] }] } } },
    alternatives: { response: { 200: { oneOf: [{ type: 'null' }, { $ref: 'user#' }] } } },
    array: { response: { 200: array({ $ref: 'user#' }) } },
    lists: { response: { 200: object({ lists: array({ $ref: 'user#' }) }) } },
    items: { response: { 200: array(array(user)) } },
    'not-their-name': { response: { 200: object({ users: array(text) }) } },
    media: { response: { 200: { content: { 'application/json': { schema: user } } } } },
    any: { response: { 200: { content: { '*/*': { schema: user } } } } },
    closed: { querystring: { $ref: 'closed#' }, response: { 200: user } },
  }
  const showsNot: Readonly<Record<string, object>> = {
    'no-schema': {},
    'no-response': { querystring: { type: 'object' } },
    errors: { response: { 404: user, '4xx': user, '5xx': user } },
    created: { response: { 201: user } },
    accepted: { response: { 202: user } },
    empty: { response: { 204: { type: 'null' } } },
    text: { response: { 200: text } },
    nothing: { response: { 200: {} } },
    tuple: { response: { 200: { type: 'array', items: [user] } } },
    map: { response: { 200: { type: 'object', additionalProperties: text } } },
    numbers: { response: { 200: array({ type: 'integer' }) } },
    tags: { response: { 200: object({ tags: array(text) }) } },
    csv: { response: { 200: { content: { 'text/csv': { schema: user } } } } },
    short: { response: { 200: { content: { 'application/vnd.short+json': { schema: user } } } } },
  }
  for (const [name, schema] of Object.entries({ ...shows, ...showsNot }))
    app.get(`/${name}`, { schema }, () => ada)
  const schema = { response: { 200: user } }
  app.get('/chosen', { schema, config: { fields: { default: ['name', 'age'] } } }, () => ada)
  app.get('/off', { schema, config: { fields: false } }, () => ada)
  app.get('/mode-off', { schema, config: { fields: { mode: 'off' } } }, () => ada)
  app.get('/report', { schema, config: { fields: { mode: 'report' } } }, () => ada)
  app.get('/own-serializer', { schema, serializerCompiler: () => JSON.stringify }, () => ada)
  app.post('/item', { schema }, () => ada)
  app.addSchema({ $id: 'late', ...user })
  await app.ready()
  const { paths } = withoutReferences(app.swagger()) as {
    paths: Record<string, Record<string, { parameters?: Parameter[] }>>
  }
  const shown = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]) => {
      const own = parameters.filter((one) => one.in === 'query' && one.name === 'fields')
      return own.map(({ description }) => [method, path, description?.replace(/^.* Default/, 'Default')])
    }),
  )
  t.strictSame(shown, [
    ...Object.keys(shows).map((name) => ['get', `/${name}`, 'Default: all']),
    ['get', '/chosen', 'Default: name, age'],
    ['get', '/own-serializer', 'Default: all'],
  ])
  for (const name of Object.keys(shows)) {
    t.equal((await app.inject(`/${name}?fields=nope`)).statusCode, 400, `${name} selects`)
  }
  for (const name of Object.keys(showsNot)) {
    t.not((await app.inject(`/${name}?fields=nope`)).statusCode, 400, `${name} does not`)
  }
})

interface Parameter {
  readonly in: string
  readonly name: string
  readonly description?: string
}
