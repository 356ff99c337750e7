/** Over sockets: requests in flight, bodies that no handler reads, HTTP/2. */
import { EventEmitter, once } from 'node:events'
import { connect } from 'node:http2'
import Fastify from 'fastify'
import t from 'tap'
import { problems, serverOptions } from '../../../src/index.js'
import { maintenance } from '../../../src/plugins/maintenance/index.js'
import { withPlugins } from '../../support/app.js'
import { isProblem } from '../../support/problem.js'
import { openConnection, parseAnswers, type RawAnswer, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const refused = { status: 503, code: 'maintenance' }

async function service() {
  const app = await withPlugins(Fastify(serverOptions()), problems, maintenance)
  return app
}

t.test('a request in flight finishes: its body arrives, its handler answers', async (t) => {
  const app = await service()
  const events = new EventEmitter()
  const [entered, admitted] = [once(events, 'GET'), once(events, 'POST')]
  app.addHook('preParsing', async ({ method }) => void events.emit(method))
  app.get('/v1/slow', () => once(events, 'finish').then(() => 'read'))
  app.post('/v1/users', async ({ body }) => body)
  const { port } = await serve(t, app)

  const reading = await openConnection(port)
  reading.send(requestBytes('GET', '/v1/slow'))
  await entered
  const writing = await openConnection(port)
  const text = requestBytes('POST', '/v1/users', { 'content-type': 'application/json' }, '{"name":"a"}')
  writing.send(text.slice(0, -6))
  await admitted
  await app.maintenance.enable()
  writing.send(text.slice(-6))
  events.emit('finish')
  t.match(parseAnswers(await reading.ended()), [{ status: 200, body: 'read' }])
  t.match(parseAnswers(await writing.ended()), [{ status: 200, body: '{"name":"a"}' }])
})

t.test('a refused request with a body leaves the connection as it was, for the next one', async (t) => {
  const app = await service()
  app.post('/v1/users', async ({ body }) => body)
  const { port } = await serve(t, app)
  await app.maintenance.enable()
  const connection = await openConnection(port)
  const big = JSON.stringify({ text: 'x'.repeat(300_000) })
  const kept = { connection: 'keep-alive', 'content-type': 'application/json' }
  connection.send(requestBytes('POST', '/v1/users', kept, big))
  await connection.received((bytes) => bytes.includes('"code":"maintenance"'))
  await app.maintenance.disable()
  connection.send(requestBytes('POST', '/v1/users', { 'content-type': 'application/json' }, '{"name":"a"}'))
  const [first, second] = parseAnswers(await connection.ended())
  isProblem(t, first as RawAnswer, refused)
  t.match(second, { status: 200, body: '{"name":"a"}' })
})

t.test('HEAD, a bad URL and an absolute one on the wire', async (t) => {
  const app = await service()
  const { port } = await serve(t, app)
  await app.maintenance.enable()
  const connection = await openConnection(port)
  const kept = { connection: 'keep-alive' }
  connection.send(
    requestBytes('GET', '/%zz', kept) +
      requestBytes('GET', 'http://localhost/v1/users', kept) +
      requestBytes('OPTIONS', '*', kept) +
      requestBytes('HEAD', '/%zz'),
  )
  const received = await connection.ended()
  const head = received.lastIndexOf('HTTP/1.1 ')
  const answers = parseAnswers(received.slice(0, head))
  t.equal(answers.length, 3)
  for (const answer of answers) {
    isProblem(t, answer, refused)
    t.equal(answer.headers['retry-after'], '60')
  }
  t.match(received.slice(head), /^HTTP\/1\.1 503 .*\r\nretry-after: 60\r\n.*\r\n\r\n$/is)
})

t.test('HTTP/2: the same 503, for a bad URL too', async (t) => {
  const app = Fastify({ ...(serverOptions() as object), http2: true })
  await app.register(maintenance)
  const session = connect((await serve(t, app)).origin)
  t.teardown(() => session.close())
  await app.maintenance.enable({ retryAfter: 30 })
  for (const path of ['/v1/users', '/%zz']) {
    const [headers] = await once(session.request({ ':path': path }).resume(), 'response')
    const type = { 'content-type': 'application/problem+json' }
    t.match(headers, { ':status': 503, 'retry-after': '30', 'cache-control': 'no-store', ...type }, path)
  }
})
