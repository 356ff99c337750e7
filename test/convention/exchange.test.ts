/** A string that is JSON already passes by the response schema; a handler's own serializer is respected. */
import { Readable } from 'node:stream'
import Fastify, { type FastifyReply } from 'fastify'
import t from 'tap'
import { hasSerializerOfItsOwn, listenAlong, passString } from '../../src/convention/exchange.js'

const schema = { response: { 200: { type: 'object', properties: { a: { type: 'string' } } } } }

t.test('hasSerializerOfItsOwn() is true after reply.serializer()', async (t) => {
  const seen: boolean[] = []
  const app = Fastify()
  app.addHook('preSerialization', async (_request, reply, payload) => {
    seen.push(hasSerializerOfItsOwn(reply))
    return payload
  })
  app.get('/plain', { schema }, () => ({ a: 'a' }))
  const csv = () => 'csv'
  app.get('/own', { schema }, (_, reply) => reply.type('text/csv').serializer(csv).send({ a: 'a' }))
  app.get('/compiled', { schema }, (_, reply) =>
    reply.header('x-json', `${reply.serialize({})}`).send({ a: 'a' }),
  )
  for (const url of ['/plain', '/own', '/compiled', '/plain']) await app.inject(url)
  t.strictSame(seen, [false, true, false, false])
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

t.test('each of several listeners hears each part of a body once, and its end', async (t) => {
  const payload = Readable.from([Buffer.from('{"id":'), Buffer.from('1}')])
  const heard = [0, 1, 2].map(() => {
    const parts: string[] = []
    listenAlong(payload, { part: (part) => void parts.push(String(part)), end: () => void parts.push('end') })
    return parts
  })
  const parsed: string[] = []
  payload.on('data', (part) => parsed.push(String(part)))
  await new Promise((resolve) => payload.once('end', resolve))
  t.strictSame(parsed, ['{"id":', '1}'])
  for (const parts of heard) t.strictSame(parts, [...parsed, 'end'])
})

t.test('a body that no parser reads does not flow', async (t) => {
  const payload = Readable.from(['text'])
  listenAlong(payload, { part: () => t.fail('a part was heard'), end: () => t.fail('the end was heard') })
  await new Promise(setImmediate)
  t.equal(payload.readableFlowing, null)
})
