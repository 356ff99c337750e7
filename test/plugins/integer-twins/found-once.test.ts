/** Faults that tests found once in integer twins. */
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { fields, integerTwins } from '../../../src/index.js'
import type { Json } from '../../../src/schema/json-schema.js'
import { ourWriter } from '../../schema/compiled.js'

const id = { type: 'integer', format: 'int64' }
const text = { type: 'string' }
const idOrText = { anyOf: [id, text] }
const big = 9_007_199_254_740_993n
const ids = { type: 'array', items: id }
const integer = { type: 'integer' }
const orNull = { anyOf: [id, { type: 'null' }] }
const nullOrIds = { oneOf: [{ type: 'null' }, ids] }
const open = { additionalProperties: true }
const exact = '{"id":9007199254740993,"id_str":"9007199254740993"}'
const five = '{"id":5,"id_str":"5"}'
type Row = readonly [about: string, properties: Json, value: unknown, json: string, more?: object]
const rows: readonly Row[] = [
  ['a twin of its own: one key', { id }, { id: 5n, id_str: '5', x: 1 }, '{"id":5,"id_str":"5","x":1}', open],
  ['by a pattern', { id }, { id: 5n, id_str: '5' }, five, { patternProperties: { _str$: text } }],
  ['a default has its twin', { id: { ...id, default: 5 } }, {}, five],
  // An array that is not nullable.
  ['null for an array: both are []', { ids }, { ids: null }, '{"ids":[],"ids_str":[]}'],
  ['null by an alternative, as by a type', { id: orNull }, { id: null }, '{"id":null,"id_str":null}'],
  ['an array that is null', { ids: nullOrIds }, { ids: null }, '{"ids":null,"ids_str":null}'],
  // A declared twin of what may be text gives way to that of an integer, and of a default.
  ['of an integer', { id_str: text, id: idOrText }, { id: big, id_str: 'mine' }, exact, { required: ['id'] }],
  ['of a default', { id: { ...idOrText, default: 5 }, id_str: text }, { id_str: 'mine' }, five],
  // One that is not declared stays beside a text and a small integer, and gives way to the digits of a large one.
  ['a text', { id: idOrText }, { id: 'abc', id_str: 'mine' }, '{"id":"abc","id_str":"mine"}', open],
  ['a large one', { id: integer }, { id: big, id_str: 'mine' }, exact, open],
  ['a small one', { id: integer }, { id: 5, id_str: 'mine' }, '{"id":5,"id_str":"mine"}', open],
]
t.test('a twin is written once, with the digits of its number', async (t) => {
  for (const [about, properties, value, json, more] of rows)
    t.equal(ourWriter({ type: 'object', properties, ...more }, { twins: true })(value), json, about)
})

const schema = (properties: object) => ({ response: { 200: { type: 'object', properties } } })

t.test('a declared twin is hidden with its number', async (t) => {
  const properties = { id: idOrText, id_str: text, name: text }
  const hiding = Fastify()
  await hiding.register(fields)
  await hiding.register(integerTwins)
  const config = { fields: { hidden: { id: true } } } as const
  hiding.get('/v1/users/:id', { schema: schema(properties), config }, () => ({
    id: 'abc',
    id_str: 'mine',
    name: 'Ada',
  }))
  t.equal((await hiding.inject('/v1/users/1')).payload, '{"name":"Ada"}')
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
