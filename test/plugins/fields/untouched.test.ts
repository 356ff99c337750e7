/** "errors, 202/204, streams, buffers: untouched"; what is not JSON is left alone. */
import { Readable } from 'node:stream'
import Fastify, { type FastifyReply, type RouteShorthandOptions } from 'fastify'
import t, { type Test } from 'tap'
import { fields, lists } from '../../../src/index.js'
import { exchange, requestBytes, withoutDate } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { object, text } from './one-route.js'

const user = object({ id: { type: 'integer' }, name: text })
const ada = { id: 1, name: 'Ada' }
const schema = { response: { 200: user, 202: user, 204: { type: 'null' }, '4xx': user, '5xx': user } }

const json = '{"id":1,"name":"a"}'
type Answer = (reply: FastifyReply) => unknown

/** Answers that a selection does not touch, by the path that gives them, and the options of the route. */
const routes: Readonly<Record<string, readonly [answer: Answer, options?: RouteShorthandOptions]>> = {
  accepted: [(reply) => reply.code(202).send(ada)],
  'no-content': [(reply) => reply.code(204).send()],
  empty: [(reply) => reply.send()],
  null: [(reply) => reply.send(null), { schema: { response: { 201: user } } }],
  choices: [(reply) => reply.code(300).send(ada), { schema: { response: { 200: user, 300: user } } }],
  redirect: [(reply) => reply.redirect('/elsewhere')],
  'not-modified': [(reply) => reply.code(304).send()],
  thrown: [() => Promise.reject(Object.assign(new Error('broken'), { statusCode: 409 }))],
  'sent-error': [(reply) => reply.code(404).send(ada)],
  'not-found': [(reply) => reply.callNotFound()],
  string: [(reply) => reply.send('id,name')],
  'json-string': [(reply) => reply.type('application/json').send(json)],
  html: [(reply) => reply.type('text/html').send('<p>1')],
  buffer: [(reply) => reply.send(Buffer.from(json))],
  stream: [(reply) => reply.type('application/json').send(Readable.from([json]))],
  'web-response': [() => new Response(json)],
  hijacked: [
    (reply) =>
      void reply.hijack().raw.writeHead(200, { connection: 'close', 'content-length': '2' }).end('{}'),
  ],
  'own-serializer': [(reply) => reply.type('text/csv').serializer(csv).send(ada)],
  'no-schema': [() => ada, {}],
  'no-response-schema': [() => ada, { schema: { querystring: { type: 'object' } } }],
  'string-schema': [() => 'text', { schema: { response: { 200: text } } }],
  off: [() => ada, { schema, config: { fields: false } }],
  'mode-off': [() => ada, { schema, config: { fields: { mode: 'off' } } }],
}
const writes = ['POST', 'PUT', 'PATCH', 'DELETE']
const csv = (value: unknown) => Object.values(value as object).join()

t.test('byte for byte as without the plugin, with a selection and without', async (t) => {
  const [bare, projecting] = [await service(t, false), await service(t, true)]
  for (const name of [...Object.keys(routes), 'write']) {
    for (const query of ['', '?fields=name', '?fields=nope']) {
      if (query === '?fields=nope' && name !== 'write') continue
      for (const method of name === 'write' ? writes : ['GET', 'HEAD']) {
        const request = requestBytes(method, `/v1/${name}${query}`)
        const [expected, received] = [await exchange(bare, request), await exchange(projecting, request)]
        t.equal(withoutDate(received), withoutDate(expected), `${method} ${name}${query}`)
      }
    }
  }
})

t.test('other statuses of success are projected if they have a schema', async (t) => {
  const app = Fastify()
  await app.register(lists)
  await app.register(fields)
  const [only200, both]: Record<string, object>[] = [{ 200: user }, { 200: user, 203: user }]
  app.get('/v1/copies/:id', { schema: { response: both } }, (_, reply) => reply.code(203).send(ada))
  app.get('/v1/others/:id', { schema: { response: only200 } }, (_, reply) => reply.code(203).send(ada))
  app.get('/v1/users', { config: { lists: true } }, (_, reply) => reply.code(203).send({ users: [ada] }))
  t.equal((await app.inject('/v1/copies/1?fields=name')).payload, '{"name":"Ada"}')
  t.equal((await app.inject('/v1/others/1?fields=name')).payload, '{"id":1,"name":"Ada"}')
  t.strictSame((await app.inject('/v1/users?fields=name')).json(), { users: [ada] })
})

async function service(t: Test, isOn: boolean): Promise<number> {
  const app = Fastify()
  if (isOn) await app.register(fields)
  for (const [name, [answer, options = { schema }]] of Object.entries(routes))
    app.get(`/v1/${name}`, options, (_, reply) => answer(reply))
  for (const method of writes) app.route({ method, url: '/v1/write', schema, handler: () => ada })
  return (await serve(t, app)).port
}
