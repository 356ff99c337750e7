import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type preHandlerHookHandler,
} from 'fastify'
import t from 'tap'
import conventions, { problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

const own = { own: true }

type NotFound = (request: FastifyRequest, reply: FastifyReply) => void
const answerOwn: NotFound = (_request, reply) => void reply.code(404).send(own)

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
  for (const [order, setUp] of Object.entries(orders)) {
    // Below a prefix, Fastify takes one handler.
    for (const prefix of order === 'before' ? ['', '/v1'] : ['']) {
      const about = `${order}, below ${prefix}`
      const app = Fastify()
      let report = () => app.conventions.report()
      await app.register(
        async (child) => {
          await setUp(child)
          child.get('/orders', { config: { pathGuard: false } }, async () => ({}))
          child.get('/unknown', async (_request, reply) => reply.callNotFound())
          report = () => child.conventions.report()
        },
        { prefix },
      )
      for (const [method, path] of [
        ['GET', '/nothing'],
        ['GET', '/unknown'],
        ['POST', '/orders'],
      ] as const) {
        const answer = await app.inject({ method, url: `${prefix}${path}` })
        t.strictSame(answer.json(), own, `${about}: ${method} ${path}`)
      }
      t.match(report().findings, [{ rule: 'not-found-handler', route: '*', effect: 'none' }], about)
    }
  }
})

t.test('in report mode a not-found handler of the app is no finding', async (t) => {
  const app = Fastify()
  app.setNotFoundHandler(answerOwn)
  await app.register(problems, { mode: 'report' })
  await app.ready()
  t.strictSame(app.conventions.report().findings, [])
})

t.test('a not-found handler that replaces the plugin’s has its own hooks and context', async (t) => {
  const app = Fastify()
  await app.register(problems)
  const steps: string[] = []
  app.register(async (child) => {
    child.decorate('own', 'child')
    const preHandler: preHandlerHookHandler = function (_request, _reply, next) {
      steps.push(`preHandler ${'own' in this}`)
      next()
    }
    const preValidation = async () => void steps.push('preValidation')
    child.setNotFoundHandler({ preValidation, preHandler }, function (this: FastifyInstance, _, reply) {
      reply.code(404).send({ isChild: 'own' in this })
    })
  })
  t.strictSame((await app.inject('/nothing')).json(), { isChild: true })
  t.strictSame(steps, ['preValidation', 'preHandler true'])
})

t.test('two not-found handlers of an app, or one below a prefix, are the error of Fastify', async (t) => {
  const message = /Not found handler already set/
  const set = (app: FastifyInstance) => app.setNotFoundHandler(answerOwn)
  for (const isBefore of [true, false]) {
    const app = Fastify()
    if (isBefore) set(app)
    await app.register(problems)
    if (!isBefore) set(app)
    t.throws(() => set(app), message)
  }
  const app = Fastify()
  const plugin = async (child: FastifyInstance) => {
    await child.register(problems)
    set(child)
  }
  app.register(plugin, { prefix: '/v1' })
  await t.rejects(async () => app.ready(), message)
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

t.test('below a prefix, a child context may have its own not-found handler, or the plugin', async (t) => {
  const app = Fastify()
  await app.register(problems)
  const page: NotFound = (_request, reply) => void reply.code(404).type('text/html').send('<h1>Nothing</h1>')
  app.register(async (child) => void child.setNotFoundHandler(page), { prefix: '/site' })
  t.equal((await app.inject('/site/nothing')).payload, '<h1>Nothing</h1>')
  isProblem(t, injected(await app.inject('/nothing')), { status: 404, code: 'not-found' })

  const other = Fastify()
  const plugin = async (child: FastifyInstance) => {
    await child.register(problems)
    child.get('/users', async () => ({}))
  }
  other.register(plugin, { prefix: '/v1' })
  isProblem(t, injected(await other.inject('/v1/nothing')), { status: 404, code: 'not-found' })
  const refused = injected(await other.inject({ method: 'POST', url: '/v1/users' }))
  isProblem(t, refused, { status: 405, code: 'method-not-allowed' })
  t.equal((await other.inject('/nothing')).json().statusCode, 404, 'outside it is Fastify that answers')
})

t.test('reply.callNotFound() is a 404 for every method', async (t) => {
  const app = Fastify()
  await app.register(conventions)
  const handler = (_request: FastifyRequest, reply: FastifyReply) => reply.callNotFound()
  app.route({ method: ['GET', 'DELETE'], url: '/v1/users/:id', handler })
  app.register(async (child) => void child.get('/users/:id', handler), { prefix: '/v2' })
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
    const detail = `There is nothing at ${url}`
    if (method !== 'HEAD') isProblem(t, injected(response), { status: 404, code: 'not-found', detail })
  }
})
