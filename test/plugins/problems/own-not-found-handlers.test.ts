import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import t from 'tap'
import conventions, { pathGuard, problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

const own = { own: true }

const answerOwn = (_request: FastifyRequest, reply: FastifyReply) => void reply.code(404).send(own)

t.test('a not-found handler of the app is kept, set before or after; a finding says so', async (t) => {
  const orders: Readonly<Record<string, (app: FastifyInstance) => Promise<void>>> = {
    before: async (app) => {
      app.setNotFoundHandler(answerOwn)
      await app.register(problems)
    },
    after: async (app) => {
      await app.register(problems)
      app.setNotFoundHandler(answerOwn)
    },
    'after the preset': async (app) => {
      await app.register(conventions, { pathGuard: false })
      app.setNotFoundHandler(answerOwn)
    },
    'in a plugin that is registered later': async (app) => {
      await app.register(problems)
      app.register(async (child) => void child.setNotFoundHandler(answerOwn))
    },
  }
  const prefixed = async (app: FastifyInstance, prefix: string, setUp: (app: FastifyInstance) => unknown) => {
    let report = () => app.conventions.report()
    await app.register(
      async (child) => {
        await setUp(child)
        child.get('/users', async () => ({}))
        child.get('/unknown', async (_request, reply) => reply.callNotFound())
        report = () => child.conventions.report()
      },
      { prefix },
    )
    return report
  }
  for (const [order, setUp] of Object.entries(orders)) {
    for (const prefix of ['', '/v1']) {
      // Below a prefix, Fastify takes one handler.
      if (prefix !== '' && order !== 'before') continue
      const about = `${order}, ${prefix || 'at the root'}`
      const app = Fastify()
      const path = prefix === '' ? '/v1' : ''
      const report = await prefixed(app, prefix, async (child) => {
        await setUp(child)
        child.get(`${path}/orders`, async () => ({}))
      })
      for (const url of [`${prefix}/nothing`, `${prefix}/unknown`]) {
        t.strictSame((await app.inject(url)).json(), own, `${about}: ${url}`)
      }
      const posted = await app.inject({ method: 'POST', url: `${prefix}${path}/orders` })
      t.strictSame(posted.json(), own, `${about}: another method`)
      t.match(report().findings, [{ rule: 'not-found-handler', route: '*', effect: 'none' }], about)
    }
  }
})

t.test(
  'a not-found handler that replaces that of the plugin has its own hooks and its context',
  async (t) => {
    const app = Fastify()
    await app.register(problems)
    const steps: string[] = []
    app.decorate('place', 'root')
    app.register(async (child) => {
      child.decorate('own', 'child')
      child.setNotFoundHandler(
        {
          preValidation: async () => void steps.push('preValidation'),
          preHandler: function (this: FastifyInstance, _request, _reply, next) {
            steps.push(`preHandler ${'own' in this}`)
            next()
          },
        },
        function (this: FastifyInstance, _request, reply) {
          reply.code(404).send({ isChild: 'own' in this })
        },
      )
    })
    t.strictSame((await app.inject('/nothing')).json(), { isChild: true })
    t.strictSame(steps, ['preValidation', 'preHandler true'])
  },
)

t.test('an app that sets two not-found handlers itself gets the error of Fastify', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.setNotFoundHandler(answerOwn)
  t.throws(() => app.setNotFoundHandler(answerOwn), /Not found handler already set/)
  const one = Fastify()
  one.setNotFoundHandler(answerOwn)
  await one.register(problems)
  t.throws(() => one.setNotFoundHandler(answerOwn), /Not found handler already set/)
})

t.test('below a prefix, a not-found handler that is set after is an error', async (t) => {
  const app = Fastify()
  app.register(
    async (child) => {
      await child.register(problems)
      child.setNotFoundHandler(answerOwn)
    },
    { prefix: '/v1' },
  )
  await t.rejects(async () => app.ready(), /Not found handler already set/)
})

t.test('contexts beside each other with one prefix share the not-found handler of the first', async (t) => {
  const app = Fastify()
  const reports: unknown[] = []
  for (const name of ['users', 'orders']) {
    app.register(async (child) => {
      await child.register(problems)
      child.get(`/${name}`, async () => ({}))
      child.addHook('onReady', async () => void reports.push(child.conventions.report().findings))
    })
  }
  isProblem(t, injected(await app.inject('/nothing')), { status: 404, code: 'not-found' })
  t.strictSame(reports, [[], []])
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
    t.notOk('allow' in response.headers, `${method} ${url}: it is not a 405`)
    if (method !== 'HEAD') {
      isProblem(t, injected(response), {
        status: 404,
        code: 'not-found',
        detail: `There is nothing at ${url}`,
      })
    }
  }
})
