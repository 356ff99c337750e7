/** "errors, 202/204, streams, buffers: untouched"; what is not JSON is left alone. */
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { fields } from '../../../src/index.js'
import { exchange, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const user = { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } }
const ada = { id: 1, name: 'Ada' }
const schema = { response: { 200: user, 202: user, 204: { type: 'null' }, '4xx': user, '5xx': user } }

/** Answers that a selection does not touch, by the path that gives them. */
const routes: Readonly<Record<string, (app: FastifyInstance, url: string) => void>> = {
  accepted: (app, url) => app.get(url, { schema }, (_, reply) => reply.code(202).send(ada)),
  'no-content': (app, url) => app.get(url, { schema }, (_, reply) => reply.code(204).send()),
  empty: (app, url) => app.get(url, { schema }, (_, reply) => reply.send()),
  null: (app, url) => app.get(url, { schema: { response: { 201: user } } }, (_, reply) => reply.send(null)),
  redirect: (app, url) => app.get(url, { schema }, (_, reply) => reply.redirect('/elsewhere')),
  'not-modified': (app, url) => app.get(url, { schema }, (_, reply) => reply.code(304).send()),
  thrown: (app, url) =>
    app.get(url, { schema }, () => {
      throw Object.assign(new Error('broken'), { statusCode: 409 })
    }),
  'sent-error': (app, url) => app.get(url, { schema }, (_, reply) => reply.code(404).send(ada)),
  'not-found': (app, url) => app.get(url, { schema }, (_, reply) => reply.callNotFound()),
  string: (app, url) => app.get(url, { schema }, (_, reply) => reply.send('id,name')),
  'json-string': (app, url) =>
    app.get(url, { schema }, (_, reply) => reply.type('application/json').send('{"id":1,"name":"a"}')),
  html: (app, url) => app.get(url, { schema }, (_, reply) => reply.type('text/html').send('<p>1')),
  buffer: (app, url) =>
    app.get(url, { schema }, (_, reply) => reply.send(Buffer.from('{"id":1,"name":"a"}'))),
  bytes: (app, url) => app.get(url, { schema }, (_, reply) => reply.send(new Uint8Array([1, 2, 3]))),
  stream: (app, url) =>
    app.get(url, { schema }, (_, reply) => reply.type('application/json').send(Readable.from(['{"id":1}']))),
  'web-response': (app, url) => app.get(url, { schema }, () => new Response('{"id":1,"name":"a"}')),
  hijacked: (app, url) =>
    app.get(url, { schema }, (_, reply) => {
      reply.hijack().raw.writeHead(200, { connection: 'close', 'content-length': '2' }).end('{}')
    }),
  'own-serializer': (app, url) =>
    app.get(url, { schema }, (_, reply) =>
      reply
        .type('text/csv')
        .serializer((one) => Object.values(one as object).join())
        .send(ada),
    ),
  'no-schema': (app, url) => app.get(url, () => ada),
  'no-response-schema': (app, url) =>
    app.get(url, { schema: { querystring: { type: 'object' } } }, () => ada),
  'string-schema': (app, url) =>
    app.get(url, { schema: { response: { 200: { type: 'string' } } } }, () => 'text'),
  off: (app, url) => app.get(url, { schema, config: { fields: false } }, () => ada),
  'mode-off': (app, url) => app.get(url, { schema, config: { fields: { mode: 'off' } } }, () => ada),
  post: (app, url) => app.post(url, { schema }, () => ada),
}

t.test('byte for byte as without the plugin, with a selection and without', async (t) => {
  const [bare, projecting] = [await service(t, false), await service(t, true)]
  for (const name of Object.keys(routes)) {
    for (const query of ['', '?fields=name']) {
      for (const method of name === 'post' ? ['POST'] : ['GET', 'HEAD']) {
        const request = requestBytes(method, `/v1/${name}${query}`)
        const [expected, received] = [await exchange(bare, request), await exchange(projecting, request)]
        t.equal(withoutDate(received), withoutDate(expected), `${method} ${name}${query}`)
      }
    }
  }
})

t.test('the parameter is ignored for POST, PUT, PATCH and DELETE', async (t) => {
  const app = Fastify()
  await app.register(fields)
  const methods = ['POST', 'PUT', 'PATCH', 'DELETE'] as const
  for (const method of methods) app.route({ method, url: '/v1/users', schema, handler: () => ada })
  for (const method of methods) {
    const { statusCode, payload } = await app.inject({ method, url: '/v1/users?fields=nope' })
    t.equal(statusCode, 200, method)
    t.equal(payload, '{"id":1,"name":"Ada"}', method)
  }
})

t.test('other statuses of success are projected if they have a schema', async (t) => {
  const app = Fastify()
  await app.register(fields)
  const [only200, both]: Record<string, object>[] = [{ 200: user }, { 200: user, 203: user }]
  app.get('/v1/copies/:id', { schema: { response: both } }, (_, reply) => reply.code(203).send(ada))
  app.get('/v1/others/:id', { schema: { response: only200 } }, (_, reply) => reply.code(203).send(ada))
  t.equal((await app.inject('/v1/copies/1?fields=name')).payload, '{"name":"Ada"}')
  t.equal((await app.inject('/v1/others/1?fields=name')).payload, '{"id":1,"name":"Ada"}')
})

async function service(t: Test, isOn: boolean): Promise<number> {
  const app = Fastify()
  if (isOn) await app.register(fields)
  for (const [name, register] of Object.entries(routes)) register(app, `/v1/${name}`)
  return (await serve(t, app)).port
}

function withoutDate(bytes: string): string {
  return bytes.replace(/\r\ndate: [^\r]+/i, '')
}
