import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  type RouteShorthandOptions,
} from 'fastify'
import t from 'tap'
import conventions, {
  formatReport,
  ProblemError,
  type ProblemsOptions,
  problems,
} from '../../../src/index.js'
import { injected, isProblem } from '../../support/problem.js'

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

type SetUp = (app: FastifyInstance, options: ProblemsOptions, handler: typeof answerMessage) => Promise<void>

const places: Readonly<Record<string, SetUp>> = {
  before: async (app, options, handler) => {
    app.setErrorHandler(handler)
    await app.register(problems, options)
    addRoutes(app)
  },
  after: async (app, options, handler) => {
    await app.register(problems, options)
    addRoutes(app)
    app.setErrorHandler(handler)
  },
  'in a child': async (app, options, handler) => {
    await app.register(problems, options)
    app.register(async (child) => {
      addRoutes(child)
      child.setErrorHandler(handler)
    })
  },
  'on the routes': async (app, options, handler) => {
    await app.register(problems, options)
    addRoutes(app, { errorHandler: handler })
  },
}

t.test(
  'wrap: what an error handler sends is a problem, with the code and the faults of the error',
  async (t) => {
    for (const [place, setUp] of Object.entries(places)) {
      const app = Fastify()
      let runs = 0
      await setUp(app, wrap, (error, request, reply) => {
        runs++
        answerMessage(error, request, reply)
      })
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
  },
)

t.test('wrap: what a handler sends without an error is a problem, but for HTML', async (t) => {
  for (const [place, setUp] of Object.entries(places)) {
    const app = Fastify()
    await setUp(app, wrap, answerMessage)
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
    await setUp(app, wrap, always500)
    const invalid = injected(await app.inject({ method: 'POST', url: '/v1/users', payload: {} }))
    isProblem(t, invalid, { status: 400, code: 'validation' }, place)
    isProblem(t, injected(await app.inject('/v1/thrown')), { status: 409, code: 'not-retryable' }, place)
    const broken = injected(await app.inject('/v1/conflict'))
    isProblem(t, broken, { status: 500, code: 'internal-server-error' }, `${place}: of the app’s own errors`)
    t.notMatch(broken.body, 'secret')
  }
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
    isProblem(t, answered, { status: 404, code: 'not-found', detail: 'nothing here' })
    t.match(JSON.parse(answered.body), { hint: 'up' })
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
  const common = { plugin: 'problems', rule: 'error-handler', mode: 'report', effect: 'none' }
  t.match(app.conventions.report().findings, [
    { ...common, route: 'GET /v1/own', problem: 'an error handler of the app answers its errors' },
    { ...common, route: 'GET /v1/users' },
    { ...common, route: 'POST /v1/users' },
  ])
  t.equal(app.conventions.report().findings.length, 3)
})

t.test('leave: a handler of the whole app is one row of the report', async (t) => {
  for (const isBefore of [true, false]) {
    const app = Fastify()
    if (isBefore) app.setErrorHandler(answerMessage)
    await app.register(problems)
    for (let index = 0; index < 30; index++) app.get(`/v1/users-${index}`, async () => ({}))
    if (!isBefore) app.setErrorHandler(answerMessage)
    await app.ready()
    t.equal(app.conventions.report().findings.length, 30)
    t.match(
      formatReport(app.conventions.report(), 'github'),
      /^::notice .*GET \/v1\/users-10 and 27 more: [^\n]*$/,
    )
  }
})

t.test('keepMembers: each problem has the members that earlier clients read', async (t) => {
  const keepMembers = ['message', 'error', 'statusCode']
  for (const options of [{}, wrap]) {
    const app = Fastify()
    if (options === wrap) app.setErrorHandler(answerMessage)
    await app.register(problems, { ...options, keepMembers })
    addRoutes(app)
    app.get('/v1/own', async (_request, reply) => reply.code(409).send({ message: 'm', error: { id: 7 } }))
    app.get('/v1/own_error', async (_request, reply) => reply.code(409).send({ error: 'no funds' }))
    const bodyOf = async (url: string) => (await app.inject(url)).json()
    const cases = [
      ['/v1/conflict', { statusCode: 409, error: 'Conflict', message: 'It is paid' }],
      ['/v1/json', { statusCode: 409, message: 'no', detail: 'no', balance: 3 }],
      ['/nothing', { statusCode: 404, error: 'Not Found', message: 'There is nothing at /nothing' }],
      ['/v1/own', { message: 'm', detail: 'm', error: { id: 7 } }],
      ['/v1/own_error', { message: 'no funds', detail: 'no funds', error: 'no funds' }],
    ] as const
    for (const [url, members] of cases) t.match(await bodyOf(url), members, url)
    const broken = await bodyOf('/v1/broken')
    t.equal(broken.message, broken.detail, 'a 5xx has the fixed text')
    t.notMatch(JSON.stringify(broken), 'secret')
  }
})

t.test('keepMembers: a member that may be no text is as the app sent it, or absent', async (t) => {
  const app = Fastify()
  await app.register(problems, { ...wrap, keepMembers: ['issues', 'details'] })
  app.get('/v1/issues', async (_request, reply) =>
    reply.code(409).send({ message: 'dup', issues: [{ id: 1 }] }),
  )
  app.get('/v1/dup', async (_request, reply) => reply.code(409).send({ message: 'dup' }))
  app.get('/v1/broken', async () => Promise.reject(new Error('secret')))
  const bodyOf = async (url: string) => (await app.inject(url)).json()
  const issues = await bodyOf('/v1/issues')
  t.same(issues.issues, [{ id: 1 }])
  for (const url of ['/v1/issues', '/v1/dup', '/v1/broken', '/v1/nothing']) {
    t.notOk('details' in (await bodyOf(url)), url)
  }
  t.notOk('issues' in (await bodyOf('/v1/dup')))
})

t.test('what a health route sends is kept; what it throws is a problem', async (t) => {
  for (const mode of ['enforce', 'report'] as const) {
    const app = Fastify()
    await app.register(problems, { mode })
    const down = { status: 'error', timestamp: 1 }
    const kept = ['/health', '/internal/healthz', '/api/v1/status', '/health/ready']
    for (const url of kept) app.get(url, async (_request, reply) => reply.code(503).send(down))
    const replaced = ['/v1/orders/:id/status', '/v1/orders']
    for (const url of replaced) app.get(url, async (_request, reply) => reply.code(503).send(down))
    app.get('/ping', async () => Promise.reject(new Error('secret')))
    for (const url of kept) {
      const response = await app.inject(url)
      t.equal(response.statusCode, 503)
      t.same(response.json(), down, url)
    }
    const { observations } = app.conventions.report()
    t.ok(
      observations.every(({ effect }) => effect === 'header added'),
      'no change of a body is counted',
    )
    if (mode === 'report') continue
    for (const url of [...replaced, '/ping']) t.ok((await app.inject(url)).json().code, url)
  }
})

t.test('handlers of the app in any order: no warning of Fastify, and no refusal is a 500', async (t) => {
  const warnings: string[] = []
  const note = (warning: Error & { readonly code?: string }) => void warnings.push(`${warning.code}`)
  process.on('warning', note)
  const own = (_request: FastifyRequest, reply: FastifyReply) => void reply.code(404).send({ own: true })
  const strict = { allowErrorHandlerOverride: false } as FastifyServerOptions
  for (const handler of [answerMessage, always500]) {
    for (const isBefore of [true, false]) {
      for (const errorHandler of ['leave', 'wrap'] as const) {
        const app = Fastify(strict)
        if (isBefore) app.setErrorHandler(handler)
        await app.register(conventions, { problems: { errorHandler }, rateLimit: { max: 4 } })
        const response = { 200: { type: 'object' } }
        const caching = { validators: () => ({ version: 7 }), preconditions: 'required' } as const
        app.get('/v1/users', { schema: { response }, config: { rateLimit: false } }, async () => ({}))
        app.put('/v1/users/:id', { config: { caching, rateLimit: false } }, async () => ({}))
        app.get('/v1/counted', { config: { pathGuard: false } }, async () => ({}))
        if (!isBefore) app.setErrorHandler(handler)
        app.register(async (child) => {
          child.setErrorHandler(handler)
          child.get('/v1/orders', { schema: { response } }, async () => ({}))
        })
        const about = `${handler.name}, ${isBefore ? 'before' : 'after'}, ${errorHandler}`
        const headers = { 'if-match': '"old"' }
        const answers = [
          [await app.inject({ url: '/v1/users', headers: { accept: 'text/csv' } }), 406],
          [await app.inject({ url: '/v1/orders', headers: { accept: 'text/csv' } }), 406],
          [await app.inject({ url: '/v1/users', headers }), 412],
          [await app.inject({ method: 'PUT', url: '/v1/users/1', headers }), 412],
          [await app.inject({ method: 'PUT', url: '/v1/users/1' }), 428],
          [await app.inject('/v1/Users'), 404],
          [await app.inject('/v1/nothing'), 404],
          [await app.inject({ method: 'PUT', url: '/v1/users' }), 405],
        ] as const
        for (const [answer, status] of answers) {
          const { code } = answer.json()
          isProblem(t, injected(answer), { status, code }, `${about}: ${status}`)
        }
        for (let count = 0; count < 5; count++) await app.inject('/v1/counted')
        const limited = injected(await app.inject('/v1/counted'))
        isProblem(t, limited, { status: 429, code: 'quota-exceeded' }, about)
      }
    }
    const app = Fastify(strict)
    await app.register(problems)
    app.setNotFoundHandler(own)
    app.setErrorHandler(handler)
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
