/** What has no long integers, and what is not JSON, goes out as it does without the plugin. */
import Fastify from 'fastify'
import t from 'tap'
import { integerTwins } from '../../../src/index.js'
import { isUntouched, unwritten } from '../../support/untouched.js'

const text = { type: 'string' }
const user = {
  type: 'object',
  required: ['name'],
  properties: {
    age: { type: 'integer' },
    name: text,
    born: { ...text, format: 'date' },
    plan: { ...text, default: 'free' },
  },
}
const wide = { type: 'object', properties: { id: { type: 'integer', format: 'int64' } } }
const ada = { age: 36, name: 'Ada', born: new Date(0), password: 'secret' }
const schema = { response: { 200: user } }
const open = { schema: { response: { 200: wide } } }

t.test('byte for byte as without the plugin', async (t) => {
  await isUntouched(t, integerTwins, {
    ...unwritten(open),
    object: [(reply) => reply.send(ada), { schema }],
    schemaless: [() => ({ ...ada, deep: [{ a: 1.5 }, null] })],
    'digits-in-text': [() => ({ name: '12345678901234567890' }), { schema }],
    null: [(reply) => reply.send(null), open],
    off: [() => ({ id: 5 }), { ...open, config: { integerTwins: false } }],
    'mode-off': [() => ({ id: 5 }), { ...open, config: { integerTwins: { mode: 'off' } } }],
  })
})

t.test('a route without 64-bit integers is written by the serializer of the app, once', async (t) => {
  let calls = 0
  const compiled = Fastify()
  await compiled.register(integerTwins)
  compiled.setSerializerCompiler(() => (payload) => JSON.stringify({ wrapped: payload, calls: ++calls }))
  const forAll = Fastify()
  await forAll.register(integerTwins)
  forAll.setReplySerializer((payload, status) => `${status} ${JSON.stringify(payload)}`)
  for (const [app, body] of [
    [compiled, '{"wrapped":{"name":"Ada"},"calls":1}'],
    [forAll, '200 {"name":"Ada"}'],
  ] as const) {
    app.get('/v1/users/:id', { schema }, () => ({ name: 'Ada' }))
    t.equal((await app.inject('/v1/users/1')).payload, body)
  }
})

t.test('declared 64-bit integers below setReplySerializer() stop the boot; report lists them', async (t) => {
  for (const mode of ['enforce', 'report'] as const) {
    const app = Fastify()
    await app.register(integerTwins, { mode })
    app.get('/v1/users/:id', open, () => ({ id: 1n }))
    app.get('/v1/names/:id', { schema }, () => ada)
    app.get('/v1/off/:id', { ...open, config: { integerTwins: false } }, () => ({ id: 1 }))
    app.setReplySerializer(() => 'own')
    const finding = /^GET \/v1\/users\/:id .*integerTwins\.twin .*setReplySerializer\(\)/m
    if (mode === 'enforce')
      await t.rejects(async () => app.ready(), { code: 'FST_CONV_FINDINGS', message: finding })
    else {
      await app.ready()
      t.match(app.conventions.report().findings, [{ route: 'GET /v1/users/:id', rule: 'twin', mode }])
    }
  }
})

t.test('a payload with a BigInt and another fault is a 500', async (t) => {
  const app = Fastify()
  await app.register(integerTwins)
  app.get('/v1/users/:id', { schema }, (_, reply) => reply.send({ age: 5n } as object as typeof ada))
  const circle: { self?: unknown } = {}
  circle.self = circle
  app.get('/v1/circle', () => ({ circle, id: 5n }))
  const answer = await app.inject('/v1/users/1')
  t.equal(answer.statusCode, 500)
  t.match(answer.json(), { message: '"name" is required!' })
  t.equal((await app.inject('/v1/circle')).statusCode, 500)
})
