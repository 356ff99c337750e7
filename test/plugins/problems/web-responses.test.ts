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
  const bare = Fastify()
  addResponses(bare, responses)
  for (const [options, route, hasHandler] of [
    [{ mode: 'report' }, {}, false],
    [{ mode: 'off' }, {}, false],
    [{}, { mode: 'report' }, false],
    [{}, false, false],
    [{}, {}, true],
  ] as const) {
    const app = Fastify()
    if (hasHandler) app.setErrorHandler(async () => ({ own: true }))
    await app.register(problems, options)
    addResponses(app, responses, route)
    for (const name of Object.keys(responses)) {
      const [expected, received] = [await bare.inject(`/v1/${name}`), await app.inject(`/v1/${name}`)]
      const { date: _, ...headers } = expected.headers
      const { date: __, ...others } = received.headers
      const about = `${name} ${JSON.stringify([options, route, hasHandler])}`
      t.equal(received.payload, expected.payload, about)
      t.strictSame([received.statusCode, others], [expected.statusCode, headers], about)
    }
    if (options.mode !== 'report') continue
    const [observation] = app.conventions.report().observations
    t.match(observation, { rule: 'body', route: '/v1/text', example: '404 without a problem document' })
  }
})

t.test('a Response that is a problem document is not changed', async (t) => {
  const own = '{"type":"https://errors.example/poor","title":"Not enough money"}'
  const type = { 'content-type': 'application/problem+json; charset=utf-8' }
  const answers = (status: number, headers = {}) =>
    new Response(own, { status, headers: { ...type, ...headers } })
  const app = await appWithResponses({
    poor: () => answers(402),
    closed: () => answers(503),
    cacheable: () => answers(404, { 'cache-control': 'max-age=5' }),
  })
  for (const [name, statusCode, headers] of [
    ['poor', 402, { 'cache-control': 'no-store' }],
    ['closed', 503, { 'cache-control': 'no-store', 'retry-after': '5' }],
    ['cacheable', 404, { 'cache-control': 'max-age=5' }],
  ] as const) {
    const response = await app.inject(`/v1/${name}`)
    t.strictSame([response.statusCode, response.payload], [statusCode, own], name)
    for (const [field, value] of Object.entries(headers)) t.equal(response.headers[field], value, name)
  }
})

t.test('headers of the Response stay, except those that frame its body (RFC 9112 §6)', async (t) => {
  const headers = new Headers({ 'www-authenticate': 'Bearer', 'x-a': '1', 'transfer-encoding': 'chunked' })
  for (const cookie of ['a=1', 'b=2']) headers.append('set-cookie', cookie)
  headers.set('content-encoding', 'gzip')
  headers.set('content-script-type', 'text/plain')
  headers.set('connection', 'close')
  const app = await appWithResponses({ login: () => new Response('no', { status: 401, headers }) })
  const response = await app.inject('/v1/login')

  isProblem(t, injected(response), { status: 401, code: 'unauthorized' })
  t.match(response.headers, { 'www-authenticate': 'Bearer', 'x-a': '1', 'set-cookie': ['a=1', 'b=2'] })
  for (const name of ['content-encoding', 'content-script-type', 'transfer-encoding'])
    t.notOk(name in response.headers, name)
  t.equal(response.headers.connection, 'keep-alive')
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
