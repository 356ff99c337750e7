import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { problems } from '../../src/index.js'
import { type Operation, openApiOf, withOptionalBody } from '../../src/schema/openapi.js'
import { withoutReferences } from '../support/openapi.js'

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
  const app = Fastify()
  await app.register(swagger, { openapi: { info: { title: 't', version: '1' } } })
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
