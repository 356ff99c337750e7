import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import conventions, {
  type Mode,
  type ProblemsOptions,
  type ProblemsRouteOptions,
  problems,
} from '../../../src/index.js'
import { appWith, refuses } from './support.js'

t.test('an invalid option throws, with its name, the expected and the received value', async (t) => {
  const invalid = 'FST_CONV_OPTION_INVALID'
  const unknown =
    'problems.typebase: there is no such option; expected one of codes, earlierRoutes, errorHandler, keepMembers, mode, refusals, toJsonSchema, typeBase, whileClosing'
  const noMember = 'problems.keepMembers[0]: expected a name that a problem document does not have'
  const rows: ReadonlyArray<readonly [options: object, message: string | RegExp, code?: string]> = [
    [{ mode: 'loud' }, "problems.mode: expected one of 'enforce', 'report', 'off', received 'loud'"],
    [{ typeBase: 'not a URL ' }, /^problems\.typeBase: expected the beginning of a URI/],
    [{ whileClosing: null }, "problems.whileClosing: expected one of 'refuse', 'serve', received null"],
    [{ refusals: true }, "problems.refusals: expected one of 'answer', 'errorHandler', received true"],
    [{ errorHandler: 'keep' }, "problems.errorHandler: expected one of 'leave', 'wrap', received 'keep'"],
    [{ keepMembers: ['detail'] }, `${noMember}, received 'detail'`],
    [{ keepMembers: ['__proto__'] }, `${noMember}, received '__proto__'`],
    [{ keepMembers: [''] }, `${noMember}, received ''`],
    [{ codes: { E_FUNDS: 409 } }, /^problems\.codes/],
    [{ codes: { funds: 200 } }, /^problems\.codes/],
    [{ codes: ['funds'] }, /^problems\.codes: expected an object of codes/],
    [{ typebase: 'x' }, unknown, 'FST_CONV_OPTION_UNKNOWN'],
  ]
  for (const [options, message, code = invalid] of rows)
    await t.rejects(async () => Fastify().register(problems, options), { code, message })
  await Fastify().register(problems, { codes: { funds: 400, 'no-funds': 599 } })
  const app = await appWith()
  const label = 'GET /v1/users config.problems'
  for (const [config, message] of [
    [true, `${label}: expected an object or false, received true`],
    [null, `${label}: expected an object or false, received null`],
    [{ mode: 'on' }, `${label}.mode: expected one of 'enforce', 'report', 'off', received 'on'`],
  ]) {
    const options = { config: { problems: config as ProblemsRouteOptions } }
    t.throws(() => app.get('/v1/users', options, async () => ({})), { code: invalid, message })
  }
})

t.test('mode: the route takes precedence over the plugin, the plugin over the preset', async (t) => {
  type Row = readonly [Mode, plugin: ProblemsOptions, route: ProblemsRouteOptions | false, enforced: boolean]
  const rows: readonly Row[] = [
    ['enforce', {}, {}, true],
    ['enforce', {}, { mode: 'report' }, false],
    ['enforce', {}, false, false],
    ['enforce', { mode: 'report' }, {}, false],
    ['report', { mode: 'enforce' }, {}, true],
    ['report', {}, { mode: 'enforce' }, true],
  ]
  for (const row of rows) {
    const [mode, plugin, route, isEnforced] = row
    const app = Fastify()
    await app.register(conventions, { mode, problems: plugin, pathGuard: false })
    const config = { problems: route }
    app.get('/thrown', { config }, async () => Promise.reject(new Error('broken')))
    app.get('/written', { config }, async (_, reply) => reply.code(500).send({ message: 'broken' }))
    for (const path of ['/thrown', '/written']) {
      const type = (await app.inject(path)).headers['content-type']
      t.equal(type === 'application/problem+json', isEnforced, `${path}: ${JSON.stringify(row)}`)
    }
  }
})

t.test('an error body that a hook sends on an unknown path becomes a problem', async (t) => {
  const app = await appWith()
  app.addHook('onRequest', async (_request, reply) => reply.code(401).send({ message: 'no' }))
  await refuses(t, app, '/v1/nothing', { status: 401, code: 'unauthorized', detail: 'no' })
})

t.test('each hook runs once on an error', async (t) => {
  const [app, steps, hooks] = [await appWith(), [] as string[], ['onError', 'onSend', 'onResponse'] as const]
  for (const name of hooks) app.addHook(name as 'onResponse', async () => void steps.push(name))
  app.get('/v1/thrown', async () => Promise.reject(new Error('broken')))
  await app.inject('/v1/thrown')
  t.strictSame(steps, hooks)
})

t.test('report mode counts error bodies that enforce mode would replace', async (t) => {
  const app = await appWith({ mode: 'report' })
  const type = 'application/problem+json'
  app.get('/v1/written', async (_request, reply) => reply.code(409).send({ message: 'paid' }))
  app.get('/v1/problem', async (_request, reply) => reply.code(409).type(type).send({ title: 'Paid' }))
  const own = async (child: FastifyInstance) =>
    void child.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: true }))
  app.register(own, { prefix: '/own' })
  for (const url of ['/v1/written', '/v1/problem', '/v1/nothing', '/own/nothing']) await app.inject(url)
  const told = app.conventions.report().observations.map(({ rule, example, count }) => [rule, example, count])
  t.strictSame(told, [
    ['body', '409 without a problem document', 1],
    ['body', '409 without cache-control', 1],
    ['body', '404 without a problem document', 1],
  ])
})
