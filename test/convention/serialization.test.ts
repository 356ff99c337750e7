/** How answers become JSON where several plugins have a say in it: one pass over the payload, at the right place. */
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { conventions, fields, integerTwins } from '../../src/index.js'
import { appOf, withPlugins } from '../support/app.js'

const id = { type: 'integer', format: 'int64' }
const text = { type: 'string' }
const user = { type: 'object', properties: { id, name: text } }
const twin = '"id":5,"id_str":"5"'

t.test('fields and twins are written in one pass: a getter is read once', async (t) => {
  for (const query of ['', '?fields=id']) {
    let reads = 0
    const app = await service([fields, integerTwins], () => ({
      get id() {
        reads++
        return 5
      },
    }))
    t.equal((await app.inject(`/v1/users/1${query}`)).payload, `{${twin}}`, query)
    t.equal(reads, 1, query)
  }
})

t.test('each works without the other, and both in each order and in the preset', async (t) => {
  const both = [`{${twin},"name":"Ada"}`, `{${twin}}`] as const
  for (const [about, plugins, whole, selected] of [
    ['fields, then twins', [fields, integerTwins], ...both],
    ['twins, then fields', [integerTwins, fields], ...both],
    ['the preset', [conventions as typeof fields], ...both],
    ['fields alone', [fields], '{"id":5,"name":"Ada"}', '{"id":5}'],
    ['twins alone', [integerTwins], both[0], both[0]],
  ] as const) {
    const app = await service(plugins, () => ({ id: 5, name: 'Ada' }))
    t.equal((await app.inject('/v1/users/1')).payload, whole, about)
    t.equal((await app.inject('/v1/users/1?fields=id')).payload, selected, about)
  }
})

t.test('hooks of the app see the payload before, and may replace it; onSend sees the JSON', async (t) => {
  const seen: unknown[] = []
  const app = await appOf(fields, integerTwins)
  app.addHook('preSerialization', async (_request, _reply, payload) => {
    seen.push(payload)
    return { ...(payload as object), name: 'replaced' }
  })
  app.addHook('onSend', async (_request, _reply, payload) => {
    seen.push(payload)
    return payload
  })
  const own = async (_: unknown, __: unknown, payload: unknown) => ({ ...(payload as object), id: 5 })
  const options = { schema: { response: { 200: user } }, preSerialization: own }
  app.get('/v1/users/:id', options, () => ({ id: 1, name: 'Ada' }))
  t.equal((await app.inject('/v1/users/1?fields=id,name')).payload, `{${twin},"name":"replaced"}`)
  t.strictSame(seen, [{ id: 1, name: 'Ada' }, `{${twin},"name":"replaced"}`])
})

t.test('HEAD and GET have the same Content-Length; a HEAD route of the app is not changed', async (t) => {
  const app = await appOf(fields, integerTwins)
  const options = { schema: { response: { 200: user } } }
  app.head('/v1/users/:id', options, (_, reply) => reply.header('x-own', 'yes').send({ id: 5, name: 'Ada' }))
  app.get('/v1/users/:id', options, () => ({ id: 5, name: 'Ada' }))
  for (const [method, own] of [['GET', undefined] as const, ['HEAD', 'yes'] as const]) {
    const { headers } = await app.inject({ method, url: '/v1/users/1?fields=id' })
    t.strictSame([headers['content-length'], headers['x-own']], ['21', own], method)
  }
})

t.test('a schema of a media type says what is sent of a payload', async (t) => {
  const app = await appOf(integerTwins)
  const content = { 'application/json': { schema: { type: 'object', properties: { id } } } }
  app.get('/v1/users/:id', { schema: { response: { 200: { content } } } }, () => ({ id: 5, secret: 'x' }))
  t.equal((await app.inject('/v1/users/1')).payload, `{${twin}}`)
})

t.test('serializer options of the app apply', async (t) => {
  const app = await withPlugins(Fastify({ serializerOpts: { rounding: 'ceil' } }), integerTwins)
  const schema = { response: { 200: { type: 'object', properties: { n: { type: 'integer' } } } } }
  app.get('/v1/users', { schema }, () => ({ n: 1.2 }))
  t.equal((await app.inject('/v1/users')).payload, '{"n":2}')
})

t.test('a serializer of the app is asked for each status of its schema: it writes no BigInt', async (t) => {
  const schema = { type: 'object', properties: { name: text } }
  for (const [status, expected] of Object.entries({ 200: 500, '2xx': 500, default: 500, 404: 200 })) {
    const app = Fastify()
    app.setSerializerCompiler(() => (data) => JSON.stringify(data))
    await app.register(integerTwins)
    app.get('/v1/users', { schema: { response: { [status]: schema } } }, () => ({ big: 2n ** 60n }))
    t.equal((await app.inject('/v1/users')).statusCode, expected, status)
  }
})

async function service(plugins: readonly (typeof fields)[], handler: () => object): Promise<FastifyInstance> {
  const app = Fastify()
  for (const plugin of plugins) await app.register(plugin)
  app.get('/v1/users/:id', { schema: { response: { 200: user } } }, handler)
  return app
}
