import Fastify, { type FastifyInstance, type RouteShorthandOptions } from 'fastify'
import t from 'tap'
import { cors, maintenance, pathGuard, problems, rateLimit } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

const object = { type: 'object' }
const json = { schema: { response: { 200: object } } }

t.test('406 if Accept has no media type of the route (RFC 9110 §12.5.1, §15.5.7)', async (t) => {
  const app = await appWithRoute(json)
  const table: ReadonlyArray<readonly [accept: string, status: 200 | 406]> = [
    ['application/json', 200],
    ['APPLICATION/JSON', 200],
    ['application/json;charset=utf-8', 200],
    ['application/*', 200],
    ['*/*', 200],
    ['', 200],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 200],
    ['text/html, application/json;q=0.1', 200],
    ['application/json;q=0', 406],
    ['*/*, application/json;q=0', 406],
    ['*/*;q=0', 406],
    ['text/html', 406],
    ['application/xml, text/*', 406],
    ['application/problem+json', 406],
    ['no media range', 200],
  ]

  for (const [accept, status] of table) {
    const response = await app.inject({ url: '/v1/users', headers: { accept } })
    t.equal(response.statusCode, status, `Accept: ${accept}`)
    if (status === 406) {
      isProblem(t, injected(response), {
        status,
        code: 'not-acceptable',
        title: 'Not acceptable',
        detail: 'The resource is available as application/json',
      })
    }
  }
  t.equal((await app.inject('/v1/users')).statusCode, 200, 'no Accept at all')
})

t.test('the handler does not run for a 406', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/users', json, async () => t.fail('the handler runs'))

  t.equal((await app.inject({ url: '/v1/users', headers: { accept: 'text/html' } })).statusCode, 406)
})

t.test('the media types of a route are those of its response schema or its config', async (t) => {
  const csv = { 'text/csv': { schema: object } }
  const table: ReadonlyArray<
    readonly [about: string, options: RouteShorthandOptions, accept: string, status: number]
  > = [
    ['no schema', {}, 'text/html', 200],
    ['a schema of errors only', { schema: { response: { 404: object } } }, 'text/html', 200],
    ['no content', { schema: { response: { 204: { type: 'null' } } } }, 'text/html', 200],
    ['media types in the schema', { schema: { response: { 200: { content: csv } } } }, 'text/csv', 200],
    [
      'media types in the schema',
      { schema: { response: { 200: { content: csv } } } },
      'application/json',
      406,
    ],
    ['several statuses', { schema: { response: { 200: object, 201: { content: csv } } } }, 'text/csv', 200],
    ['a range of statuses', { schema: { response: { '2xx': object } } }, 'text/html', 406],
    [
      'default beside success is for errors',
      { schema: { response: { 204: { type: 'null' }, default: object } } },
      'text/html',
      200,
    ],
    [
      'default beside success is for errors',
      {
        schema: {
          response: { 200: object, default: { content: { 'application/problem+json': { schema: object } } } },
        },
      },
      'application/problem+json',
      406,
    ],
    ['config: off', { ...json, config: { problems: false } }, 'text/html', 200],
  ]
  for (const [about, options, accept, status] of table) {
    const app = await appWithRoute(options)
    const response = await app.inject({ url: '/v1/users', headers: { accept } })
    t.equal(response.statusCode, status, `${about}, Accept: ${accept}`)
  }
})

t.test('errors are problems whatever Accept is, never HTML', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/thrown', async () => Promise.reject(new Error('broken')))
  const table = [
    ['GET', '/v1/thrown', 500, 'internal-server-error'],
    ['GET', '/nothing', 404, 'not-found'],
    ['POST', '/v1/thrown', 405, 'method-not-allowed'],
  ] as const

  for (const accept of ['text/html', 'application/xml', 'image/png', 'application/json;q=0', 'nonsense']) {
    for (const [method, url, status, code] of table) {
      const response = await app.inject({ method, url, headers: { accept } })
      isProblem(t, injected(response), { status, code }, `${method} ${url}, Accept: ${accept}`)
    }
  }
})

t.test('Accept of a HEAD request is checked like that of GET', async (t) => {
  const app = await appWithRoute(json)

  const refused = await app.inject({ method: 'HEAD', url: '/v1/users', headers: { accept: 'text/html' } })
  t.equal(refused.statusCode, 406)
  t.equal(refused.payload, '')
  const served = await app.inject({ method: 'HEAD', url: '/v1/users', headers: { accept: '*/*' } })
  t.equal(served.statusCode, 200)
})

t.test('the same Accept has the same result each time', async (t) => {
  const app = await appWithRoute(json)
  for (const [accept, status] of [
    ['text/html', 406],
    ['application/json', 200],
  ] as const) {
    for (let time = 1; time <= 3; time++) {
      t.equal(
        (await app.inject({ url: '/v1/users', headers: { accept } })).statusCode,
        status,
        `${accept} ${time}`,
      )
    }
  }
})

t.test('many different Accept headers each have the right result', async (t) => {
  const app = await appWithRoute(json)
  for (let index = 0; index < 300; index++) {
    const odd = index % 2 === 1
    const accept = `text/x${index}${odd ? '' : ', application/json'}`
    const { statusCode } = await app.inject({ url: '/v1/users', headers: { accept } })
    if (statusCode !== (odd ? 406 : 200)) t.fail(`Accept: ${accept} gave ${statusCode}`)
  }
})

async function appWithRoute(options: RouteShorthandOptions): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/users', options, async (_request, reply) => reply.type('application/json').send('{}'))
  return app
}

t.test(
  'a 406 counts against the quota and comes after authentication, in any order of registration',
  async (t) => {
    for (const isFirst of [true, false]) {
      const app = Fastify()
      if (isFirst) await app.register(problems)
      await app.register(cors, { origin: ['https://a.example'] })
      await app.register(rateLimit, { max: 3 })
      if (!isFirst) await app.register(problems)
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
      t.equal((await ask()).statusCode, 429)
    }
  },
)

t.test('in maintenance, a request with an unacceptable Accept is a 503 too', async (t) => {
  const app = Fastify()
  await app.register(problems)
  await app.register(maintenance)
  app.get('/v1/users', json, async () => ({}))
  app.get('/v1/health', { ...json, config: { maintenance: false } }, async () => ({}))
  await app.maintenance.enable()
  const headers = { accept: 'text/html' }
  t.equal((await app.inject({ url: '/v1/users', headers })).statusCode, 503)
  t.equal((await app.inject({ url: '/v1/health', headers })).statusCode, 406)
})

t.test('refusals have the style of the app, in any order of registration', async (t) => {
  const app = Fastify()
  await app.register(pathGuard)
  await app.register(maintenance)
  const typeBase = 'https://errors.example/'
  await app.register(problems, { typeBase })
  app.get('/v1/users', json, async () => ({}))
  isProblem(t, injected(await app.inject('/v1/Users')), { status: 404, code: 'path-uppercase', typeBase })
  await app.maintenance.enable()
  isProblem(t, injected(await app.inject('/v1/users')), { status: 503, code: 'maintenance', typeBase })
})
