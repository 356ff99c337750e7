import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  type RouteShorthandOptions,
} from 'fastify'
import t from 'tap'
import conventions, { ProblemError, problems } from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'
import { places } from './places.js'

/** The handler that most apps have. */
function answerMessage(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode = 500, message } = error as { readonly statusCode?: number; readonly message: string }
  reply.code(statusCode).send({ message })
}

const always500 = (_error: unknown, _request: FastifyRequest, reply: FastifyReply): void =>
  void reply.code(500).send({ message: 'secret' })

const conflict = Object.assign(new Error('It is paid'), { statusCode: 409, code: 'E_PAID' })
const wrap = { errorHandler: 'wrap' } as const

function addRoutes(app: FastifyInstance, own: RouteShorthandOptions = {}): void {
  app.get('/v1/conflict', own, async () => Promise.reject(conflict))
  app.get('/v1/broken', own, async () => Promise.reject(new Error('secret')))
  app.get('/v1/thrown', own, async () =>
    Promise.reject(new ProblemError('not-retryable', { status: 409, extensions: { tries: 3 } })),
  )
  const body = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }
  app.post('/v1/users', { ...own, schema: { body } }, async () => ({}))
  const written = { json: { message: 'no', balance: 3 }, error: { error: 'no funds' }, text: 'no text' }
  for (const [name, payload] of Object.entries(written)) {
    app.get(`/v1/${name}`, own, async (_request, reply) => reply.code(409).send(payload))
  }
  app.get('/v1/html', own, async (_request, reply) => reply.code(409).type('text/html').send('<h1>No</h1>'))
  app.get('/v1/response', own, () => Response.json({ a: 1 }, { status: 409 }))
}

t.test('wrap: what an error handler sends is a problem, with code and faults of the error', async (t) => {
  for (const [place, setUp] of Object.entries(places)) {
    const app = Fastify()
    let runs = 0
    await setUp(
      app,
      () => app.register(problems, wrap),
      addRoutes,
      (error, request, reply) => {
        runs++
        answerMessage(error, request, reply)
      },
    )
    const ask = async (url: string) => injected(await app.inject(url))
    isProblem(t, await ask('/v1/conflict'), { status: 409, code: 'conflict', detail: 'It is paid' }, place)
    isProblem(t, await ask('/v1/broken'), { status: 500, code: 'internal-server-error' }, place)
    t.notMatch((await ask('/v1/broken')).body, 'secret', `${place}: a 5xx has no text of the error`)
    const thrown = await ask('/v1/thrown')
    isProblem(t, thrown, { status: 409, code: 'not-retryable' }, place)
    t.match(JSON.parse(thrown.body), { tries: 3 }, place)
    const invalid = injected(await app.inject({ method: 'POST', url: '/v1/users', payload: {} }))
    const errors = [{ in: 'body', pointer: '/name', message: 'is required' }]
    isProblem(t, invalid, { status: 400, code: 'validation', errors }, place)
    t.equal(runs, 5, `${place}: the handler runs once for each error`)
    t.strictSame(app.conventions.report().findings, [], `${place}: there is nothing to tell`)
  }
})

t.test('wrap: what a handler sends without an error is a problem, but for HTML', async (t) => {
  for (const [place, setUp] of Object.entries(places)) {
    const app = Fastify()
    await setUp(app, () => app.register(problems, wrap), addRoutes, answerMessage)
    const ask = async (url: string) => injected(await app.inject(url))
    isProblem(t, await ask('/v1/json'), { status: 409, code: 'conflict', detail: 'no' }, place)
    t.match(JSON.parse((await ask('/v1/json')).body), { balance: 3 }, place)
    isProblem(t, await ask('/v1/error'), { status: 409, code: 'conflict', detail: 'no funds' }, place)
    isProblem(t, await ask('/v1/text'), { status: 409, code: 'conflict', detail: 'no text' }, place)
    isProblem(t, await ask('/v1/response'), { status: 409, code: 'conflict' }, place)
    t.equal((await ask('/v1/html')).body, '<h1>No</h1>', place)
  }
})

t.test('wrap: a fault in the input is a 400, also behind a handler that always sends 500', async (t) => {
  for (const [place, setUp] of Object.entries(places)) {
    const app = Fastify()
    await setUp(app, () => app.register(problems, wrap), addRoutes, always500)
    const invalid = injected(await app.inject({ method: 'POST', url: '/v1/users', payload: {} }))
    isProblem(t, invalid, { status: 400, code: 'validation' }, place)
    isProblem(t, injected(await app.inject('/v1/thrown')), { status: 409, code: 'not-retryable' }, place)
    const broken = injected(await app.inject('/v1/conflict'))
    isProblem(t, broken, { status: 500, code: 'internal-server-error' }, `${place}: of the app’s own errors`)
    t.notMatch(broken.body, 'secret')
  }
})

t.test('wrap: an empty answer of an error handler is a problem', async (t) => {
  const app = Fastify()
  app.setErrorHandler((_error, _request, reply) => void reply.code(409).send())
  await app.register(problems, wrap)
  addRoutes(app)
  isProblem(t, injected(await app.inject('/v1/broken')), { status: 409, code: 'conflict' })
})

t.test('wrap: what a not-found handler of the app sends is a problem', async (t) => {
  for (const isBefore of [true, false]) {
    const app = Fastify()
    const answer = (_request: FastifyRequest, reply: FastifyReply) =>
      void reply.code(404).send({ message: 'nothing here', hint: 'up' })
    if (isBefore) app.setNotFoundHandler(answer)
    await app.register(problems, wrap)
    if (!isBefore) app.setNotFoundHandler(answer)
    const answered = injected(await app.inject('/nothing'))
    const { hint } = isProblem(t, answered, { status: 404, code: 'not-found', detail: 'nothing here' })
    t.equal(hint, 'up')
  }
})

t.test('wrap in report mode: nothing changes, and the responses are counted', async (t) => {
  const app = Fastify()
  app.setErrorHandler(answerMessage)
  await app.register(problems, { ...wrap, mode: 'report' })
  addRoutes(app)
  t.strictSame((await app.inject('/v1/conflict')).json(), { message: 'It is paid' })
  t.match(app.conventions.report().observations, [
    { plugin: 'problems', rule: 'body', route: 'GET /v1/conflict', effect: 'changed', count: 1 },
  ])
})

t.test('leave: findings name the routes whose errors a handler of the app answers', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/orders', async () => ({}))
  app.get('/v1/own', { errorHandler: answerMessage }, async () => ({}))
  app.register(async (child) => {
    child.setErrorHandler(answerMessage)
    child.get('/v1/users', async () => ({}))
    child.post('/v1/users', async () => ({}))
  })
  await app.ready()
  const { findings } = app.conventions.report()
  const problem = 'an error handler of the app answers its errors'
  const common = { plugin: 'problems', rule: 'error-handler', mode: 'report', effect: 'none', problem }
  t.match(findings, [
    { ...common, route: 'GET /v1/own' },
    { ...common, route: 'GET /v1/users' },
    { ...common, route: 'POST /v1/users' },
  ])
  t.equal(findings.length, 3)
})

t.test('keepMembers: each problem has the members that earlier clients read', async (t) => {
  for (const options of [{}, wrap]) {
    const app = Fastify()
    if (options === wrap) app.setErrorHandler(answerMessage)
    await app.register(problems, { ...options, keepMembers: ['message', 'error', 'statusCode', 'issues'] })
    addRoutes(app)
    const own = (url: string, body: object) => app.get(url, async (_, reply) => reply.code(409).send(body))
    own('/v1/own', { message: 'm', error: { id: 7 } })
    own('/v1/own_error', { error: 'no funds' })
    own('/v1/issues', { message: 'dup', issues: [{ id: 1 }] })
    const bodyOf = async (url: string) => (await app.inject(url)).json()
    for (const [url, members] of [
      ['/v1/conflict', { statusCode: 409, error: 'Conflict', message: 'It is paid' }],
      ['/v1/json', { statusCode: 409, message: 'no', detail: 'no', balance: 3 }],
      ['/nothing', { statusCode: 404, error: 'Not Found', message: 'There is nothing at /nothing' }],
      ['/v1/own', { message: 'm', detail: 'm', error: { id: 7 } }],
      ['/v1/own_error', { message: 'no funds', detail: 'no funds', error: 'no funds' }],
    ] as const) {
      const body = await bodyOf(url)
      t.match(body, members, url)
      t.notOk('issues' in body, `${url}: a member that may be no text is absent`)
    }
    t.same((await bodyOf('/v1/issues')).issues, [{ id: 1 }], 'or as the app sent it')
    const broken = await bodyOf('/v1/broken')
    t.notOk('issues' in broken)
    t.equal(broken.message, broken.detail, 'a 5xx has the fixed text')
    t.notMatch(JSON.stringify(broken), 'secret')
  }
})

t.test('what a health route sends is kept; what it throws is a problem', async (t) => {
  const kept = ['/health', '/internal/healthz', '/api/v1/status', '/health/ready']
  const replaced = ['/v1/orders/:id/status', '/v1/orders']
  const down = { status: 'error', timestamp: 1 }
  for (const mode of ['enforce', 'report'] as const) {
    const app = Fastify()
    await app.register(problems, { mode })
    for (const url of [...kept, ...replaced]) app.get(url, async (_, reply) => reply.code(503).send(down))
    app.get('/ping', async () => Promise.reject(new Error('secret')))
    for (const url of kept) {
      const response = await app.inject(url)
      t.strictSame([response.statusCode, response.json()], [503, down], url)
    }
    const effects = app.conventions.report().observations.map(({ effect }) => effect)
    t.strictSame([...new Set(effects)], mode === 'report' ? ['header added'] : [], 'no body is changed')
    if (mode === 'report') continue
    for (const url of [...replaced, '/ping']) t.type((await app.inject(url)).json().code, 'string', url)
  }
})

t.test('handlers of the app in any order: no warning of Fastify', async (t) => {
  const warnings: string[] = []
  const note = (warning: Error & { readonly code?: string }) => void warnings.push(`${warning.code}`)
  process.on('warning', note)
  const strict = { allowErrorHandlerOverride: false } as FastifyServerOptions
  for (const setUp of Object.values(places)) {
    for (const options of [{}, wrap]) {
      const app = Fastify(strict)
      await setUp(app, () => app.register(problems, options), addRoutes, answerMessage)
      await app.ready()
    }
  }
  for (const isBefore of [true, false]) {
    const app = Fastify(strict)
    if (isBefore) app.setErrorHandler(always500)
    await app.register(conventions)
    app.setNotFoundHandler((_, reply) => void reply.code(404).send({ own: true }))
    if (!isBefore) app.setErrorHandler(always500)
    await app.ready()
  }
  const twice = Fastify(strict)
  await twice.register(problems)
  twice.setErrorHandler(answerMessage)
  t.throws(() => twice.setErrorHandler(answerMessage), { code: 'FST_ERR_ERROR_HANDLER_ALREADY_SET' })
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', note)
  t.strictSame(warnings, [])
})
