/** Which schemas the twins are written by, and that OpenAPI shows them. */
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins } from '../../../src/index.js'
import type { Content } from '../../../src/schema/openapi.js'
import { documentOf } from '../../support/openapi.js'
import { int64 as id, objectOf as object } from './input/support.js'

const big = 9_007_199_254_740_993n
const openapi = { openapi: '3.1.0', info: { title: 't', version: '1' } }
const refResolver = { buildLocalReference: ({ $id }: { readonly $id?: unknown }) => String($id) }

t.test('a response schema that cannot be read is in the boot report, also a reference', async (t) => {
  const tuple = object({ ids: { type: 'array', items: [id] } })
  const rows: readonly (readonly [schema: object, reason: RegExp])[] = [
    [tuple, /a tuple holds 64-bit integers/],
    [{ $ref: 'tuple#' }, /a tuple holds 64-bit integers/],
    [{ anyOf: [{ type: 'null' }, { $ref: 'tuple#' }] }, /a tuple holds 64-bit integers/],
  ]
  for (const [schema, reason] of rows) {
    const app = Fastify()
    await app.register(integerTwins)
    app.addSchema({ $id: 'tuple', ...tuple })
    app.get('/v1/users/:id', { schema: { response: { 200: schema } } }, () => ({ ids: [5] }))
    await app.ready()
    const exceptions = app.conventions.report().exceptions.filter(({ plugin }) => plugin === 'integerTwins')
    t.match(exceptions, [{ route: 'GET /v1/users/:id', reason, declared: false }], JSON.stringify(schema))
    t.equal((await app.inject('/v1/users/1')).payload, '{"ids":[5]}', 'Fastify writes the answer')
  }
})

t.test('OpenAPI shows the twins after their numbers; integers of a path or a query are texts', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi, refResolver })
  await app.register(integerTwins)
  app.addSchema({ $id: 'user', ...object({ id, name: { type: 'string' }, friend: { $ref: 'user#' } }) })
  const users = { type: 'array', items: { $ref: 'user#' } }
  const list = object({ users, friend_ids: { type: 'array', items: id }, total: { type: 'integer' } })
  app.get('/v1/users', { schema: { response: { 200: list } } }, () => ({}))
  const querystring = object({ before_id: id, name: { type: 'string' } })
  const schema = { headers: object({ 'x-id': id }), params: object({ id }), querystring }
  app.get('/v1/users/:id', { schema }, () => ({}))
  const { paths = {}, components } = await documentOf(app)
  const shown = jsonOf(paths['/v1/users']?.get?.responses?.['200'])?.properties
  t.strictSame(Object.keys(shown ?? {}), ['users', 'friend_ids', 'friend_ids_str', 'total'])
  const { parameters = [] } = paths['/v1/users/{id}']?.get ?? {}
  const digits = { type: 'string', pattern: '^(?:0|-?[1-9][0-9]*)$' }
  const texts = { before_id: digits, name: { type: 'string' }, id: digits, 'x-id': id }
  t.match(Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])), texts)
  const component = components?.schemas?.user as Schema
  t.strictSame(Object.keys(component.properties ?? {}), ['id', 'id_str', 'name', 'friend'])
})

t.test('OpenAPI shows twins of later schemas; a body needs an integer or its twin', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi, refResolver })
  await app.register(integerTwins)
  const late = object({ id: { $ref: 'late#' }, name: {} }, { required: ['id', 'name'] })
  const answer = () => ({ id: big, name: 'Ada' })
  app.post('/v1/late', { schema: { body: late, response: { 200: late } } }, answer)
  const kept = object({ id }, { required: ['id'] })
  app.addSchema({ $id: 'kept', ...kept })
  app.post('/v1/kept', { schema: { body: kept, response: { 200: { $ref: 'kept#' } } } }, () => ({ id: 5 }))
  app.addSchema({ $id: 'late', ...id })
  const { paths = {}, components } = await documentOf(app)
  const { requestBody, responses } = paths['/v1/late']?.post ?? {}
  const [input, output] = [jsonOf(requestBody), jsonOf(responses?.['200'])]
  t.strictSame(output?.required, ['id', 'id_str', 'name'], 'the twin of what is required is required')
  t.match(input?.properties?.id_str, { maxLength: 20 })
  t.strictSame(input?.required, ['name'])
  t.strictSame(input?.allOf, [{ anyOf: [{ required: ['id'] }, { required: ['id_str'] }] }])
  const bothWays = components?.schemas?.kept as Schema | undefined
  t.strictSame(bothWays?.required, ['id'], 'nothing is added to what bodies may share')
  for (const own of [{ id: 5 }, { id_str: '5' }]) {
    const payload = { ...own, name: 'Ada' }
    t.equal((await app.inject({ method: 'POST', url: '/v1/late', payload })).statusCode, 200)
  }
})

t.test('a required twin is for clients: the serializer of the app does not need it', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi })
  await app.register(integerTwins)
  const required = object({ id, name: { type: 'string' } }, { required: ['id', 'name'] })
  app.get('/v1/texts/:id', { schema: { response: { 200: required } } }, (_, reply) =>
    reply.send({ id: 5, name: String(reply.serialize({ id: 5, name: 'Ada' })) }),
  )
  t.equal((await app.inject('/v1/texts/1')).statusCode, 200)
})

interface Schema {
  readonly required?: readonly string[]
  readonly allOf?: readonly object[]
  readonly properties?: Readonly<Record<string, object>>
}

const jsonOf = (body?: { readonly content?: Content }) =>
  body?.content?.['application/json']?.schema as Schema | undefined
