import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { type ProblemsRouteOptions, problems, serverOptions } from '../../../src/index.js'
import { isProblem } from '../../support/problem.js'
import { ask, openConnection, parseAnswers } from '../../support/raw.js'
import { serve } from '../../support/serve.js'

const withoutHost = 'GET /v1/users HTTP/1.1\r\nConnection: close\r\n\r\n'
const leftAlone: readonly (ProblemsRouteOptions | false)[] = [false, { mode: 'off' }, { mode: 'report' }]

t.test('a missing Host is refused on routes with problems off too (RFC 9112 §3.2)', async (t) => {
  for (const config of leftAlone) {
    const app = await appWithUsers(config)
    const { port } = await serve(t, app)
    const answer = await ask(port, withoutHost)

    t.equal(answer.status, 400, JSON.stringify(config))
    t.match(
      JSON.parse(answer.body),
      { code: 'request-malformed', statusCode: 400 },
      'in the format of its errors',
    )
    t.equal((await ask(port, 'GET /v1/users HTTP/1.0\r\n\r\n')).status, 200, 'HTTP/1.0 needs none')
  }
})

t.test(
  'while the server closes, requests to routes with problems off are refused too, with Retry-After',
  async (t) => {
    for (const config of leftAlone) {
      const answer = await answerWhileClosing(t, config)
      t.equal(answer?.status, 503, JSON.stringify(config))
      t.equal(answer?.headers['retry-after'], '9', JSON.stringify(config))
    }
  },
)

t.test('in report mode nothing is refused', async (t) => {
  for (const mode of ['report', 'off'] as const) {
    const app = Fastify(serverOptions())
    await app.register(problems, { mode })
    app.get('/v1/users', async () => ({}))
    const { port } = await serve(t, app)
    t.equal((await ask(port, withoutHost)).status, 200, mode)
  }
})

t.test('a route with mode enforce refuses, whatever the mode of the plugin', async (t) => {
  const app = Fastify(serverOptions())
  await app.register(problems, { mode: 'report' })
  app.get('/v1/users', { config: { problems: { mode: 'enforce' } } }, async () => ({}))
  const { port } = await serve(t, app)

  isProblem(t, await ask(port, withoutHost), { status: 400, code: 'request-malformed' })
})

t.test('an unknown expectation is a problem, but not in report mode (RFC 9110 §10.1.1)', async (t) => {
  for (const mode of ['enforce', 'report'] as const) {
    const app = Fastify(serverOptions())
    await app.register(problems, { mode })
    app.get('/v1/users', async () => ({}))
    const { port } = await serve(t, app)
    const request = 'GET /v1/users HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: a-miracle\r\n\r\n'
    const answer = await ask(port, request)
    t.equal(answer.status, 417)
    if (mode === 'enforce') isProblem(t, answer, { status: 417, code: 'expectation-failed' })
    else t.notOk('content-type' in answer.headers, 'as Node.js answers')
  }
})

async function appWithUsers(config: ProblemsRouteOptions | false): Promise<FastifyInstance> {
  const app = Fastify(serverOptions())
  await app.register(problems, { retryAfter: 9 })
  app.get('/v1/users', { config: { problems: config } }, async () => ({}))
  return app
}

/** Sends a request on a kept connection while the app closes, held open by a hook of the test. */
async function answerWhileClosing(t: Test, config: ProblemsRouteOptions | false) {
  const app = await appWithUsers(config)
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  app.addHook('preClose', async () => {
    begin()
    await released
  })
  const { port } = await serve(t, app)
  const connection = await openConnection(port)
  const closed = app.close()
  await begun
  connection.send('GET /v1/users HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await connection.received((bytes) => bytes.includes('\r\n\r\n'))
  release()
  const [answer] = parseAnswers(await connection.ended())
  await closed
  return answer
}
