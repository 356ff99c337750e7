/** What has no long integers, and what is not JSON, goes out as it does without the plugin. */
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { integerTwins } from '../../../src/index.js'
import { exchange, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

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

/** What is answered, by the path that answers it. */
const routes: Readonly<Record<string, (app: FastifyInstance, url: string) => void>> = {
  object: (app, url) => app.get(url, { schema }, (_, reply) => reply.send(ada)),
  missing: (app, url) =>
    app.get(url, { schema }, (_, reply) => reply.send({ age: 36 } as object as typeof ada)),
  schemaless: (app, url) => app.get(url, () => ({ ...ada, deep: [{ a: 1.5 }, null] })),
  'other-status': (app, url) => app.get(url, { schema: { response: { 201: user } } }, () => ada),
  'digits-in-text': (app, url) => app.get(url, { schema }, () => ({ name: '12345678901234567890' })),
  'digits-in-fraction': (app, url) =>
    app.get(url, () => ({ n: 0.12345678901234568, m: 1e300, card: '1234567890123456' })),
  number: (app, url) => app.get(url, (_, reply) => reply.send(5)),
  boolean: (app, url) => app.get(url, (_, reply) => reply.send(true)),
  array: (app, url) => app.get(url, () => [1, 'a']),
  null: (app, url) => app.get(url, { schema: { response: { 200: wide } } }, (_, reply) => reply.send(null)),
  empty: (app, url) => app.get(url, { schema: { response: { 200: wide } } }, (_, reply) => reply.send()),
  'no-content': (app, url) => app.get(url, (_, reply) => reply.code(204).send()),
  thrown: (app, url) =>
    app.get(url, () => {
      throw Object.assign(new Error('broken'), { statusCode: 409 })
    }),
  'json-string': (app, url) =>
    app.get(url, { schema: { response: { 200: wide } } }, (_, reply) =>
      reply.type('application/json').send('{"id":9007199254740993}'),
    ),
  string: (app, url) => app.get(url, (_, reply) => reply.send('9007199254740993')),
  buffer: (app, url) => app.get(url, (_, reply) => reply.send(Buffer.from('{"id":9007199254740993}'))),
  stream: (app, url) =>
    app.get(url, (_, reply) =>
      reply.type('application/json').send(Readable.from(['{"id":9007199254740993}'])),
    ),
  'web-response': (app, url) => app.get(url, () => new Response('{"id":9007199254740993}')),
  'own-serializer': (app, url) =>
    app.get(url, { schema: { response: { 200: wide } } }, (_, reply) =>
      reply
        .type('text/csv')
        .serializer((one) => `csv ${(one as { id: number }).id}`)
        .send({ id: 5 }),
    ),
  off: (app, url) =>
    app.get(url, { schema: { response: { 200: wide } }, config: { integerTwins: false } }, () => ({ id: 5 })),
  'off-bigint': (app, url) => app.get(url, { config: { integerTwins: false } }, () => ({ id: 5n })),
  'mode-off': (app, url) =>
    app.get(url, { schema: { response: { 200: wide } }, config: { integerTwins: { mode: 'off' } } }, () => ({
      id: 5,
    })),
}

t.test('byte for byte as without the plugin', async (t) => {
  const [bare, twinning] = [await service(t, false), await service(t, true)]
  for (const name of Object.keys(routes)) {
    for (const method of ['GET', 'HEAD']) {
      const request = requestBytes(method, `/v1/${name}`)
      const [expected, received] = [await exchange(bare, request), await exchange(twinning, request)]
      t.equal(withoutDate(received), withoutDate(expected), `${method} ${name}`)
    }
  }
})

t.test('a route without 64-bit integers is written by Fastify’s own serializer', async (t) => {
  const app = Fastify()
  await app.register(integerTwins)
  let calls = 0
  app.setSerializerCompiler(() => (payload) => {
    calls++
    return JSON.stringify({ wrapped: payload })
  })
  app.get('/v1/users/:id', { schema }, () => ({ name: 'Ada' }))
  t.equal((await app.inject('/v1/users/1')).payload, '{"wrapped":{"name":"Ada"}}')
  t.equal(calls, 1, 'once')
})

t.test('a serializer for all replies writes such a route', async (t) => {
  const app = Fastify()
  await app.register(integerTwins)
  app.setReplySerializer((payload, status) => `${status} ${JSON.stringify(payload)}`)
  app.get('/v1/users/:id', { schema }, () => ({ name: 'Ada' }))
  t.equal((await app.inject('/v1/users/1')).payload, '200 {"name":"Ada"}')
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

async function service(t: Test, isOn: boolean): Promise<number> {
  const app = Fastify()
  if (isOn) await app.register(integerTwins)
  for (const [name, register] of Object.entries(routes)) register(app, `/v1/${name}`)
  return (await serve(t, app)).port
}

function withoutDate(bytes: string): string {
  return bytes.replace(/\r\ndate: [^\r]+/i, '')
}

t.test(
  'an undeclared BigInt has no twin where the schema forbids members that it does not declare',
  async (t) => {
    const id = { type: 'integer' }
    const closed = { type: 'object', additionalProperties: false }
    const big = 2n ** 60n + 1n
    const schemas: Readonly<Record<string, readonly [schema: object, payload: object, json: string]>> = {
      members: [{ ...closed, properties: { id } }, { id: big }, `{"id":${big}}`],
      patterns: [{ ...closed, patternProperties: { '^i': id } }, { id: big }, `{"id":${big}}`],
      nested: [
        { type: 'object', properties: { user: { ...closed, properties: { id } } } },
        { user: { id: big } },
        `{"user":{"id":${big}}}`,
      ],
      'of an open object': [
        { type: 'object', properties: { id } },
        { id: big },
        `{"id":${big},"id_str":"${big}"}`,
      ],
      declared: [
        { ...closed, properties: { id: { ...id, format: 'int64' } } },
        { id: big },
        `{"id":${big},"id_str":"${big}"}`,
      ],
    }
    const app = Fastify()
    await app.register(integerTwins)
    for (const [name, [schema, payload]] of Object.entries(schemas)) {
      app.get(`/${name.replaceAll(' ', '-')}`, { schema: { response: { 200: schema } } }, async () => payload)
    }
    for (const [name, [, , json]] of Object.entries(schemas)) {
      t.equal((await app.inject(`/${name.replaceAll(' ', '-')}`)).body, json, name)
    }
  },
)
