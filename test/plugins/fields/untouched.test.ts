/** "errors, 202/204, streams, buffers: untouched"; what is not JSON is left alone. */
import Fastify from 'fastify'
import t from 'tap'
import { fields, lists } from '../../../src/index.js'
import { type Answers, isUntouched, unwritten } from '../../support/untouched.js'
import { object, text } from './one-route.js'

const user = object({ id: { type: 'integer' }, name: text })
const ada = { id: 1, name: 'Ada' }
const schema = { response: { 200: user, 202: user, 204: { type: 'null' }, '4xx': user, '5xx': user } }

const answers: Answers = {
  ...unwritten({ schema }),
  accepted: [(reply) => reply.code(202).send(ada), { schema }],
  'no-content': [(reply) => reply.code(204).send(), { schema }],
  null: [(reply) => reply.send(null), { schema: { response: { 201: user } } }],
  choices: [(reply) => reply.code(300).send(ada), { schema: { response: { 200: user, 300: user } } }],
  redirect: [(reply) => reply.redirect('/elsewhere'), { schema }],
  'not-modified': [(reply) => reply.code(304).send(), { schema }],
  'sent-error': [(reply) => reply.code(404).send(ada), { schema }],
  'not-found': [(reply) => reply.callNotFound(), { schema }],
  hijacked: [
    (reply) =>
      void reply.hijack().raw.writeHead(200, { connection: 'close', 'content-length': '2' }).end('{}'),
    { schema },
  ],
  'no-schema': [() => ada],
  'no-response-schema': [() => ada, { schema: { querystring: { type: 'object' } } }],
  'string-schema': [() => 'text', { schema: { response: { 200: text } } }],
  off: [() => ada, { schema, config: { fields: false } }],
  'mode-off': [() => ada, { schema, config: { fields: { mode: 'off' } } }],
}

t.test('byte for byte as without the plugin, with a selection and without', async (t) => {
  await isUntouched(t, fields, answers, { queries: ['', '?fields=name'] })
  const methods = ['POST', 'PUT', 'PATCH', 'DELETE']
  await isUntouched(t, fields, { write: [() => ada, { schema }] }, { methods, queries: ['?fields=nope'] })
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
