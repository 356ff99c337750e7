/** Faults that tests found once in integer twins. */
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { fields, integerTwins } from '../../../src/index.js'
import { exactJson } from '../../../src/json/exact-json.js'
import type { Json } from '../../../src/schema/json-schema.js'
import { ourWriter } from '../../schema/compiled.js'

const id = { type: 'integer', format: 'int64' }
const text = { type: 'string' }
const idOrText = { anyOf: [id, text] }
const big = 9_007_199_254_740_993n
const rows: readonly (readonly [id: string, schema: object, value: unknown, json: string])[] = [
  [
    'a twin of the handler’s own beside a declared one: one key',
    { properties: { id }, additionalProperties: true },
    { id: 5n, id_str: '5', x: 1 },
    '{"id":5,"id_str":"5","x":1}',
  ],
  [
    'the same by a pattern',
    { properties: { id }, patternProperties: { _str$: { type: 'string' } } },
    { id: 5n, id_str: '5' },
    '{"id":5,"id_str":"5"}',
  ],
  ['a default has its twin', { properties: { id: { ...id, default: 5 } } }, {}, '{"id":5,"id_str":"5"}'],
  [
    'null for an array that is not nullable: both are []',
    { properties: { ids: { type: 'array', items: id } } },
    { ids: null },
    '{"ids":[],"ids_str":[]}',
  ],
  [
    'null by an alternative has a twin null, as by a type',
    { properties: { id: { anyOf: [id, { type: 'null' }] } } },
    { id: null },
    '{"id":null,"id_str":null}',
  ],
  [
    'an array that is null by an alternative, too',
    { properties: { ids: { oneOf: [{ type: 'null' }, { type: 'array', items: id }] } } },
    { ids: null },
    '{"ids":null,"ids_str":null}',
  ],
  [
    'a declared twin of what may be text gives way to that of an integer',
    { properties: { id_str: text, id: idOrText }, required: ['id'] },
    { id: big, id_str: 'mine' },
    '{"id":9007199254740993,"id_str":"9007199254740993"}',
  ],
  [
    'and to that of a default',
    { properties: { id: { ...idOrText, default: 5 }, id_str: text } },
    { id_str: 'mine' },
    '{"id":5,"id_str":"5"}',
  ],
  [
    'one that is not declared stays beside a text',
    { properties: { id: idOrText }, additionalProperties: true },
    { id: 'abc', id_str: 'mine' },
    '{"id":"abc","id_str":"mine"}',
  ],
  [
    'a twin of the handler’s own beside a large integer without a format: one key, with its digits',
    { properties: { id: { type: 'integer' } }, additionalProperties: true },
    { id: big, id_str: 'mine', x: 1 },
    '{"id":9007199254740993,"id_str":"9007199254740993","x":1}',
  ],
  [
    'beside a small one it stays',
    { properties: { id: { type: 'integer' } }, additionalProperties: true },
    { id: 5, id_str: 'mine' },
    '{"id":5,"id_str":"mine"}',
  ],
]
for (const [about, schema, value, json] of rows) {
  t.test(about, async (t) =>
    t.equal(ourWriter({ type: 'object', ...schema } as Json, { twins: true })(value), json),
  )
}

t.test('a declared twin is hidden with its number', async (t) => {
  const properties = { id: idOrText, id_str: text, name: text }
  const hiding = Fastify()
  await hiding.register(fields)
  await hiding.register(integerTwins)
  hiding.get(
    '/v1/users/:id',
    {
      schema: { response: { 200: { type: 'object', properties } } },
      config: { fields: { hidden: { id: true } } },
    },
    () => ({ id: 'abc', id_str: 'mine', name: 'Ada' }),
  )
  t.equal((await hiding.inject('/v1/users/1')).payload, '{"name":"Ada"}')
})

t.test('the twin of an undeclared array: digits, or null for items that are not integers', async (t) => {
  t.equal(exactJson({ a: ['5', big] }, true), `{"a":["5",${big}],"a_str":[null,"${big}"]}`)
  t.equal(exactJson({ a: [1e21, big] }, true), `{"a":[1e+21,${big}],"a_str":[null,"${big}"]}`)
})

t.test('shared schemas of a child context are completed', async (t) => {
  const app = Fastify()
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 't', version: '1' } } })
  await app.register(integerTwins)
  await app.register(async (child) => {
    child.addSchema({ $id: 'kid', type: 'object', properties: { id } })
    child.get('/k', { schema: { response: { 200: { $ref: 'kid#' } } } }, () => ({ id: 1 }))
  })
  await app.ready()
  t.match(JSON.stringify(app.swagger()), '"id_str"')
})

t.test(
  'with a schema that cannot be read, Fastify writes the response, without undeclared members',
  async (t) => {
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
  },
)

const schema = (properties: object) => ({ response: { 200: { type: 'object', properties } } })

t.test('a serializer for all replies keeps its output, with long digits too', async (t) => {
  const app = Fastify()
  await app.register(integerTwins)
  app.setReplySerializer((payload) => `<card>${(payload as { card: string }).card}</card>`)
  app.get('/digits', (_, reply) => reply.type('application/json').send({ card: '1234567890123456' }))
  app.get('/wide', { schema: schema({ id, card: { type: 'string' } }) }, () => ({ id: 1, card: '5' }))
  t.equal((await app.inject('/digits')).payload, '<card>1234567890123456</card>')
  t.equal((await app.inject('/wide')).payload, '<card>5</card>')
})

t.test('a serializer compiler keeps its output, also for schemas that are not JSON Schema', async (t) => {
  class OtherSchema {
    readonly type = 'object'
  }
  const app = Fastify()
  await app.register(integerTwins)
  app.setSerializerCompiler(() => (payload) => JSON.stringify({ wrapped: payload }))
  const card = { card: '1234567890123456' }
  app.get('/other', { schema: { response: { 200: new OtherSchema() } } }, () => card)
  app.get('/json', { schema: schema({ card: { type: 'string' } }) }, () => card)
  app.get(
    '/media',
    { schema: { response: { 200: { content: { 'application/json': { schema: { type: 'object' } } } } } } },
    (_, reply) => reply.send({ a: 1 }),
  )
  t.equal((await app.inject('/other')).payload, '{"wrapped":{"card":"1234567890123456"}}')
  t.equal((await app.inject('/json')).payload, '{"wrapped":{"card":"1234567890123456"}}')
  t.equal((await app.inject('/media')).payload, '{"wrapped":{"a":1}}')
})

t.test(
  'if an onSend hook fails after serialization, the app’s error handler sends the response',
  async (t) => {
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
  },
)
