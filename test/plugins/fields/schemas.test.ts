/** Which schema is projected, and what the parameter adds to the route's own (design: what OpenAPI shows is what runs). */
import Fastify from 'fastify'
import t from 'tap'
import { fields } from '../../../src/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { array, bodyOf, object, text } from './one-route.js'

const user = object({ name: text, age: { type: 'integer' } })
const ada = { name: 'Ada', age: 36, extra: 1 }

t.test('the schema may be one of several media types; that of the response applies', async (t) => {
  const content = {
    'application/vnd.short+json': { schema: object({ age: { type: 'integer' } }) },
    'application/json': { schema: user },
  }
  const types = ['application/json', 'application/json; charset=utf-8', 'application/vnd.short+json']
  const app = await appOf(fields)
  app.get('/v1/users/:id', { schema: { response: { 200: { content } } } }, ({ query }, reply) =>
    reply.type((query as { readonly type: string }).type).send(ada),
  )
  for (const type of types) {
    const { payload } = await app.inject({ url: '/v1/users/1', query: { fields: 'age,name', type } })
    t.equal(payload, type.includes('short') ? '{"age":36}' : '{"name":"Ada","age":36}', type)
  }
  const any = await bodyOf('?fields=age', { content: { '*/*': { schema: user } } }, ada)
  t.equal(any, '{"age":36}', 'any media type')
})

const tag = { type: 'string', enum: ['a', 'b'] }
const limit = { type: 'integer', default: 5 }
const properties = { limit, tag: { $ref: '#/definitions/tag' } }
const closedQuery = object(properties, { definitions: { tag }, additionalProperties: false })

t.test('the parameter passes a query schema that forbids others, also a shared one', async (t) => {
  const definitions = { tag }
  const rows: Readonly<Record<string, object>> = {
    'a reference': { $ref: 'closed#' },
    'to what is added after the route': { $ref: 'late#' },
    'to a reference': { $ref: 'alias#' },
    'one of allOf': { type: 'object', allOf: [{ $ref: 'closed#' }] },
    alternatives: { type: 'object', anyOf: [{ $ref: 'closed#' }, { type: 'object', required: ['nope'] }] },
    'few members': { ...closedQuery, maxProperties: 2 },
    'names that are known': object(properties, { definitions, propertyNames: { enum: ['limit', 'tag'] } }),
  }
  for (const [about, querystring] of Object.entries(rows)) {
    for (const removeAdditional of [true, false]) {
      const app = await withPlugins(Fastify({ ajv: { customOptions: { removeAdditional } } }), fields)
      app.addSchema({ $id: 'closed', ...closedQuery })
      app.addSchema({ $id: 'alias', $ref: 'closed#' })
      const seen: unknown[] = []
      app.get('/v1/users/:id', { schema: { querystring, response: { 200: user } } }, (request) => {
        seen.push({ ...(request.query as object) })
        return ada
      })
      app.addSchema({ $id: 'late', ...closedQuery })
      const label = `${about}, ${removeAdditional ? 'removing' : 'refusing'} others`
      for (const [query, expected] of [
        ['?fields=name&tag=a', '{"name":"Ada"}'],
        ['?fields=name&fields=age', '{"name":"Ada","age":36}'],
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
})

t.test('a shared query schema with the parameter validates it', async (t) => {
  const app = await appOf(fields)
  const known = object({ fields: { type: 'string', enum: ['name'] } }, { required: ['fields'] })
  const own = { ...known, additionalProperties: false }
  app.addSchema({ $id: 'own', ...own })
  const queries = { late: { $ref: 'late#' }, own: { type: 'object', allOf: [{ $ref: 'own#' }] } }
  for (const [name, querystring] of Object.entries(queries))
    app.get(`/v1/${name}`, { schema: { querystring, response: { 200: user } } }, () => ada)
  app.addSchema({ $id: 'late', ...own })
  for (const name of Object.keys(queries)) {
    t.equal((await app.inject(`/v1/${name}?fields=name`)).payload, '{"name":"Ada"}', name)
    t.equal((await app.inject(`/v1/${name}?fields=age`)).statusCode, 400, name)
  }
})

t.test('a validator of the app gets its own schema, and not the parameter', async (t) => {
  class Query {}
  for (const querystring of [new Query(), object({ limit })]) {
    const app = await appOf(fields)
    const validated: unknown[] = []
    app.setValidatorCompiler(({ schema }) => {
      if (querystring instanceof Query) t.equal(schema, querystring)
      return (query: unknown) => {
        validated.push({ ...(query as object) })
        return { value: Object.freeze({}) }
      }
    })
    app.get('/v1/users/:id', { schema: { querystring, response: { 200: user } } }, () => ada)
    t.equal((await app.inject('/v1/users/1?fields=name&limit=5')).payload, '{"name":"Ada"}')
    t.equal((await app.inject('/v1/users/1?limit=5')).payload, '{"name":"Ada","age":36}')
    t.strictSame(validated, [{ limit: '5' }, { limit: '5' }])
  }
})

t.test('a route may declare the parameter, and its defaults and coercion stay', async (t) => {
  const app = await appOf(fields)
  const querystring = object({ limit, ids: array({ type: 'integer' }), fields: array(text) })
  const schema = { querystring, response: { 200: user } }
  const before = JSON.stringify(schema)
  const seen: object[] = []
  app.get('/v1/users/:id', { schema }, (request) => {
    seen.push({ ...(request.query as object) })
    return ada
  })
  const both = await app.inject('/v1/users/1?fields=name&fields=age&ids=7')
  t.equal(both.payload, '{"name":"Ada","age":36}')
  t.equal((await app.inject('/v1/users/1?fields=name&limit=9')).payload, '{"name":"Ada"}')
  t.match(seen, [{ ids: [7], limit: 5 }, { limit: 9 }])
  t.equal(JSON.stringify(schema), before, 'the schema object is not changed')
})
