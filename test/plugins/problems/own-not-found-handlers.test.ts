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
  const orders: readonly (readonly [about: string, steps: readonly Step[], prefix?: string])[] = [
    ['before', [set, plug]],
    ['before, below a prefix', [set, plug], '/v1'],
    ['after', [plug, set]],
    ['after the preset', [preset, set]],
    ['in a plugin that is registered later', [plug, setLater]],
  ]
  for (const [about, steps, prefix = ''] of orders) {
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
  for (const [prefix, steps] of [
    ['', [set, plug, set]],
    ['', [plug, set, set]],
    ['/v1', [plug, set]],
  ] as const) {
    const app = Fastify()
    const plugin = async (child: FastifyInstance) => {
      for (const step of steps) await step(child)
    }
    app.register(plugin, { prefix })
    await t.rejects(async () => app.ready(), /Not found handler already set/, prefix)
  }
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
  for (const method of ['GET', 'DELETE'] as const) {
    const expected = { ...notFound, detail: 'There is nothing at /v1/users/42' }
    const { headers } = await refuses(t, app, { method, url: '/v1/users/42' }, expected)
    t.notOk('allow' in headers, `${method}: no Allow`)
  }
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/users/42' })).statusCode, 404)
})
