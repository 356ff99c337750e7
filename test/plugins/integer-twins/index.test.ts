/** Integer twins of answers. In which places twins stand is told in test/json. */
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import t from 'tap'
import { fields, integerTwins, problems } from '../../../src/index.js'
import { appOf, withPlugins } from '../../support/app.js'
import { keepLogs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'
import { isUntouched, unwritten } from '../../support/untouched.js'
import { int64 as id, objectOf as object, type Schema } from './input/support.js'

const big = 9_007_199_254_740_993n
const twinned = `{"id":${big},"id_str":"${big}"}`
const text = { type: 'string' }
const one = '/v1/users/1'

/** An app with one item. */
async function service(properties: Schema, answer: () => unknown, logger: object | false = false) {
  const app = await withPlugins(Fastify({ logger }), problems, fields, integerTwins)
  const schema = { response: { 200: object(properties) } }
  app.get('/v1/users/:id', { schema }, answer)
  return app
}

t.test('responses of all methods and statuses with JSON have twins, with a schema and without', async (t) => {
  const app = await appOf(integerTwins)
  app.addSchema({ $id: 'user', ...object({ id }) })
  const method = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
  const handler = (request: FastifyRequest, reply: FastifyReply) =>
    reply.code(Number((request.params as { code: string }).code)).send({ id: big })
  const schemas = [object({ id }), { $ref: 'user#' }, object({ id: { type: 'integer' } }), null]
  for (const [index, schema] of schemas.entries()) {
    const response = schema === null ? {} : { response: { '2xx': schema, '4xx': schema } }
    app.route({ method: [...method], url: `/v1/${index}/:code`, schema: response, handler })
  }
  for (const index of schemas.keys()) {
    for (const code of [200, 201, 202, 404])
      for (const one of method) {
        const { statusCode, payload } = await app.inject({ method: one, url: `/v1/${index}/${code}` })
        t.strictSame([statusCode, payload], [code, twinned], `${one} ${code}, schema ${index}`)
      }
    const { headers } = await app.inject({ method: 'HEAD', url: `/v1/${index}/200` })
    t.equal(headers['content-length'], String(twinned.length), `by HEAD, schema ${index}`)
  }
})

t.test('a declared twin is hidden with its number', async (t) => {
  const app = await appOf(fields, integerTwins)
  const config = { fields: { hidden: { id: true } } } as const
  const schema = { response: { 200: object({ id: { anyOf: [id, text] }, id_str: text, name: text }) } }
  app.get('/v1/users/:id', { schema, config }, () => ({ id: 'abc', id_str: 'mine', name: 'Ada' }))
  t.equal((await app.inject(one)).payload, '{"name":"Ada"}')
})

t.test('if a schema cannot be read, Fastify writes the response, and the boot report lists it', async (t) => {
  const tuple = object({ ids: { type: 'array', items: [id] } })
  const isTuple = /a tuple holds 64-bit integers/
  const ids = { ids: [5] }
  // More combinations than are told apart.
  const parts = ['a', 'b', 'c'].map((name) => ({
    ...object({}),
    anyOf: Array.from({ length: 7 }, () => object({ [name]: text })),
  }))
  const rows: readonly (readonly [schema: object, reason: RegExp, payload: object, body: RegExp])[] = [
    [tuple, isTuple, ids, /^\{"ids":\[5\]\}$/],
    [{ $ref: 'tuple#' }, isTuple, ids, /^\{"ids":\[5\]\}$/],
    [{ anyOf: [{ type: 'null' }, { $ref: 'tuple#' }] }, isTuple, ids, /^\{"ids":\[5\]\}$/],
    [{ allOf: parts }, /combinations/, { a: '1234567890123456', password: 'SECRET' }, /^(?!.*SECRET)/],
    [{ allOf: parts }, /combinations/, { b: 5n, password: 'SECRET' }, /^(?!.*SECRET)/],
  ]
  for (const [schema, reason, payload, body] of rows) {
    const app = await appOf(integerTwins)
    app.addSchema({ $id: 'tuple', ...tuple })
    app.get('/v1/users/:id', { schema: { response: { 200: schema } } }, (_, reply) => reply.send(payload))
    t.match((await app.inject(one)).payload, body)
    const exceptions = app.conventions.report().exceptions.filter(({ plugin }) => plugin === 'integerTwins')
    const listed = [{ route: 'GET /v1/users/:id', reason, declared: false }]
    if (reason === isTuple) t.match(exceptions, listed, JSON.stringify(schema))
  }
})

t.test('if an onSend hook fails, the error handler of the app sends the response', async (t) => {
  const app = await appOf(integerTwins)
  app.get('/v1/users/:id', wide, () => ({ id: 5 }))
  app.setErrorHandler<Error>((error, _, reply) => reply.code(418).send({ mine: error.message }))
  const errors = [new Error('late')]
  app.addHook('onSend', async () => {
    for (const error of errors.splice(0)) throw error
  })
  const answer = await app.inject(one)
  t.strictSame([answer.statusCode, answer.payload], [418, '{"mine":"late"}'])
})

t.test('a required twin is for clients: the serializer of the app does not need it', async (t) => {
  const app = await appOf(integerTwins)
  const response = { 200: object({ id, name: text }, { required: ['id', 'name'] }) }
  app.get('/v1/users/:id', { schema: { response } }, (_, reply) =>
    reply.send({ id: 5, name: String(reply.serialize({ id: 5, name: 'Ada' })) }),
  )
  t.equal((await app.inject(one)).statusCode, 200)
})

const lost = 2 ** 60
const digits = /11529215046068|secret/
const isLost = /64-bit integer.*beyond 2\^53.*BigInt or a string/
const isNone = /is not a 64-bit integer|out of the range of its format/

t.test('lost digits: 500 without the value; the log has the cause; the next request is served', async (t) => {
  const rows: readonly (readonly [properties: Schema, value: object, message: RegExp])[] = [
    [{ id }, { id: lost }, isLost],
    [{ a: object({ id }) }, { a: { id: -lost } }, isLost],
    [{ id }, { id: 2 ** 53 }, isLost],
    ...['secret', 1.5, {}, 2n ** 63n].map((wrong) => [{ id }, { id: wrong }, isNone] as const),
  ]
  for (const [properties, value, message] of rows) {
    const about = String(Object.values(value))
    const { logger, lines } = keepLogs('info')
    const values: unknown[] = [value]
    const app = await service(properties, () => values.shift() ?? {}, logger)
    const answer = injected(await app.inject(one))
    isProblem(t, answer, { status: 500, code: 'internal-server-error' }, about)
    t.notMatch(answer.body + JSON.stringify(lines), digits, `${about}: in neither the body nor the log`)
    const error = lines.find(({ level }) => level === levels.error)
    t.match(error, { err: { message }, reqId: 'req-1' }, about)
    t.match(await app.inject(one), { statusCode: 200, payload: '{}' }, `${about}: the next one`)
  }
  const app = await service({ id, name: text }, () => ({ id: lost, name: 'Ada' }))
  t.equal((await app.inject(`${one}?fields=name`)).payload, '{"name":"Ada"}', 'a projection without it')
  t.equal((await app.inject(`${one}?fields=id`)).statusCode, 500)
})

t.test('digits that the serializer of the app has rounded: no twin; a 500 if declared', async (t) => {
  const rounded = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
  const answered = async (type: object, value: object, write: (payload: unknown) => string) => {
    const app = await service({ id: type, at: { type: 'array', items: type } }, () => value)
    app.setSerializerCompiler(() => write)
    const { statusCode, payload } = await app.inject(one)
    return statusCode === 200 ? payload : statusCode
  }
  const round = (payload: unknown) => JSON.stringify(payload, rounded)
  const keep = () => `{"id":${big}}`
  t.equal(await answered(id, { id: big }, round), 500)
  t.equal(await answered(id, { id: 2n, at: [big] }, round), 500)
  t.equal(await answered({ type: 'integer' }, { id: big }, round), '{"id":9007199254740992}')
  t.equal(await answered(id, { id: big }, keep), twinned)
  t.equal(await answered(id, { id: `${big}` }, keep), twinned, 'from the text of a driver')
  t.equal(await answered(id, { id: 1 }, keep), 500, 'the handler has not returned these digits')
})

const age = { type: 'integer' }
const named = { age, name: text, born: { ...text, format: 'date' }, plan: { ...text, default: 'free' } }
const ada = { age: 36, name: 'Ada', born: new Date(0), password: 'secret' }
const schema = { response: { 200: object(named, { required: ['name'] }) } }
const wide = { schema: { response: { 200: object({ id }) } } }

t.test('what has no long integers, and what is not JSON: byte for byte as without the plugin', async (t) => {
  await isUntouched(t, integerTwins, {
    ...unwritten(wide),
    object: [(reply) => reply.send(ada), { schema }],
    schemaless: [() => ({ ...ada, deep: [{ a: 1.5 }, null] })],
    'digits-in-text': [() => ({ name: '12345678901234567890' }), { schema }],
    null: [(reply) => reply.send(null), wide],
    off: [() => ({ id: 5 }), { ...wide, config: { integerTwins: false } }],
    'mode-off': [() => ({ id: 5 }), { ...wide, config: { integerTwins: { mode: 'off' } } }],
  })
})

t.test('a route without 64-bit integers is written by the serializer of the app, once', async (t) => {
  let calls = 0
  const [compiled, forAll] = [Fastify(), Fastify()]
  compiled.setSerializerCompiler(() => (all) => JSON.stringify({ all, calls: ++calls }))
  forAll.setReplySerializer((all, status) => `${status} ${JSON.stringify(all)}`)
  for (const app of [compiled, forAll]) {
    await app.register(integerTwins)
    app.get('/v1/users/:id', { schema }, () => ({ name: 'Ada' }))
  }
  t.equal((await compiled.inject(one)).payload, '{"all":{"name":"Ada"},"calls":1}')
  t.equal((await forAll.inject(one)).payload, '200 {"name":"Ada"}')
})

t.test('declared 64-bit integers below setReplySerializer() stop the boot; report lists them', async (t) => {
  for (const mode of ['enforce', 'report'] as const) {
    const app = await appOf([integerTwins, { mode }])
    app.get('/v1/users/:id', wide, () => ({ id: 1n }))
    app.get('/v1/names/:id', { schema }, () => ada)
    app.get('/v1/off/:id', { ...wide, config: { integerTwins: false } }, () => ({ id: 1 }))
    app.setReplySerializer(() => 'own')
    const message = /^GET \/v1\/users\/:id .*integerTwins\.twin .*setReplySerializer\(\)/m
    const booted = async () => {
      await app.ready()
      return app.conventions.report().findings
    }
    if (mode === 'enforce') await t.rejects(booted, { code: 'FST_CONV_FINDINGS', message })
    else t.match(await booted(), [{ route: 'GET /v1/users/:id', rule: 'twin', mode }])
  }
})

t.test('a payload with a BigInt and another fault is a 500', async (t) => {
  const app = await appOf(integerTwins)
  app.get('/v1/users/:id', { schema }, (_, reply) => reply.send({ age: 5n } as object as typeof ada))
  const circle: { self?: unknown } = {}
  circle.self = circle
  app.get('/v1/circle', () => ({ circle, id: 5n }))
  t.match(await app.inject(one), { statusCode: 500, payload: '"name\\" is required!' })
  t.equal((await app.inject('/v1/circle')).statusCode, 500)
})
