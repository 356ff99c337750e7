/** What the OpenAPI document says of the self alias, with the real `@fastify/swagger`. */
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { caching, integerTwins } from '../../../src/index.js'
import { selfAlias } from '../../../src/plugins/self-alias/index.js'
import { withoutReferences } from '../../support/openapi.js'

const id = { type: 'integer', format: 'int64', description: 'The user' }
const params = { type: 'object', properties: { id } }
const response = { 200: { type: 'object', properties: { id: { type: 'integer' } } } }

t.test('the document shows the alias, Content-Location and the 401', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi: {} })
  await app.register(selfAlias, { identify: () => 7, collections: ['users'] })
  await app.register(integerTwins)
  await app.register(caching)
  app.get('/v1/users/:id', { schema: { params, response } }, async (request) => request.params)
  for (const method of ['PUT', 'PATCH', 'DELETE'])
    app.route({ method, url: '/v1/users/:id', schema: { response }, handler: async () => ({}) })
  app.get('/v1/orders/:id', { schema: { params, response } }, async () => ({}))
  const members = (...names: string[]) => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  })
  const below = { params: members('id', 'page'), querystring: members('id') }
  app.get('/v1/users/:id/:page', { schema: below }, async () => ({}))
  await app.ready()
  const { paths } = JSON.parse(JSON.stringify(withoutReferences(app.swagger())))

  const own = paths['/v1/users/{id}'].get
  const ofInteger = { type: 'string', pattern: '^(?:0|-?[1-9][0-9]*)$' }
  const schema = { anyOf: [ofInteger, { type: 'string', enum: ['me', 'self'] }] }
  const description = "The user (me or self: the caller's own)"
  t.match(own.parameters, [{ name: 'id', in: 'path', required: true, description, schema }])
  const ofText = { schema: { type: 'string' } }
  const location = { headers: { 'Content-Location': ofText } }
  const challenge = { headers: { 'WWW-Authenticate': ofText } }
  t.match(own.responses, { 200: location, 304: location, 401: challenge })
  const { put, patch, delete: remove } = paths['/v1/users/{id}']
  for (const { responses } of [put, patch]) t.match(responses, { 200: location, 401: challenge })
  t.match(remove.responses, { 401: challenge })
  t.notMatch(remove.responses, { 200: location })
  const others = paths['/v1/users/{id}/{page}'].get.parameters
  const described = others.map((one: Record<string, unknown>) => [one.in, one.name, one.description])
  t.strictSame(described.filter(([place]: string[]) => place !== 'header').sort(), [
    ['path', 'id', "me or self: the caller's own"],
    ['path', 'page', undefined],
    ['query', 'id', undefined],
  ])
  t.match(paths['/v1/orders/{id}'].get.parameters[0].schema, ofInteger)

  t.equal((await app.inject('/v1/users/me')).body, '{"id":7}')
  const other = await app.inject('/v1/users/you')
  t.equal(other.statusCode, 400, 'the schema that validates is as it was')
})

t.test('the document shows the 400 for a reserved id, where it is enforced', async (t) => {
  for (const [mode, isShown] of [
    ['enforce', true],
    ['report', false],
  ] as const) {
    const app = Fastify()
    await app.register(swagger, { openapi: {} })
    await app.register(selfAlias, { identify: () => 7, collections: ['users'], mode })
    app.post('/v1/users', async () => ({}))
    app.put('/v1/users/:id', { schema: { params } }, async () => ({}))
    app.delete('/v1/users/:id', { schema: { params } }, async () => ({}))
    await app.ready()
    const { paths } = JSON.parse(JSON.stringify(withoutReferences(app.swagger())))
    const codes = (operation: { responses: Record<string, { content?: object }> }) =>
      JSON.stringify(operation.responses['400']?.content ?? {}).includes('"validation"')
    t.equal(codes(paths['/v1/users'].post), isShown, mode)
    t.equal(codes(paths['/v1/users/{id}'].put), isShown, mode)
    t.notOk(codes(paths['/v1/users/{id}'].delete), mode)
  }
})
