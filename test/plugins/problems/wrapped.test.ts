import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  type RouteShorthandOptions,
} from 'fastify'
import t from 'tap'
import conventions, { ProblemError, problems } from '../../../src/index.js'
import { keepLogs } from '../../support/logs.js'
import { appWith, places, refuses } from './support.js'

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
  const broken = async () => Promise.reject(new Error('secret'))
  app.get('/v1/conflict', own, async () => Promise.reject(conflict))
  app.get('/v1/broken', own, broken)
  app.get('/v1/empty', { errorHandler: (_error, _request, reply) => void reply.code(409).send() }, broken)
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

t.test('wrap: what error handlers and handlers send is a problem, but for HTML', async (t) => {
  const ofFault = { status: 500, code: 'internal-server-error' }
  const ofConflict = { status: 409, code: 'conflict' }
  const paid = { status: 409, code: 'e-paid', detail: 'It is paid' }
  const errors = [{ in: 'body', pointer: '/name', message: 'is required' }]
  for (const [place, setUp] of Object.entries(places)) {
    for (const handler of [answerMessage, always500]) {
      const app = Fastify()
      const plug = () => app.register(problems, wrap)
      let runs = 0
      await setUp(app, plug, addRoutes, (error, request, reply) => {
        runs++
        handler(error, request, reply)
      })
      for (const [path, expected, members] of [
        ['conflict', handler === always500 ? ofFault : paid],
        ['broken', ofFault],
        ['thrown', { status: 409, code: 'not-retryable' }, { tries: 3 }],
        ['empty', ofConflict],
        ['json', { ...ofConflict, detail: 'no' }, { balance: 3 }],
        ['error', { ...ofConflict, detail: 'no funds' }],
        ['text', { ...ofConflict, detail: 'no text' }],
        ['response', ofConflict],
      ] as const) {
        const { document, body } = await refuses(t, app, `/v1/${path}`, expected, `${place}: ${path}`)
        t.match(document, members ?? {}, place)
        t.notMatch(body, 'secret', `${place}: a 5xx has no text of the error`)
      }
      // A handler that answers 500 does not know how to answer the input.
      const invalid = { method: 'POST', url: '/v1/users', payload: {} } as const
      await refuses(t, app, invalid, { status: 400, code: 'validation', errors }, place)
      t.equal(runs, 4, `${place}: the handler runs once for each error`)
      t.equal((await app.inject('/v1/html')).body, '<h1>No</h1>', place)
      t.strictSame(app.conventions.report().findings, [], `${place}: there is nothing to tell`)
    }
  }
})

t.test('what a 5xx hides is in the log once: the error, or the body that was sent without one', async (t) => {
  const { lines, logger } = keepLogs()
  const app = await appWith(wrap, { logger } as FastifyServerOptions)
  app.setErrorHandler(always500)
  app.get('/v1/thrown', async () => Promise.reject(new Error('no disk')))
  app.get('/v1/sent', async (_, reply) => reply.code(502).send({ message: 'no disk' }))
  app.get('/v1/empty', async (_, reply) => reply.code(500).send())
  for (const [name, err] of [
    ['thrown', { message: 'no disk' }],
    ['sent', '{"message":"no disk"}'],
  ] as const) {
    lines.length = 0
    await app.inject(`/v1/${name}`)
    t.match(
      lines.filter(({ level }) => level === 50),
      [{ err, req: { url: `/v1/${name}` } }],
      name,
    )
  }
  lines.length = 0
  await app.inject('/v1/empty')
  t.notOk(lines.find(({ level }) => level === 50))
})

t.test('wrap: what a not-found handler of the app sends is a problem', async (t) => {
  for (const isBefore of [true, false]) {
    const app = Fastify()
    const answer = (_request: FastifyRequest, reply: FastifyReply) =>
      void reply.code(404).send({ message: 'nothing here', hint: 'up' })
    if (isBefore) app.setNotFoundHandler(answer)
    await app.register(problems, wrap)
    if (!isBefore) app.setNotFoundHandler(answer)
    const expected = { status: 404, code: 'not-found', detail: 'nothing here' }
    t.equal((await refuses(t, app, '/nothing', expected)).document.hint, 'up')
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
  const app = await appWith()
  app.get('/v1/orders', async () => ({}))
  app.get('/v1/own', { errorHandler: answerMessage }, async () => ({}))
  app.register(async (child) => {
    child.setErrorHandler(answerMessage)
    child.route({ method: ['GET', 'POST'], url: '/v1/users', handler: async () => ({}) })
  })
  await app.ready()
  const { findings } = app.conventions.report()
  const problem = 'an error handler of the app answers its errors'
  const common = { plugin: 'problems', rule: 'error-handler', mode: 'report', effect: 'none', problem }
  t.match(findings, [
    { ...common, route: 'GET /v1/own' },
    { ...common, route: 'GET, POST /v1/users' },
  ])
  t.equal(findings.length, 2)
})

t.test('keepMembers: each problem has the members that earlier clients read', async (t) => {
  for (const options of [{}, wrap]) {
    const app = Fastify()
    if (options === wrap) app.setErrorHandler(answerMessage)
    await app.register(problems, { ...options, keepMembers: ['message', 'error', 'statusCode', 'issues'] })
    addRoutes(app)
    const own = (url: string, body: object) => app.get(url, async (_, reply) => reply.code(409).send(body))
    own('/v1/own', { message: 'm', error: { id: 7 } })
    own('/v1/issues', { message: 'dup', issues: [{ id: 1 }] })
    const bodyOf = async (url: string) => (await app.inject(url)).json()
    for (const [url, members] of [
      ['/v1/conflict', { statusCode: 409, error: 'Conflict', message: 'It is paid' }],
      ['/v1/json', { statusCode: 409, message: 'no', detail: 'no', balance: 3 }],
      ['/nothing', { statusCode: 404, error: 'Not Found', message: 'There is nothing at /nothing' }],
      ['/v1/own', { message: 'm', detail: 'm', error: { id: 7 } }],
      ['/v1/error', { message: 'no funds', detail: 'no funds', error: 'no funds' }],
    ] as const) {
      const body = await bodyOf(url)
      t.match(body, members, url)
      t.notOk('issues' in body, `${url}: a member that may be no text is absent`)
    }
    t.same((await bodyOf('/v1/issues')).issues, [{ id: 1 }], 'or as the app sent it')
    const broken = await bodyOf('/v1/broken')
    t.equal(broken.message, broken.detail, 'a 5xx has the fixed text')
    t.notMatch(JSON.stringify(broken), /secret|issues/)
  }
})

t.test('what a health route sends is kept; what it throws is a problem', async (t) => {
  const kept = ['/health', '/internal/healthz', '/api/v1/status', '/health/ready']
  const replaced = ['/v1/orders/:id/status', '/v1/orders']
  const down = { status: 'error', timestamp: 1 }
  for (const mode of ['enforce', 'report'] as const) {
    const app = await appWith({ mode })
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
    const app = Fastify(strict)
    await setUp(app, () => app.register(conventions, { pathGuard: false }), addRoutes, answerMessage)
    app.setNotFoundHandler((_, reply) => void reply.code(404).send({ own: true }))
    await app.ready()
  }
  const twice = await appWith({}, strict)
  twice.setErrorHandler(answerMessage)
  t.throws(() => twice.setErrorHandler(answerMessage), { code: 'FST_ERR_ERROR_HANDLER_ALREADY_SET' })
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', note)
  t.strictSame(warnings, [])
})
