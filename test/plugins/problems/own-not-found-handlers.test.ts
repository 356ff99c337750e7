import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type preHandlerHookHandler,
} from 'fastify'
import t from 'tap'
import conventions, { problems } from '../../../src/index.js'
import { appWith, refuses } from './support.js'

const own = { own: true }
const notFound = { status: 404, code: 'not-found' }

type NotFound = (request: FastifyRequest, reply: FastifyReply) => void
const answerOwn: NotFound = (_request, reply) => void reply.code(404).send(own)

type Step = (app: FastifyInstance) => unknown
const set: Step = (app) => app.setNotFoundHandler(answerOwn)
const plug: Step = (app) => app.register(problems)

t.test('a not-found handler of the app is kept, set before or after; a finding says so', async (t) => {
  const preset: Step = (app) => app.register(conventions, { pathGuard: false })
  const setLater: Step = (app) => app.register(async (child) => void set(child))
  const orders: Readonly<Record<string, readonly Step[]>> = {
    before: [set, plug],
    after: [plug, set],
    'after the preset': [preset, set],
    'in a plugin that is registered later': [plug, setLater],
  }
  for (const [order, steps] of Object.entries(orders)) {
    // Below a prefix, Fastify takes one handler.
    for (const prefix of order === 'before' ? ['', '/v1'] : ['']) {
      const about = `${order}, below ${prefix}`
      const app = Fastify()
      let report = () => app.conventions.report()
      await app.register(
        async (child) => {
          for (const step of steps) await step(child)
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
  for (const mode of ['report', 'off'] as const) {
    const app = Fastify()
    set(app)
    await app.register(problems, { mode })
    await app.ready()
    t.equal(app.conventions.report().findings.length, mode === 'report' ? 1 : 0, mode)
  }
})

t.test('a not-found handler that replaces the plugin’s has its own hooks and context', async (t) => {
  const app = await appWith()
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
  for (const steps of [
    [set, plug],
    [plug, set],
  ]) {
    const app = Fastify()
    for (const step of steps) await step(app)
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
  await refuses(t, app, '/nothing', notFound)
  t.strictSame(reports, [[], []])
})

t.test('below a prefix, a child context may have its own not-found handler, or the plugin', async (t) => {
  const app = await appWith()
  app.register(async (child) => void set(child), { prefix: '/site' })
  t.strictSame((await app.inject('/site/nothing')).json(), own)
  await refuses(t, app, '/nothing', notFound)

  const other = Fastify()
  const plugin = async (child: FastifyInstance) => {
    await child.register(problems)
    child.get('/users', async () => ({}))
  }
  other.register(plugin, { prefix: '/v1' })
  await refuses(t, other, '/v1/nothing', notFound)
  await refuses(t, other, { method: 'POST', url: '/v1/users' }, { status: 405, code: 'method-not-allowed' })
  t.equal((await other.inject('/nothing')).json().statusCode, 404, 'outside it is Fastify that answers')
})

t.test('reply.callNotFound() is a 404 for every method, and not a 405', async (t) => {
  const app = Fastify()
  await app.register(conventions)
  const handler = (_request: FastifyRequest, reply: FastifyReply) => reply.callNotFound()
  app.route({ method: ['GET', 'DELETE'], url: '/v1/users/:id', handler })
  app.register(async (child) => void child.get('/users/:id', handler), { prefix: '/v2' })
  for (const [method, url] of [
    ['GET', '/v1/users/42'],
    ['DELETE', '/v1/users/42'],
    ['GET', '/v2/users/42'],
  ] as const) {
    const expected = { ...notFound, detail: `There is nothing at ${url}` }
    const { headers } = await refuses(t, app, { method, url }, expected, `${method} ${url}`)
    t.notOk('allow' in headers, `${method} ${url}: no Allow`)
  }
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/users/42' })).statusCode, 404)
})
