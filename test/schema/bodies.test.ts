/** Bodies of requests and responses: what their schemas say, by status and media type, and in the OpenAPI document. */
import swagger from '@fastify/swagger'
import fc from 'fast-check'
import t from 'tap'
import { problems } from '../../src/index.js'
import {
  in30,
  nameSchemas,
  type Operation,
  openApiOf,
  operationOf,
  withOptionalBody,
  withQuery,
} from '../../src/schema/openapi.js'
import { bodyFor, mapBodies, producedTypes, responseBodies } from '../../src/schema/responses.js'
import { appOf } from '../support/app.js'
import { withoutReferences } from '../support/openapi.js'

const json = ['application/json']
const both = ['application/json', 'text/csv']
const [ok, csv, other] = [{ title: 'ok' }, { title: 'csv' }, { title: 'other' }]

t.test('the schema of a response: by status, class of statuses or default, and by media type', async (t) => {
  const content = { 'Text/CSV; header=present': { schema: csv }, '*/*': { schema: other } }
  const rows: readonly (readonly [response: unknown, status: number, schema: unknown, mediaType?: string])[] =
    [
      [{ 200: ok, '2xx': csv, default: other }, 200, ok],
      [{ 200: ok, '2XX': csv, default: other }, 201, csv],
      [{ 200: ok, '2xx': csv, Default: other }, 404, other],
      [{ 200: ok }, 404, undefined],
      [{ 200: { content } }, 200, csv, 'text/csv'],
      [{ 200: { content } }, 200, other],
      [{ 200: { content: { 'text/csv': { schema: csv } } }, default: other }, 200, other],
      [{ 200: { content: { 'application/json': {} } } }, 200, undefined],
      [null, 200, undefined],
    ]
  for (const [response, status, schema, mediaType] of rows)
    t.equal(bodyFor(responseBodies(response), status, mediaType)?.schema, schema, JSON.stringify(response))
})

t.test('mapBodies replaces the schemas of bodies, and returns the same object if none changes', async (t) => {
  const responseWith = (schema: object) => ({
    200: ok,
    201: { content: { 'text/csv': { schema, example: 1 }, 'text/plain': {} } },
  })
  const response = responseWith(csv)
  const changed = mapBodies(response, (schema) => (schema === csv ? other : schema))
  t.strictSame(changed, responseWith(other))
  const same = [response, 'text'].map((one) => mapBodies(one, (schema) => schema))
  t.ok(same[0] === response && same[1] === 'text')
})

t.test('the media types of success in a response schema', async (t) => {
  const object = { type: 'object' }
  const rows: readonly (readonly [response: unknown, produced: readonly string[] | null])[] = [
    [undefined, null],
    [{ 200: object }, json],
    [{ '2XX': object }, json],
    [{ 200: { $ref: 'user#' } }, json],
    [{ 404: object }, null],
    [{ '4xx': object, 200: object }, json],
    [{ 200: { type: 'null' } }, null],
    [{ 200: { type: 'string' }, 201: object }, null],
    [{ 202: object }, json],
    [{ 204: { description: 'Deleted' } }, null],
    [{ 205: object }, null],
    [{ 204: { type: 'null' }, default: object }, null],
    [{ 200: object, default: { content: { 'application/problem+json': { schema: object } } } }, json],
    [{ '2xx': object, default: { content: { 'text/csv': { schema: object } } } }, json],
    [{ 404: object, DEFAULT: object }, json],
    [{ 200: object, 204: { type: 'null' } }, json],
    [{ 200: { content: { 'Text/CSV; charset=utf-8': {} } } }, ['text/csv']],
    [{ 200: { content: { 'application/json': {}, 'text/csv': {} } } }, both],
    [{ 200: object, 206: { content: { 'text/csv': {} } } }, both],
    [{ 200: { content: { 'text/csv': {} } }, 202: object }, ['text/csv']],
    [{ 200: { content: { '*/*': {} } } }, null],
    [{ 200: { content: {} }, default: object }, null],
  ]
  for (const [response, produced] of rows)
    t.strictSame(producedTypes(response), produced, JSON.stringify(response))
  fc.assert(fc.property(fc.anything(), (response) => producedTypes(response)?.length !== 0))
})

const schemas = { some: { type: 'object' }, none: { type: ['object', 'null'] } }

function isRequired(...bodies: readonly unknown[]): boolean | undefined {
  const content = Object.fromEntries(bodies.map((schema, index) => [`media/${index}`, { schema }]))
  const openapi = openApiOf({ openapi: '3.1.0', components: { schemas } })
  if (openapi === null) throw new Error('no OpenAPI')
  const operation = { requestBody: { required: true, content } } as Operation
  return withOptionalBody(operation, openapi.reader).requestBody?.required
}

t.test('a body is optional if its schema allows null, for each media type', async (t) => {
  const optional = [
    {},
    true,
    { type: 'null' },
    { type: ['object', 'null'] },
    { type: 'object', nullable: true },
    { enum: ['a', null] },
    { const: null },
    { anyOf: [{ type: 'object' }, { type: 'null' }] },
    { oneOf: [{ type: 'null' }], allOf: [{}, { nullable: true }] },
    { $ref: '#/components/schemas/none' },
  ]
  for (const schema of optional) t.equal(isRequired(schema), false, JSON.stringify(schema))
  const required = [
    false,
    { type: 'object' },
    { enum: ['a'] },
    { const: 1 },
    { not: { type: 'object' } },
    { anyOf: [{ type: 'object' }, { type: 'string' }] },
    { type: ['object', 'null'], allOf: [{ type: 'object' }] },
    { $ref: '#/components/schemas/some' },
  ]
  for (const schema of required) t.equal(isRequired(schema), true, JSON.stringify(schema))
  t.equal(isRequired({ type: 'null' }, { type: 'object' }), true, 'one of the media types needs it')
  t.equal(isRequired(), true, 'no media type')
})

t.test('the document of @fastify/swagger says which bodies may be absent', async (t) => {
  const app = await appOf([swagger, { openapi: { info: { title: 't', version: '1' } } }])
  await app.register(async function inContext(context) {
    await context.register(problems)
    for (const type of ['object', ['object', 'null']]) {
      context.post(`/${type}`, { schema: { body: { type } } }, async (request) => ({ body: request.body }))
    }
  })
  await app.ready()
  const { paths = {} } = withoutReferences(app.swagger())
  const required = Object.values(paths).map((path) => path?.post?.requestBody)
  t.match(required, [{ required: true }, { required: false }])
  t.equal((await app.inject({ method: 'POST', url: '/object' })).statusCode, 400)
  t.equal((await app.inject({ method: 'POST', url: '/object,null' })).statusCode, 200)
  t.equal(app.swagger(), app.swagger(), 'the document is made once')
})

t.test('a query parameter is added to an operation unless it has one of this name', async (t) => {
  const parameters = [
    { in: 'header', name: 'fields' },
    { in: 'query', name: 'limit' },
  ]
  const type = 'string'
  const added = { fields: { type, description: 'Names' }, limit: { type } } as const
  t.strictSame(withQuery({ parameters } as never, added).parameters, [
    ...parameters,
    { in: 'query', name: 'fields', description: 'Names', schema: { type } },
  ])
  t.strictSame(withQuery({}, {}), {})
})

t.test('OpenAPI 3.0 has no list of types; Swagger 2 is not completed', async (t) => {
  const is30 = ['3.0.3', '3.1.0'].map((openapi) => openApiOf({ openapi })?.is30)
  t.strictSame([...is30, openApiOf({ swagger: '2.0' })], [true, false, null])
  t.strictSame(in30({ type: ['string', 'null'] }), { type: 'string', nullable: true })
  t.strictSame(in30({ type: ['string', 'integer'] }), { anyOf: [{ type: 'string' }, { type: 'integer' }] })
})

t.test('an operation is found without the path of a server, whose variables have defaults', async (t) => {
  const paths = { '/users/{id}': { get: {} }, '/v1/users': { get: {} } }
  const servers = [{ url: '/{area}{none}', variables: { area: { default: 'v1' } } }]
  const found = (url: string) => operationOf({ paths, servers } as never, 'GET', url)?.item
  t.equal(found('/v1/users/:id'), paths['/users/{id}'])
  t.equal(found('/v1/users'), paths['/v1/users'], 'as it stands, where the document has it so')
  t.equal(found('/v2/users'), undefined)
})

t.test('numbered schemas get their titles, and keep their number without one', async (t) => {
  const $ref = '#/components/schemas/def-0'
  const document = { components: { schemas: { 'def-0': { title: 'A user' }, 'def-1': { items: { $ref } } } } }
  nameSchemas(document as never)
  const items = { $ref: '#/components/schemas/A-user' }
  t.strictSame(document.components.schemas as object, { 'A-user': { title: 'A user' }, 'def-1': { items } })
})
