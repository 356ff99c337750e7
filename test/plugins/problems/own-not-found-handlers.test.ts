import Fastify from 'fastify'
import t from 'tap'
import conventions, { pathGuard, problems } from '../../../src/index.js'
import { keepLogs } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

const own = { own: true }

t.test('a not-found handler that the app has set before is kept', async (t) => {
  const { logger, lines } = keepLogs('info')
  const app = Fastify({ logger })
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(own))
  await app.register(problems)
  app.get('/v1/users', async () => ({}))

  t.strictSame((await app.inject('/nothing')).json(), own, 'an unknown path')
  t.strictSame((await app.inject({ method: 'POST', url: '/v1/users' })).json(), own, 'another method')
  t.ok(
    lines.some(({ msg }) => msg === 'problems: the not-found handler of the app stays'),
    'the log says so',
  )
})

t.test('a not-found handler that is set later needs notFound: leave', async (t) => {
  const app = Fastify()
  await app.register(problems, { notFound: 'leave' })
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(own))
  t.strictSame((await app.inject('/nothing')).json(), own)

  const refused = Fastify()
  await refused.register(problems)
  t.throws(() => refused.setNotFoundHandler(() => {}), /Not found handler already set/)
})

t.test('notFound: leave without a handler keeps Fastify’s own 404', async (t) => {
  const app = Fastify()
  await app.register(problems, { notFound: 'leave' })
  const response = await app.inject('/nothing')

  t.strictSame(response.json(), {
    message: 'Route GET:/nothing not found',
    error: 'Not Found',
    statusCode: 404,
  })
})

t.test('a child context with a prefix may have its own not-found handler', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.register(
    async (child) => {
      child.setNotFoundHandler((_request, reply) =>
        reply.code(404).type('text/html').send('<h1>Nothing</h1>'),
      )
    },
    { prefix: '/site' },
  )

  t.equal((await app.inject('/site/nothing')).payload, '<h1>Nothing</h1>')
  isProblem(t, injected(await app.inject('/nothing')), { status: 404, code: 'not-found' })
})

t.test('the plugin in a child context with a prefix handles 404s below that prefix', async (t) => {
  const app = Fastify()
  app.register(
    async (child) => {
      await child.register(problems)
      child.get('/users', async () => ({}))
    },
    { prefix: '/v1' },
  )

  isProblem(t, injected(await app.inject('/v1/nothing')), { status: 404, code: 'not-found' })
  const response = await app.inject({ method: 'POST', url: '/v1/users' })
  isProblem(t, injected(response), { status: 405, code: 'method-not-allowed' })
  t.equal((await app.inject('/nothing')).json().statusCode, 404, 'outside it is Fastify that answers')
})

t.test('pathGuard refuses an uppercase path before the not-found handler of the app', async (t) => {
  const app = Fastify()
  app.setNotFoundHandler(() => t.fail('no handler runs'))
  await app.register(problems)
  await app.register(pathGuard)

  isProblem(t, injected(await app.inject('/V1')), { status: 404, code: 'path-uppercase' })
})

t.test('reply.callNotFound() is a 404 for every method', async (t) => {
  const app = Fastify()
  await app.register(conventions)
  app.get('/v1/users/:id', async (_request, reply) => reply.callNotFound())
  app.delete('/v1/users/:id', async (_request, reply) => reply.callNotFound())
  app.register(
    async (child) => {
      child.get('/users/:id', async (_request, reply) => reply.callNotFound())
    },
    { prefix: '/v2' },
  )

  for (const [method, url] of [
    ['GET', '/v1/users/42'],
    ['DELETE', '/v1/users/42'],
    ['HEAD', '/v1/users/42'],
    ['GET', '/v2/users/42'],
  ] as const) {
    const response = await app.inject({ method, url })
    t.equal(response.statusCode, 404, `${method} ${url}`)
    t.equal(response.headers['content-type'], 'application/problem+json', `${method} ${url}`)
    t.notOk('allow' in response.headers, `${method} ${url}: it is no 405`)
    if (method !== 'HEAD') {
      isProblem(t, injected(response), {
        status: 404,
        code: 'not-found',
        detail: `There is nothing at ${url}`,
      })
    }
  }
})

t.test('only the error of a second not-found handler is ignored', async (t) => {
  const app = Fastify()
  app.setNotFoundHandler = () => {
    throw new TypeError('another error')
  }
  await t.rejects(async () => app.register(problems), { message: 'another error' })
})
