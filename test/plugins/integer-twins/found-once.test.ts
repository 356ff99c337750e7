/** Faults that tests found once in integer twins. */
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { fields, integerTwins } from '../../../src/index.js'

const id = { type: 'integer', format: 'int64' }
const text = { type: 'string' }
const schema = (properties: object) => ({ response: { 200: { type: 'object', properties } } })

t.test('a declared twin is hidden with its number', async (t) => {
  const properties = { id: { anyOf: [id, text] }, id_str: text, name: text }
  const hiding = Fastify()
  await hiding.register(fields)
  await hiding.register(integerTwins)
  const config = { fields: { hidden: { id: true } } } as const
  const user = { id: 'abc', id_str: 'mine', name: 'Ada' }
  hiding.get('/v1/users/:id', { schema: schema(properties), config }, () => user)
  t.equal((await hiding.inject('/v1/users/1')).payload, '{"name":"Ada"}')
})

t.test('schemas that a child context shares have twins, also in OpenAPI', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 't', version: '1' } } })
  await app.register(integerTwins)
  await app.register(async (child) => {
    child.addSchema({ $id: 'kid', type: 'object', properties: { id } })
    child.get('/k', { schema: { response: { 200: { $ref: 'kid#' } } } }, () => ({ id: 1 }))
  })
  await app.ready()
  t.match(JSON.stringify(app.swagger()), '"id_str"')
  t.equal((await app.inject('/k')).payload, '{"id":1,"id_str":"1"}')
})

t.test('if a schema cannot be read, Fastify writes the response, without undeclared members', async (t) => {
  // More combinations than are told apart.
  const parts = ['a', 'b', 'c'].map((name) => ({
    type: 'object',
    anyOf: Array.from({ length: 7 }, () => ({ type: 'object', properties: { [name]: text } })),
  }))
  for (const payload of [
    { a: '1234567890123456', b: 'b', password: 'SECRET' },
    { a: 'a', b: 5n, password: 'SECRET' },
  ]) {
    const app = Fastify()
    await app.register(integerTwins)
    app.get('/x', { schema: { response: { 200: { allOf: parts } } } }, (_, reply) => reply.send(payload))
    t.notMatch((await app.inject('/x')).payload, 'SECRET')
  }
})

t.test('if an onSend hook fails, the error handler of the app sends the response', async (t) => {
  const app = Fastify()
  await app.register(integerTwins)
  app.setErrorHandler<Error>((error, _, reply) => reply.code(418).send({ mine: error.message }))
  let failed = false
  app.addHook('onSend', async () => {
    if (failed) return
    failed = true
    throw new Error('late')
  })
  app.get('/x', { schema: schema({ id }) }, () => ({ id: 5 }))
  const answer = await app.inject('/x')
  t.strictSame([answer.statusCode, answer.payload], [418, '{"mine":"late"}'])
})
