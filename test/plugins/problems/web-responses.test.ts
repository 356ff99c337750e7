import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { type ProblemsOptions, type ProblemsRouteOptions, problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

/** Web responses that a handler may return, by their names. */
const responses: Readonly<Record<string, () => Response>> = {
  text: () => new Response('hello no', { status: 404 }),
  json: () => Response.json({ message: 'no user 42' }, { status: 404 }),
  empty: () => new Response(null, { status: 404 }),
  closed: () => new Response('later', { status: 503, headers: { 'retry-after': '60' } }),
}

t.test('a web Response with the status of an error becomes a problem', async (t) => {
  const app = await appWithResponses(responses)
  for (const name of ['text', 'json', 'empty']) {
    isProblem(t, injected(await app.inject(`/v1/${name}`)), { status: 404, code: 'not-found' }, name)
  }
  const closed = await app.inject('/v1/closed')
  isProblem(t, injected(closed), { status: 503, code: 'service-unavailable' })
  t.equal(closed.headers['retry-after'], '60')
})

t.test('with problems off or in report mode, a web Response is sent as Fastify sends it', async (t) => {
  const table: ReadonlyArray<
    readonly [about: string, options: ProblemsOptions, route: ProblemsRouteOptions | false, own: boolean]
  > = [
    ['mode: report', { mode: 'report' }, {}, false],
    ['mode: off', { mode: 'off' }, {}, false],
    ['a route in report', {}, { mode: 'report' }, false],
    ['config.problems: false', {}, false, false],
    ['an error handler of the app', {}, {}, true],
  ]
  const bare = Fastify()
  addResponses(bare, responses)
  for (const [about, options, route, hasHandler] of table) {
    const app = Fastify()
    if (hasHandler) app.setErrorHandler(async () => ({ own: true }))
    await app.register(problems, options)
    addResponses(app, responses, route)
    for (const name of Object.keys(responses)) {
      const expected = await bare.inject(`/v1/${name}`)
      const received = await app.inject(`/v1/${name}`)
      const what = ({ statusCode, payload, headers }: typeof received) => {
        const { date, ...others } = headers
        return { statusCode, payload, others }
      }
      t.strictSame(what(received), what(expected), `${about}: ${name}`)
    }
  }
})

t.test('in report mode such a Response is counted, with its own status', async (t) => {
  const app = await appWithResponses(responses, { mode: 'report' })
  await app.inject('/v1/text')

  const [observation] = app.conventions.report().observations
  t.match(observation, { rule: 'body', route: '/v1/text', example: '404 without a problem document' })
})

t.test('a Response that is a problem document is not changed', async (t) => {
  const own = '{"type":"https://errors.example/poor","title":"Not enough money"}'
  const headers = { 'content-type': 'application/problem+json; charset=utf-8' }
  const app = await appWithResponses({
    poor: () => new Response(own, { status: 402, headers }),
    closed: () => new Response(own, { status: 503, headers }),
    cacheable: () =>
      new Response(own, { status: 404, headers: { ...headers, 'cache-control': 'max-age=5' } }),
  })

  const poor = await app.inject('/v1/poor')
  t.strictSame([poor.statusCode, poor.payload], [402, own])
  const closed = await app.inject('/v1/closed')
  t.strictSame([closed.statusCode, closed.payload], [503, own])
  t.equal(closed.headers['retry-after'], '5', 'a 503 always has one')
  t.equal(closed.headers['cache-control'], 'no-store')
  t.equal((await app.inject('/v1/cacheable')).headers['cache-control'], 'max-age=5')
})

t.test('headers of the Response stay, except those that frame its body (RFC 9112 §6)', async (t) => {
  const headers = new Headers({ 'www-authenticate': 'Bearer', 'x-a': '1', 'transfer-encoding': 'chunked' })
  for (const cookie of ['a=1', 'b=2']) headers.append('set-cookie', cookie)
  headers.set('content-encoding', 'gzip')
  const app = await appWithResponses({ login: () => new Response('no', { status: 401, headers }) })
  const response = await app.inject('/v1/login')

  isProblem(t, injected(response), { status: 401, code: 'unauthorized' })
  t.match(response.headers, { 'www-authenticate': 'Bearer', 'x-a': '1', 'set-cookie': ['a=1', 'b=2'] })
  t.notOk('content-encoding' in response.headers)
  t.notOk('transfer-encoding' in response.headers)
})

t.test('the status of the Response takes precedence over that of the reply', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/users', async (_request, reply) => reply.code(404).send(new Response('here', { status: 200 })))

  const { statusCode, payload } = await app.inject('/v1/users')
  t.strictSame([statusCode, payload], [200, 'here'])
})

type Responses = Readonly<Record<string, () => Response>>

async function appWithResponses(given: Responses, options: ProblemsOptions = {}): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems, options)
  addResponses(app, given)
  return app
}

function addResponses(
  app: FastifyInstance,
  given: Responses,
  route: ProblemsRouteOptions | false = {},
): void {
  for (const [name, respond] of Object.entries(given)) {
    app.get(`/v1/${name}`, { config: { problems: route } }, async () => respond())
  }
}
