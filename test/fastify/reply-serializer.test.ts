/** A string that is JSON already passes by the response schema; a handler's own serializer is respected. */
import Fastify, { type FastifyReply } from 'fastify'
import t from 'tap'
import {
  compileWhenNeeded,
  hasSerializerOfItsOwn,
  hasSerializerOfTheApp,
  hasSerializerOptions,
  passString,
} from '../../src/fastify/reply-serializer.js'

const schema = { response: { 200: { type: 'object', properties: { a: { type: 'string' } } } } }

t.test('hasSerializerOfItsOwn() is true after reply.serializer()', async (t) => {
  const seen: boolean[] = []
  const app = Fastify()
  app.addHook('preSerialization', async (_request, reply, payload) => {
    seen.push(hasSerializerOfItsOwn(reply))
    return payload
  })
  app.get('/plain', { schema }, () => ({ a: 'a' }))
  app.get('/own', { schema }, (_, reply) =>
    reply
      .type('text/csv')
      .serializer(() => 'csv')
      .send({ a: 'a' }),
  )
  app.get('/compiled', { schema }, (_, reply) =>
    reply.header('x-json', String(reply.serialize({ a: 'a' }))).send({ a: 'a' }),
  )
  for (const url of ['/plain', '/own', '/compiled', '/plain']) await app.inject(url)
  t.strictSame(seen, [false, true, false, false])
})

t.test('options of Fastify’s serializers are detected, also in a plugin', async (t) => {
  const rows: readonly (readonly [options: object, expected: boolean])[] = [
    [{}, false],
    [{ serializerOpts: {} }, false],
    [{ serializerOpts: { rounding: 'ceil' } }, true],
  ]
  for (const [options, expected] of rows) {
    const app = Fastify(options)
    const seen = [hasSerializerOptions(app)]
    await app.register(async (inner) => seen.push(hasSerializerOptions(inner)) && undefined)
    t.strictSame(seen, [expected, expected], JSON.stringify(options))
  }
})

t.test('a string that is passed is sent as it is, whatever the schema says', async (t) => {
  const app = Fastify()
  app.get('/passed', { schema }, (_, reply) =>
    passString(reply).type('application/json').send('{"b":"not in the schema"}'),
  )
  app.get('/hook', {
    schema,
    preSerialization: async (_request: unknown, reply: FastifyReply) => {
      passString(reply)
      return '{"b":"from a hook"}'
    },
    handler: () => ({ a: 'a' }),
  })
  t.equal((await app.inject('/passed')).payload, '{"b":"not in the schema"}')
  const hook = await app.inject('/hook')
  t.equal(hook.payload, '{"b":"from a hook"}')
  t.equal(hook.headers['content-type'], 'application/json; charset=utf-8')
})

t.test(
  'a HEAD route has the length of its GET route, though its serializer is made when it is needed',
  async (t) => {
    const app = Fastify()
    const seen: boolean[] = []
    app.addHook('onRoute', function makeLate(route) {
      if (route.method !== 'HEAD') return
      compileWhenNeeded(this, route)
      seen.push(route.serializerCompiler !== undefined, hasSerializerOfTheApp(this, route.serializerCompiler))
    })
    app.get('/items', { schema }, () => ({ a: 'text', b: 'not in the schema' }))
    const answers = [await app.inject('/items'), await app.inject({ method: 'HEAD', url: '/items' })]
    t.strictSame(seen, [true, false], 'it does not count as a serializer of the app')
    t.strictSame(
      answers.map(({ statusCode, headers }) => [statusCode, headers['content-length']]),
      [
        [200, '12'],
        [200, '12'],
      ],
    )
  },
)

t.test('a HEAD route with a serializer of the app keeps it', async (t) => {
  const app = Fastify()
  const own = () => () => 'own'
  const seen: unknown[] = []
  app.addHook('onRoute', function makeLate(route) {
    compileWhenNeeded(this, route)
    seen.push(route.serializerCompiler)
  })
  app.head('/items', { schema, serializerCompiler: own }, () => ({ a: 'a' }))
  t.strictSame(seen, [own])
})

t.test('an invalid response schema fails the boot, with HEAD routes too', async (t) => {
  const app = Fastify()
  app.addHook('onRoute', function makeLate(route) {
    if (route.method === 'HEAD') compileWhenNeeded(this, route)
  })
  app.get('/items', { schema: { response: { 200: { type: 'nothing' } } } }, () => ({}))
  await t.rejects(async () => app.ready(), { code: 'FST_ERR_SCH_SERIALIZATION_BUILD' })
})
