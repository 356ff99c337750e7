/** The OpenAPI document shows the formats of routes that opt in. */
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import conventions, { serverOptions } from '../../../src/index.js'
import { withoutReferences } from '../../support/openapi.js'

const User = {
  type: 'object',
  properties: { id: { type: 'integer', format: 'int64' }, name: { type: 'string' } },
}

t.test('parameter, and media types of responses', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(swagger, { openapi: {} })
  await app.register(conventions, { formats: {}, responseRules: false })
  const list = { type: 'object', properties: { users: { type: 'array', items: User } } }
  const response = { 200: { description: 'Users', ...list } }
  const config = { formats: ['xml', 'csv'] as const, lists: { total: false } }
  app.get('/v1/users', { schema: { response }, config }, async () => ({ users: [] }))
  const created = { body: User, response: { 201: User, 204: { type: 'null' } } }
  app.post('/v1/users', { schema: created, config: { formats: ['xml'] } }, async () => ({}))
  app.get('/v1/users/:id', { schema: { response: { 200: User } } }, async () => ({}))
  const texts = { 200: { description: 'Texts', content: { 'text/plain': { schema: { type: 'string' } } } } }
  app.get('/v1/texts', { schema: { response: texts }, config: { formats: ['xml'] } }, async () => 'text')
  await app.ready()
  const { paths } = JSON.parse(JSON.stringify(withoutReferences(app.swagger())))
  const { parameters, responses } = paths['/v1/users'].get
  const ofFormat = { in: 'query', schema: { type: 'string', enum: ['json', 'xml', 'csv'] } }
  const parameter = parameters.find(({ name }: { readonly name: string }) => name === 'format')
  t.match(parameter, { ...ofFormat, description: /precedence over Accept/ })
  const { description, headers, content } = responses['200']
  t.equal(description, 'Users')
  t.ok(headers.ETag, 'the headers of caching stay')
  const ofText = { schema: { type: 'string' } }
  t.match(headers['Content-Disposition'], ofText)
  const types = ['application/json', 'application/xml', 'text/xml']
  t.strictSame(Object.keys(content), [...types, 'text/csv'])
  t.strictSame(content['text/csv'], ofText)
  const { schema: xml } = content['application/xml']
  t.strictSame(xml.xml, { name: 'response' })
  t.ok(xml.properties.users.items.properties.id_str, 'XML has the twins')
  t.notOk('xml' in content['application/json'].schema)
  t.match(JSON.stringify(responses['406']), 'not-acceptable')

  const typesOf = (operation: { responses: Record<string, { content: object }> }, status = '200') =>
    Object.keys(operation.responses[status]?.content ?? {})
  t.strictSame(typesOf(paths['/v1/texts'].get), ['text/plain'])
  t.strictSame(typesOf(paths['/v1/users'].post, '201'), types)
  t.strictSame(typesOf(paths['/v1/users'].post, '204'), [])
  const { get } = paths['/v1/users/{id}']
  t.strictSame(typesOf(get), ['application/json'])
  t.notMatch(JSON.stringify(get.parameters), '"format"')
})
