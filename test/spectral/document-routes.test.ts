import t from 'tap'
import { documentLinter } from '../../src/spectral/document-findings.js'
import { documentRoutes, openApiPath } from '../../src/spectral/document-routes.js'

t.test('operations as routes of Fastify, with references of schemas by name', (t) => {
  const user = { type: 'object', properties: { friend: { $ref: '#/components/schemas/a~1user' } } }
  const content = {
    'application/json': { schema: { $ref: '#/components/schemas/a~1user/properties/friend' } },
  }
  const document = {
    openapi: '3.1.0',
    servers: [{ url: 'https://{region}.api.test:8443/api?x' }],
    paths: {
      '/v1/users/{user-id}:check': { get: { responses: { 200: { content } } } },
      '/v1/nobody': { $ref: '#/paths/nowhere', 'x-internal': {} },
    },
    components: { schemas: { 'a/user': user, any: true } },
  }
  const { routes, schemas } = documentRoutes(document)
  t.strictSame(routes, [
    {
      method: 'GET',
      path: '/api/v1/users/:user_id::check',
      response: {
        200: { content: { 'application/json': { schema: { $ref: 'a~1user#/properties/friend' } } } },
      },
      query: [],
      location: ['paths', '/v1/users/{user-id}:check', 'get'],
    },
  ])
  t.match(schemas['a~1user'], { $id: 'a~1user', properties: { friend: { $ref: 'a~1user#' } } })
  t.end()
})

t.test('a reference whose encoding is malformed leads to nothing', (t) => {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/50%' } } }
  const get = { parameters: [{ $ref: '#/components/parameters/50%' }], responses: { 200: { content } } }
  const document = { openapi: '3.1.0', paths: { '/v1/users': { get } } }
  const [route] = documentRoutes(document).routes
  t.strictSame(route?.query, [])
  t.strictSame(route?.response, { 200: { content: { 'application/json': { schema: { $ref: '50%#' } } } } })
  t.strictSame(documentLinter({}).find(document), [])
  t.end()
})

t.test('a path in the notation of OpenAPI', (t) => {
  t.equal(openApiPath('POST /v1/users/:id/check::now'), 'POST /v1/users/{id}/check:now')
  t.end()
})
