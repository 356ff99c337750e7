/** Regression tests: faults that random tests found once. */
import { connect } from 'node:http2'
import cors from '@fastify/cors'
import Fastify from 'fastify'
import t from 'tap'
import conventions, { problems, serverOptions } from '../src/index.js'
import { askOver } from './support/http2.js'
import { injected, isProblem } from './support/problem.js'
import { serve } from './support/serve.js'

const nothing = async (): Promise<object> => ({})

t.test('an invalid header field, a plain text, and a number as request id, of the app', async (t) => {
  let id = 0
  const app = Fastify({ genReqId: () => id++ as unknown as string })
  await app.register(problems)
  app.get('/v1/sent', async (_request, reply) => reply.header('x-a', 'a\nb').send({}))
  const refusal = Object.assign(new Error('no'), { statusCode: 400, headers: { 'x-a': '\u2028' } })
  app.get('/v1/thrown', async () => Promise.reject(refusal))
  app.get('/v1/told', async (_request, reply) => reply.code(409).send('It is paid'))
  app.get('/v1/texts', { schema: { response: { 200: { type: 'string' } } } }, async () => 'hello')
  for (const [path, expected] of [
    ['sent', { status: 500, code: 'internal-server-error' }],
    ['thrown', { status: 400, code: 'bad-request' }],
    ['told', { status: 409, code: 'conflict', detail: 'It is paid' }],
    ['nothing', { status: 404, code: 'not-found' }],
  ] as const)
    isProblem(t, injected(await app.inject(`/v1/${path}`)), expected, path)
  const accept = 'text/plain'
  t.equal(
    (await app.inject({ url: '/v1/texts', headers: { accept } })).statusCode,
    200,
    'a text by its schema',
  )
})

t.test('for routes declared before problems, a refusal of pathGuard is a problem', async (t) => {
  const app = Fastify()
  await app.register(cors)
  app.get('/v1/users/:id', nothing)
  await app.register(conventions, { earlierRoutes: [{ url: '/v1/users/:id', reason: 'a test' }] })
  isProblem(t, injected(await app.inject('/v1/users/A')), { status: 404, code: 'path-uppercase' })
})

t.test('preset in report mode with mode: undefined for one plugin stays in report', async (t) => {
  const app = Fastify()
  const unset: object = { mode: undefined }
  await app.register(conventions, { mode: 'report', problems: unset, pathGuard: unset })
  app.get('/v1/users/:id', async () => Promise.reject(new Error('broken')))
  t.equal((await app.inject('/v1/users/a')).json().message, 'broken')
})

t.test('a route with a host constraint has a 405 over HTTP/2 too', async (t) => {
  const options: object = serverOptions()
  const app = Fastify({ ...options, http2: true })
  await app.register(problems)
  app.get('/v1/a', { constraints: { host: 'a.example' } }, nothing)
  const session = connect((await serve(t, app)).origin)
  const headers = { ':path': '/v1/a', ':method': 'POST', ':authority': 'a.example' }
  t.equal((await askOver(session, headers)).status, 405)
  session.close()
})
