import { once } from 'node:events'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { type ProblemsOptions, problems, serverOptions } from '../../../src/index.js'
import { isProblem } from '../../support/problem.js'
import { openConnection, parseAnswers, type RawAnswer } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const request = 'GET /v1/users HTTP/1.1\r\nHost: localhost\r\n\r\n'

t.test('while the server closes, a request on an open connection is a 503 with Retry-After', async (t) => {
  const [before, during] = await requestWhileClosing(t, {})

  t.equal(before?.status, 200, 'the request in flight finishes')
  if (during === undefined) throw new Error('the second request was not answered')
  isProblem(t, during, { status: 503, code: 'server-closing', detail: 'The server is closing; try again' })
  t.equal(during.headers['retry-after'], '5')
  t.equal(during.headers.connection, 'close', 'and the connection ends')
})

t.test('while the server closes, an unknown path is a 503 too', async (t) => {
  const unknown = 'GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const [, during] = await requestWhileClosing(t, {}, unknown)

  t.equal(during?.status, 503)
  t.equal(during?.headers['retry-after'], '5')
})

t.test('whileClosing: serve serves requests while the server closes', async (t) => {
  const [, during] = await requestWhileClosing(t, { whileClosing: 'serve' })

  t.equal(during?.status, 200)
})

t.test('in report mode, requests are served while the server closes', async (t) => {
  const [, during] = await requestWhileClosing(t, { mode: 'report' })

  t.equal(during?.status, 200)
})

/** Holds a request back, begins to close the server, and sends a second one on the same connection. */
async function requestWhileClosing(
  t: Test,
  options: ProblemsOptions,
  second = request,
): Promise<RawAnswer[]> {
  const app = Fastify(serverOptions())
  await app.register(problems, options)
  const { entered, release } = addHeldRoute(app)
  const closing = new Promise<void>((resolve) => app.addHook('preClose', async () => resolve()))
  const { port } = await serve(t, app)

  const connection = await openConnection(port)
  connection.send(request)
  await entered
  const closed = app.close()
  await closing
  const arrived = once(app.server, 'request')
  connection.send(second)
  await arrived
  release()
  const answers = parseAnswers(await connection.ended())
  await closed
  return answers
}

/** A route whose first request waits until it is released. */
function addHeldRoute(app: FastifyInstance): { entered: Promise<void>; release: () => void } {
  let enter = (): void => {}
  let release = (): void => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  app.get('/v1/users', async () => {
    enter()
    await released
    return {}
  })
  return { entered, release: () => release() }
}
