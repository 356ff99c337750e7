/** Regression tests: faults that random tests found once. */

import { once } from 'node:events'
import { connect } from 'node:http2'
import cors from '@fastify/cors'
import Fastify from 'fastify'
import t from 'tap'
import conventions, { problems, serverOptions } from '../src/index.js'
import { injected, isProblem } from './support/problem.js'
import { ask, openConnection, parseAnswers, requestBytes } from './support/raw.js'
import { serve } from './support/serve.js'

const nothing = async (): Promise<object> => ({})

t.test('autoload layout: an app with a route at / below a prefix boots', async (t) => {
  const app = Fastify()
  await app.register(conventions)
  app.register(async (child) => void child.get('/', nothing), { prefix: '/v1/users' })
  await app.ready()
  t.strictSame(app.conventions.report().findings, [])
})

t.test('the type of a 417 has the typeBase of problems', async (t) => {
  const app = Fastify()
  await app.register(problems, { typeBase: 'https://errors.example/' })
  app.get('/', nothing)
  const { port } = await serve(t, app)
  const answer = await ask(port, requestBytes('GET', '/', { expect: 'x' }))
  t.equal(JSON.parse(answer.body).type, 'https://errors.example/expectation-failed')
})

t.test('if an onSend hook always fails, the response has no details', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/a', { onSend: async () => Promise.reject(new Error('secret')) }, nothing)
  const answer = injected(await app.inject('/v1/a'))
  t.notMatch(answer.body, 'secret')
  isProblem(t, answer, { status: 500, code: 'internal-server-error' })
})

t.test('a header that cannot be written is a 500 problem', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/a', async (_request, reply) => reply.header('x-a', 'a\nb').send({}))
  app.get('/v1/b', async () =>
    Promise.reject(Object.assign(new Error('no'), { statusCode: 400, headers: { 'x-a': '\u2028' } })),
  )
  isProblem(t, injected(await app.inject('/v1/a')), { status: 500, code: 'internal-server-error' })
  t.equal((await app.inject('/v1/b')).headers['content-type'], 'application/problem+json')
})

t.test('a request id may be a number', async (t) => {
  let id = 0
  const app = Fastify({ genReqId: () => id++ as unknown as string })
  await app.register(problems)
  isProblem(t, injected(await app.inject('/nothing')), { status: 404, code: 'not-found' })
})

t.test('for routes declared before problems, a refusal of pathGuard is a problem', async (t) => {
  const app = Fastify()
  await app.register(cors)
  app.get('/v1/users/:id', nothing)
  await app.register(conventions, { earlierRoutes: [{ url: '/v1/users/:id', reason: 'a test' }] })
  isProblem(t, injected(await app.inject('/v1/users/A')), { status: 404, code: 'path-uppercase' })
})

t.test('raw dot segments are refused', async (t) => {
  const app = Fastify()
  await app.register(conventions)
  app.get('/v1/links/:id', { config: { pathGuard: { params: 'any' } } }, nothing)
  app.get('/v1/users/:id', nothing)
  const { port } = await serve(t, app)
  for (const target of ['/v1/links/..', '/v1/links/.', '/v1/users/..', '/v1/../users/7'])
    t.not((await ask(port, requestBytes('GET', target))).status, 200, target)
})

t.test('preset in report mode with mode: undefined for one plugin stays in report', async (t) => {
  const app = Fastify()
  await app.register(conventions, {
    mode: 'report',
    problems: { mode: undefined } as object,
    pathGuard: { mode: undefined } as object,
  })
  app.get('/v1/users/:id', async () => Promise.reject(new Error('broken')))
  t.equal((await app.inject('/v1/users/a')).json().message, 'broken')
})

t.test('a malformed request after a pending one does not replace the response of that one', async (t) => {
  const app = Fastify(serverOptions())
  let ran = false
  app.post('/v1/payments', async () => {
    await new Promise((resolve) => setImmediate(resolve))
    ran = true
    return { paid: true }
  })
  const { port } = await serve(t, app)
  const connection = await openConnection(port)
  connection.send('POST /v1/payments HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGARBAGE\r\n\r\n')
  const [first] = parseAnswers(await connection.ended())
  t.ok(ran)
  t.equal(first?.status, 200)
})

t.test('serverOptions: a target in absolute form may have no path', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(conventions)
  const { port } = await serve(t, app)
  t.match(JSON.parse((await ask(port, requestBytes('GET', 'http://a'))).body).detail, 'There is nothing at /')
  t.notMatch(JSON.parse((await ask(port, requestBytes('GET', 'http://a?secret=/B'))).body).detail, 'B')
})

t.test('a response schema of type string is text/plain', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/a', { schema: { response: { 200: { type: 'string' } } } }, async () => 'hello')
  t.equal((await app.inject({ url: '/v1/a', headers: { accept: 'text/plain' } })).statusCode, 200)
})

t.test('a route with a host constraint has a 405 over HTTP/2 too', async (t) => {
  const options: object = serverOptions()
  const app = Fastify({ ...options, http2: true })
  await app.register(problems)
  app.get('/v1/a', { constraints: { host: 'a.example' } }, nothing)
  const session = connect((await serve(t, app)).origin)
  const stream = session.request({ ':path': '/v1/a', ':method': 'POST', ':authority': 'a.example' })
  const [headers] = await once(stream.resume(), 'response')
  t.equal(headers[':status'], 405)
  session.close()
})

t.test('an error response of a hook on an unknown path is a problem', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.addHook('onRequest', async (_request, reply) => reply.code(401).send({ error: 'who are you' }))
  isProblem(t, injected(await app.inject('/nothing')), { status: 401, code: 'unauthorized' })
})

t.test('the plain text of a 4xx becomes the detail', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/a', async (_request, reply) => reply.code(409).send('It is paid'))
  isProblem(t, injected(await app.inject('/v1/a')), { status: 409, code: 'conflict', detail: 'It is paid' })
})

t.test('an error that a route’s error handler rethrows is a problem', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/files/:name', {
    // As @fastify/static does.
    errorHandler: (error, request, reply) => void app.errorHandler(error, request, reply),
    handler: async () => {
      throw Object.assign(new Error('Forbidden'), { statusCode: 403, code: 'FST_STATIC_FORBIDDEN_PATH' })
    },
  })
  isProblem(t, injected(await app.inject('/v1/files/a')), { status: 403, code: 'forbidden' })
})
