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
  const paths = withoutReferences(app.swagger()).paths as Readonly<
    Record<string, Readonly<Record<string, never>>>
  >
  const get = at(paths, '/v1/users', 'get')
  const parameters = get.parameters as readonly { readonly name: string }[]
  const schema = { type: 'string', enum: ['json', 'xml', 'csv'] }
  t.match(
    parameters.find(({ name }) => name === 'format'),
    { in: 'query', schema, description: /precedence over Accept/ },
  )
  const { description, headers, content } = at(get, 'responses', '200')
  t.equal(description, 'Users')
  t.ok(at({ headers }, 'headers').ETag, 'the headers of caching stay')
  t.match(at({ headers }, 'headers')['Content-Disposition'], { schema: { type: 'string' } })
  const types = ['application/json', 'application/xml', 'text/xml']
  t.strictSame(Object.keys(content as object), [...types, 'text/csv'])
  t.strictSame(at({ content }, 'content', 'text/csv'), { schema: { type: 'string' } })
  const xml = at({ content }, 'content', 'application/xml', 'schema')
  t.strictSame(xml.xml, { name: 'response' })
  t.ok(at(xml, 'properties', 'users', 'items', 'properties').id_str, 'XML has the twins')
  t.strictSame(at({ content }, 'content', 'application/json', 'schema').xml, undefined)

  t.match(JSON.stringify(at(get, 'responses', '406')), 'not-acceptable')
  const ofTexts = at(paths, '/v1/texts', 'get', 'responses', '200', 'content')
  t.strictSame(Object.keys(ofTexts), ['text/plain'])

  const post = at(paths, '/v1/users', 'post')
  t.strictSame(Object.keys(at(post, 'responses', '201', 'content')), types)
  t.equal(at(post, 'responses', '204').content, undefined)
  const item = at(paths, '/v1/users/{id}', 'get')
  t.strictSame(Object.keys(at(item, 'responses', '200', 'content')), ['application/json'])
  t.notMatch(JSON.stringify(item.parameters), '"format"')
})

function at(value: object, ...path: readonly string[]): Readonly<Record<string, unknown>> {
  let found: unknown = value
  for (const name of path) found = (found as Readonly<Record<string, unknown>>)[name]
  return found as Readonly<Record<string, unknown>>
}
