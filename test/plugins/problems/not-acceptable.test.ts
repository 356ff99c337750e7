import Fastify, { type FastifyInstance, type RouteShorthandOptions } from 'fastify'
import t from 'tap'
import { cors, maintenance, problems, rateLimit } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'
import { appWith } from './support.js'

const object = { type: 'object' }
const json = { schema: { response: { 200: object } } }

async function appWithRoute(options: RouteShorthandOptions, onRun = () => 0): Promise<FastifyInstance> {
  const app = await appWith()
  app.get('/v1/users', options, async (_request, reply) => {
    onRun()
    return reply.type('application/json').send('{}')
  })
  return app
}

t.test('406 if Accept has no media type of the route (RFC 9110 §12.5.1, §15.5.7)', async (t) => {
  let runs = 0
  const app = await appWithRoute(json, () => runs++)
  const table: ReadonlyArray<readonly [accept: string | undefined, status: 200 | 406]> = [
    [undefined, 200],
    ['application/json', 200],
    ['', 200],
    ['text/html, APPLICATION/JSON;q=0.1', 200],
    ['*/*, application/json;q=0', 406],
    ['*/*', 200],
    ['application/problem+json', 406],
    ['no media range', 200],
  ]
  const expected = { status: 406, code: 'not-acceptable', title: 'Not acceptable' }
  const detail = 'The resource is available as application/json'
  for (const [accept, status] of [...table, ...table]) {
    const headers = accept === undefined ? {} : { accept }
    const response = await app.inject({ url: '/v1/users', headers })
    t.equal(response.statusCode, status, `Accept: ${accept}`)
    if (status === 406) isProblem(t, injected(response), { ...expected, detail })
    t.equal(response.headers.vary, status === 406 ? 'accept' : undefined, 'RFC 9110 §12.5.5')
    const head = await app.inject({ method: 'HEAD', url: '/v1/users', headers })
    t.equal(head.statusCode, status, `HEAD, Accept: ${accept}`)
    t.equal(head.payload, '')
    t.equal(runs, status === 406 ? 0 : 2, 'the handler')
    runs = 0
  }
})

t.test('the media types of a route are those of its response schema or its config', async (t) => {
  const csv = { content: { 'text/csv': { schema: object } } }
  const ofErrors = { content: { 'application/problem+json': { schema: object } } }
  const none = { type: 'null' }
  const rows: ReadonlyArray<readonly [response: object | undefined, accept: string, status: number]> = [
    [undefined, 'text/html', 200],
    [{ 404: object }, 'text/html', 200],
    [{ 204: none }, 'text/html', 200],
    [{ 200: csv }, 'text/csv', 200],
    [{ 200: csv }, 'application/json', 406],
    [{ 200: object, 201: csv }, 'text/csv', 200],
    [{ '2xx': object }, 'text/html', 406],
    // Beside a success, `default` is the schema of errors.
    [{ 204: none, default: object }, 'text/html', 200],
    [{ 200: object, default: ofErrors }, 'application/problem+json', 406],
  ]
  for (const [response, accept, status] of rows) {
    const app = await appWithRoute(response === undefined ? {} : { schema: { response } })
    const answer = await app.inject({ url: '/v1/users', headers: { accept } })
    t.equal(answer.statusCode, status, `${JSON.stringify(response)}, Accept: ${accept}`)
  }
  const off = await appWithRoute({ ...json, config: { problems: false } })
  t.equal((await off.inject({ url: '/v1/users', headers: { accept: 'text/html' } })).statusCode, 200)
})

t.test('a 406 counts against the quota, after authentication and maintenance, in any order', async (t) => {
  for (const isFirst of [true, false]) {
    const app = Fastify()
    if (isFirst) await app.register(problems)
    await app.register(cors, { origin: ['https://a.example'] })
    await app.register(rateLimit, { max: 3 })
    if (!isFirst) await app.register(problems)
    await app.register(maintenance)
    app.addHook('onRequest', async ({ headers }, reply) => {
      if (headers.authorization === undefined) return reply.code(401).send({})
    })
    app.get('/v1/users', json, async () => ({}))
    const ask = (more = {}) => {
      const headers = { accept: 'text/html', origin: 'https://a.example', ...more }
      return app.inject({ url: '/v1/users', headers })
    }
    t.equal((await ask()).statusCode, 401)
    for (const left of [1, 0]) {
      const response = await ask({ authorization: 'Bearer a' })
      isProblem(t, injected(response), { status: 406, code: 'not-acceptable' })
      t.equal(response.headers.ratelimit, `"default";r=${left};t=60`)
      t.equal(response.headers['access-control-allow-origin'], 'https://a.example', 'a page can read it')
    }
    t.equal((await ask({ authorization: 'Bearer a' })).statusCode, 429)
    await app.maintenance.enable()
    t.equal((await ask()).statusCode, 503)
  }
})
