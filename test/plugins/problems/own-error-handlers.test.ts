import { Readable } from 'node:stream'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  type RouteShorthandOptions,
} from 'fastify'
import t, { type Test } from 'tap'
import conventions, { ProblemError, problems } from '../../../src/index.js'
import { keepLogs, levels } from '../../support/logs.js'
import { appWith, refuses } from './support.js'

type Handler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void
type AddRoutes = (app: FastifyInstance, options?: RouteShorthandOptions) => void
type SetUp = (app: FastifyInstance, plug: () => unknown, add: AddRoutes, handler: Handler) => Promise<void>

/** Where an app may set its error handler. */
const places: Readonly<Record<string, SetUp>> = {
  before: async (app, plug, add, handler) => {
    app.setErrorHandler(handler)
    await plug()
    add(app)
  },
  after: async (app, plug, add, handler) => {
    await plug()
    app.setErrorHandler(handler)
    add(app)
  },
  'after the routes': async (app, plug, add, handler) => {
    await plug()
    add(app)
    app.setErrorHandler(handler)
  },
  'on the routes': async (app, plug, add, errorHandler) => {
    await plug()
    add(app, { errorHandler })
  },
  'in a child': async (app, plug, add, handler) => {
    await plug()
    app.register(async (child) => {
      child.setErrorHandler(handler)
      add(child)
    })
  },
}

/** A service’s own error format, by which a test knows whose answer it sees. */
const answerInOwnFormat: Handler = (error, _request, reply) => {
  const { statusCode = 500, code } = Object(error)
  reply.code(statusCode).send({ own: true, code })
}

// Fastify says by an error, and not by a warning, that a handler is replaced.
const strict = { allowErrorHandlerOverride: false } as FastifyServerOptions

const named = { schema: { body: { type: 'object', required: ['name'] } } }
const produced = { schema: { response: { 200: { type: 'object' } } } }

const addOrdinaryRoutes: AddRoutes = (app, own = {}) => {
  app.get('/thrown', own, async () => Promise.reject(new Error('broken')))
  app.get('/null', own, async () => Promise.reject(null))
  app.get('/written', own, async (_request, reply) => reply.code(409).send({ mine: true }))
  app.get('/produced', { ...own, ...produced }, async () => ({}))
  app.post('/validated', { ...own, ...named }, async () => ({}))
}

t.test('an error handler of the app has precedence where it is set, below, and only there', async (t) => {
  for (const [place, setUp] of Object.entries(places)) {
    const app = Fastify(strict)
    const add: AddRoutes = (context, own) => {
      addOrdinaryRoutes(context, own)
      context.register(async (below) => addOrdinaryRoutes(below, own), { prefix: '/below' })
    }
    await setUp(app, () => app.register(problems), add, answerInOwnFormat)
    app.register(async (child) => addOrdinaryRoutes(child), { prefix: '/beside' })
    for (const prefix of ['', '/below']) await answersAre(t, app, prefix, true, place)
    const isOfAll = place !== 'on the routes' && place !== 'in a child'
    await answersAre(t, app, '/beside', isOfAll, `${place}, beside`)
  }
})

async function answersAre(t: Test, app: FastifyInstance, prefix: string, own: boolean, about: string) {
  for (const [method, path, status, code, body] of [
    ['GET', '/thrown', 500, 'internal-server-error', { own: true }],
    ['GET', '/null', 500, 'internal-server-error', { own: true }],
    ['GET', '/written', 409, 'conflict', { mine: true }],
    ['POST', '/validated', 400, 'validation', { own: true, code: 'FST_ERR_VALIDATION' }],
    ['GET', '/produced', 406, 'not-acceptable', null],
  ] as const) {
    const payload = method === 'POST' ? { payload: {} } : {}
    const request = { method, url: prefix + path, headers: { accept: 'text/html' }, ...payload }
    if (own && body !== null) {
      const answer = await app.inject(request)
      t.strictSame([answer.statusCode, answer.json()], [status, body], `${about}: ${path}`)
    } else await refuses(t, app, request, { status, code }, `${about}: ${path}`)
  }
}

t.test('an error that an error handler rethrows, or throws itself, is a problem', async (t) => {
  const app = await appWith()
  const passOn = (error: unknown, _: unknown, reply: FastifyReply) => void reply.send(error)
  const fail = async () => Promise.reject(new Error('secret'))
  const paid = Object.assign(new Error('paid'), { statusCode: 409 })
  for (const [path, handler] of Object.entries({ 'passed-on': passOn, failed: fail }))
    app.register(async (child) => {
      child.setErrorHandler(handler)
      child.get(`/${path}`, async () => Promise.reject(paid))
    })
  await refuses(t, app, '/passed-on', { status: 409, code: 'conflict', detail: 'paid' })
  const failed = await refuses(t, app, '/failed', { status: 500, code: 'internal-server-error' })
  t.notMatch(failed.body, 'secret')
})

/** The usual handler: what it does not know is a 500. */
const answerCatchAll: Handler = (error, _request, reply) => {
  if (error instanceof TeapotError) reply.code(418).send({ teapot: true })
  else reply.code(500).send({ message: 'Something went wrong' })
}

class TeapotError extends Error {}

const user = { type: 'object', properties: { name: { type: 'string' } } }

/** What the package or Fastify refuses, of the routes of `addRefusingRoutes`. */
const stale = { 'if-match': '"old"' }
const posted = (type: string, payload: string) =>
  ({ method: 'POST', url: '/v1/users', headers: { 'content-type': type }, payload }) as const
const override = { method: 'POST', url: '/v1/users', headers: { 'x-http-method-override': 'JUMP' } } as const
const refusals = [
  [{ url: '/v1/nothing' }, 404, 'not-found'],
  [{ ...posted('application/json', '{"broken'), url: '/v1/nothing' }, 404, 'not-found'],
  [{ ...posted('application/json', '{"broken'), method: 'PUT' }, 405, 'method-not-allowed'],
  [{ url: '/v1/users', headers: { accept: 'text/csv' } }, 406, 'not-acceptable'],
  [{ url: '/v1/users', headers: stale }, 412, 'precondition-failed'],
  [{ method: 'PUT', url: '/v1/users/1', headers: stale }, 412, 'precondition-failed'],
  [{ method: 'PUT', url: '/v1/users/1' }, 428, 'precondition-required'],
  [{ url: '/v1/Users' }, 404, 'path-uppercase'],
  [{ url: '/v1/users?fields=zz' }, 400, 'fields-invalid'],
  [{ url: '/v1/orders?limit=x' }, 400, 'validation'],
  [override, 400, 'method-override-invalid'],
  [posted('application/json', '{"name"'), 400, 'body-malformed'],
  [posted('application/json', `"${'x'.repeat(300)}"`), 413, 'content-too-large'],
  [posted('text/csv', 'a'), 415, 'unsupported-media-type'],
  [posted('text/plain', 'a'), 415, 'unsupported-media-type'],
  [{ url: '/v1/operations/none' }, 404, 'not-found'],
  [{ url: '/v1/naps' }, 503, 'handler-timeout'],
] as const

const addRefusingRoutes: AddRoutes = (app, options = {}) => {
  const response = { 200: { type: 'object', properties: { users: { type: 'array', items: user } } } }
  const caching = { validators: () => ({ version: 7 }), preconditions: 'required' } as const
  app.get('/v1/users', { ...options, schema: { response } }, async () => ({ users: [] }))
  app.get('/v1/orders', { ...options, config: { lists: {} } }, async (_request, reply) => reply.list([]))
  app.post('/v1/users', { ...options, schema: { body: user }, bodyLimit: 200 }, async () => ({}))
  app.put('/v1/users/:id', { ...options, config: { caching } }, async () => ({}))
  app.get('/v1/naps', { ...options, handlerTimeout: 1 }, () => new Promise(() => {}))
  app.get('/v1/teapots', options, async () => Promise.reject(new TeapotError()))
  app.get('/v1/conflicts', options, async () =>
    Promise.reject(new ProblemError('not-retryable', { status: 409, detail: 'It is paid' })),
  )
}

t.test('refusals of the package are problems, if the app’s handler would send a 500', async (t) => {
  const typeBase = 'https://errors.example/'
  for (const [place, setUp] of Object.entries(places)) {
    const app = Fastify()
    const plug = () => app.register(conventions, { problems: { typeBase } })
    await setUp(app, plug, addRefusingRoutes, answerCatchAll)
    for (const [request, status, code] of [...refusals, ['/v1/conflicts', 409, 'not-retryable'] as const]) {
      const about = `${place}: ${status} ${code}`
      const { headers } = await refuses(t, app, request, { status, code, typeBase }, about)
      t.equal(headers['cache-control'], 'no-store', `${about}: is not stored`)
    }
    t.match((await app.inject({ method: 'PUT', url: '/v1/users' })).headers.allow, 'POST', place)
    t.strictSame((await app.inject('/v1/teapots')).json(), { teapot: true }, `${place}: what it knows`)
    await app.maintenance.enable()
    await refuses(t, app, '/v1/users', { status: 503, code: 'maintenance', typeBase }, place)
  }
})

t.test('refusals: errorHandler: the app’s handler gets all, with status and headers', async (t) => {
  const app = Fastify()
  await app.register(conventions, { problems: { refusals: 'errorHandler' } })
  const seen: unknown[] = []
  app.setErrorHandler((error, _request, reply) => {
    seen.push((error as { code?: string }).code)
    reply.send({ own: true })
  })
  addRefusingRoutes(app)
  // These have Fastify's own codes there.
  const ofFastify = ['body-malformed', 'content-too-large', 'unsupported-media-type', 'handler-timeout']
  for (const [request, status, code] of refusals) {
    const answer = await app.inject(request)
    t.strictSame(answer.json(), { own: true }, code)
    if (!ofFastify.includes(code)) t.strictSame([answer.statusCode, seen.at(-1)], [status, code])
  }
  t.match((await app.inject({ method: 'PATCH', url: '/v1/users' })).headers.allow, 'GET')
})

t.test('an error handler may answer a ProblemError with a stream, bytes, or a text for a 500', async (t) => {
  for (const [about, status, answered, body] of [
    ['stream', 409, 500, Readable.from(['own'])],
    ['bytes', 409, 409, Buffer.from('own')],
    ['text', 500, 500, 'own'],
  ] as const) {
    const app = await appWith()
    app.setErrorHandler((_error, _request, reply) => void reply.code(answered).type('text/plain').send(body))
    app.get('/', async () => Promise.reject(new ProblemError('own', { status })))
    const { statusCode, payload } = await app.inject('/')
    t.strictSame([statusCode, payload], [answered, 'own'], about)
  }
})

t.test('a ProblemError that a hook of the app throws on an unknown path is a problem', async (t) => {
  const app = await appWith()
  app.setErrorHandler(answerCatchAll)
  app.addHook('onRequest', async () => Promise.reject(new ProblemError('unauthorized')))
  await refuses(t, app, '/v1/nothing', { status: 401, code: 'unauthorized' })
})

/** The handler that most apps have. */
const answerMessage: Handler = (error, _request, reply) => {
  const { statusCode = 500, message } = Object(error)
  reply.code(statusCode).send({ message })
}

const always500: Handler = (_error, _request, reply) => void reply.code(500).send({ message: 'secret' })

const conflict = Object.assign(new Error('It is paid'), { statusCode: 409, code: 'E_PAID' })
const wrap = { errorHandler: 'wrap' } as const

const addRoutes: AddRoutes = (app, own = {}) => {
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
  for (const [name, payload] of Object.entries(written))
    app.get(`/v1/${name}`, own, async (_request, reply) => reply.code(409).send(payload))
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
  for (const [name, logged] of [
    ['thrown', ['no disk']],
    ['sent', ['{"message":"no disk"}']],
    ['empty', []],
  ] as const) {
    lines.length = 0
    await app.inject(`/v1/${name}`)
    const errors = lines.flatMap(({ level, err }) => (level === levels.error ? [Object(err)] : []))
    const told = errors.map((err) => err.message ?? String(err))
    t.strictSame(told, logged, name)
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
  const told = app.conventions.report().findings.map(({ route, rule, effect }) => [route, rule, effect])
  t.strictSame(told, [
    ['GET /v1/own', 'error-handler', 'none'],
    ['GET, POST /v1/users', 'error-handler', 'none'],
  ])
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
