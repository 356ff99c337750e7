import { once } from 'node:events'
import { connect } from 'node:http2'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import conventions, { type ProblemsOptions, problems, serverOptions } from '../../../src/index.js'
import { askOver } from '../../support/http2.js'
import { isProblem } from '../../support/problem.js'
import { openConnection, parseAnswers, type RawAnswer, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { appWith } from './support.js'

const alive = { connection: 'keep-alive' }

t.test('while the server closes, an open connection gets 503 with Retry-After, and ends', async (t) => {
  for (const [options, path, status, connection, idle] of [
    [{}, '/v1/users', 503, 'close', 1_000],
    [{}, '/nothing', 503, 'close', 1_000],
    [{ whileClosing: 'serve' }, '/v1/users', 200, 'close', 1_000],
    [{ whileClosing: 'serve' }, '/v1/written', 409, 'close', 1_000],
    [{ mode: 'report' }, '/v1/users', 200, 'keep-alive', 72_000],
  ] as const) {
    const about = `${JSON.stringify(options)} ${path}`
    const { during, before, keepAliveTimeout } = await requestWhileClosing(t, options, path)
    t.match(before, { status: 200, headers: { connection } }, `${about}: the request in flight finishes`)
    t.equal(during.status, status, about)
    t.equal(during.headers['retry-after'], status === 503 ? '5' : undefined, about)
    t.equal(keepAliveTimeout, idle, `${about}: how long a connection may be idle`)
    if (connection === 'close') t.equal(during.headers.connection, 'close', about)
    const detail = 'The server is closing; try again'
    if (status === 503) isProblem(t, during, { status, code: 'server-closing', detail }, about)
  }
})

t.test('while the server closes, a session of HTTP/2 ends with its last stream', async (t) => {
  const options: object = serverOptions()
  const app = Fastify({ ...options, http2: true }) as unknown as FastifyInstance
  await app.register(problems)
  const { entered, release, closing } = addHeldRoute(app)
  const { origin } = await serve(t, app)
  const [idle, busy] = [connect(origin), connect(origin)]
  t.teardown(() => {
    idle.destroy()
    busy.destroy()
  })
  await Promise.all([once(idle, 'connect'), once(busy, 'connect')])
  const stream = busy.request({ ':path': '/v1/users' })
  await entered

  const ends = Promise.all([once(idle, 'close'), once(busy, 'close')])
  const closed = app.close()
  await closing
  const response = once(stream, 'response')
  release()
  t.match((await response)[0], { ':status': 200 }, 'the request in flight finishes')
  stream.resume()
  await ends
  await closed
})

t.test('errors are the same problems over HTTP/2', async (t) => {
  const options: object = serverOptions()
  const app = Fastify({ ...options, http2: true })
  await app.register(conventions)
  app.get('/v1/users', async () => ({ users: [] }))
  app.post('/v1/orders', async () => ({}))
  const session = connect((await serve(t, app)).origin)
  const isJson = { 'content-type': 'application/json' }
  for (const [method, path, status, code, body, fields] of [
    ['DELETE', '/v1/users', 405, 'method-not-allowed'],
    ['FOO', '/nothing', 404, 'not-found'],
    ['GET', '/%zz', 400, 'uri-malformed'],
    ['POST', '/v1/orders', 400, 'body-malformed', ['{'], isJson],
  ] as const) {
    const answer = await askOver(session, { ':path': path, ':method': method, ...fields }, body)
    isProblem(t, answer, { status, code }, `${method} ${path}`)
  }
  const served = await askOver(session, { ':path': '/v1/users' })
  t.equal(served.status, 200, 'HTTP/2 needs no Host header')
  const head = await askOver(session, { ':path': '/nothing', ':method': 'HEAD' })
  t.match(head, { status: 404, body: '' }, 'HEAD has no body over HTTP/2 either')
  const answer = await askOver(session, { ':path': '/v1/users', ':method': 'OPTIONS' })
  t.match(answer, { status: 204, body: '', headers: { allow: 'GET, HEAD, OPTIONS' } })
  const unknown = { ':path': '/v1/users', ':method': 'FOO' }
  const headers = { allow: 'GET, HEAD, OPTIONS', 'x-frame-options': 'DENY' }
  t.match(await askOver(session, unknown), { status: 405, headers }, 'no hook sees it, the first steps do')
  await app.maintenance.enable()
  t.match(await askOver(session, unknown), { status: 503, headers: { 'retry-after': /./ } })
  session.close()
})

/** Holds a request back, begins to close the server, and sends a second one on a connection that was accepted before. */
async function requestWhileClosing(t: Test, options: ProblemsOptions, path: string) {
  const app = await appWith(options, serverOptions())
  const { entered, release, closing } = addHeldRoute(app)
  app.get('/v1/written', async (_, reply) => reply.code(409).send({ message: 'no' }))
  const { port } = await serve(t, app)

  const held = await openConnection(port)
  const accepted = once(app.server, 'connection')
  const other = await openConnection(port)
  await accepted
  held.send(requestBytes('GET', '/v1/users', alive))
  await entered
  const closed = app.close()
  await closing
  const arrived = once(app.server, 'request')
  other.send(requestBytes('GET', path, alive))
  await arrived
  release()
  const { keepAliveTimeout } = app.server
  // The connections of the report mode stay.
  if (options.mode === 'report') app.server.keepAliveTimeout = 1
  const answers = [...parseAnswers(await held.ended()), ...parseAnswers(await other.ended())]
  await closed
  const [before, during] = answers as RawAnswer[] as [RawAnswer, RawAnswer]
  return { before, during, keepAliveTimeout }
}

/** A route that answers once it is released. */
function addHeldRoute(app: FastifyInstance) {
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const closing = new Promise<void>((resolve) => app.addHook('preClose', async () => resolve()))
  const entered = new Promise<void>((enter) =>
    app.get('/v1/users', async () => {
      enter()
      await released
      return {}
    }),
  )
  return { entered, release: () => release(), closing }
}
