import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RouteShorthandOptions,
} from 'fastify'
import t, { type Test } from 'tap'
import conventions, { ProblemError, problems } from '../../../src/index.js'
import { headerOf, injected, isProblem } from '../../support/problem.js'

/** A service’s own error format, by which a test knows whose answer it sees. */
function answerInOwnFormat(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode = 500, code } = error as { readonly statusCode?: number; readonly code?: string }
  reply.code(statusCode).send({ own: true, code })
}

function answerInHtml(_error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  reply.code(500).type('text/html').send('<h1>Sorry</h1>')
}

const named = { schema: { body: { type: 'object', required: ['name'] } } }
const produced = { schema: { response: { 200: { type: 'object' } } } }

function addRoutes(app: FastifyInstance): void {
  app.get('/thrown', async () => Promise.reject(new Error('broken')))
  app.get('/written', async (_request, reply) => reply.code(409).send({ mine: true }))
  app.get('/produced', produced, async () => ({}))
  app.post('/validated', named, async () => ({}))
}

t.test('an error handler of the app has precedence in its scope', async (t) => {
  t.test('set before the plugin', async (t) => {
    const app = Fastify()
    app.setErrorHandler(answerInOwnFormat)
    await app.register(problems)
    addRoutes(app)
    await answersAreItsOwn(t, app)
  })

  t.test('set after the plugin', async (t) => {
    const app = Fastify()
    await app.register(problems)
    app.setErrorHandler(answerInOwnFormat)
    addRoutes(app)
    await answersAreItsOwn(t, app)
  })

  t.test('set after the plugin and after the routes', async (t) => {
    const app = Fastify()
    await app.register(problems)
    addRoutes(app)
    app.setErrorHandler(answerInOwnFormat)
    await answersAreItsOwn(t, app)
  })

  t.test('set before the whole preset', async (t) => {
    const app = Fastify()
    app.setErrorHandler(answerInOwnFormat)
    await app.register(conventions, { pathGuard: { rules: { version: 'off', plural: 'off' } } })
    addRoutes(app)
    await answersAreItsOwn(t, app)
    const upper = await app.inject('/Thrown')
    isProblem(
      t,
      injected(upper),
      { status: 404, code: 'path-uppercase' },
      'what pathGuard refuses, it answers',
    )
  })
})

t.test('an error handler of a child context applies there; siblings and root have problems', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.register(
    async (child) => {
      child.setErrorHandler(answerInOwnFormat)
      addRoutes(child)
      child.register(async (grandchild) => addRoutes(grandchild), { prefix: '/below' })
    },
    { prefix: '/own' },
  )
  app.register(async (child) => addRoutes(child), { prefix: '/beside' })
  addRoutes(app)

  await answersAreItsOwn(t, app, '/own')
  await answersAreItsOwn(t, app, '/own/below')
  await answersAreProblems(t, app, '/beside')
  await answersAreProblems(t, app, '')
})

t.test('an error handler of a route applies to that route', async (t) => {
  const app = Fastify()
  await app.register(problems)
  const own = { errorHandler: answerInOwnFormat }
  app.get('/own/thrown', own, async () => Promise.reject(new Error('broken')))
  app.get('/own/written', own, async (_request, reply) => reply.code(409).send({ mine: true }))
  app.get('/own/produced', { ...own, ...produced }, async () => ({}))
  app.post('/own/validated', { ...own, ...named }, async () => ({}))
  addRoutes(app)

  await answersAreItsOwn(t, app, '/own')
  await answersAreProblems(t, app, '')
})

t.test('the response of an error handler is not changed, even HTML', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.register(async (child) => {
    child.setErrorHandler(answerInHtml)
    child.get('/child', async () => Promise.reject(new Error('broken')))
  })
  app.get('/route', { errorHandler: answerInHtml }, async () => Promise.reject(new Error('broken')))
  const own = { statusCode: 500, error: 'Sorry', message: 'in the form of Fastify' }
  const errorHandler = (_error: unknown, _request: FastifyRequest, reply: FastifyReply) =>
    void reply.code(500).send(own)
  app.get('/form', { errorHandler }, async () => Promise.reject(new Error('broken')))

  for (const path of ['/child', '/route']) {
    const response = await app.inject(path)
    t.equal(response.statusCode, 500, path)
    t.equal(response.payload, '<h1>Sorry</h1>', path)
    t.match(response.headers['content-type'], 'text/html', path)
  }
  t.strictSame((await app.inject('/form')).json(), own)
})

t.test('an error that an error handler rethrows, or throws itself, is a problem', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.register(async (child) => {
    child.setErrorHandler((error, _request, reply) => void reply.send(error))
    child.get('/passed-on', async () => Promise.reject(Object.assign(new Error('paid'), { statusCode: 409 })))
  })
  app.register(async (child) => {
    child.setErrorHandler(async () => Promise.reject(new Error('secret')))
    child.get('/failed', async () => Promise.reject(new Error('broken')))
  })

  const passedOn = injected(await app.inject('/passed-on'))
  isProblem(t, passedOn, { status: 409, code: 'conflict', detail: 'paid' })
  const failed = injected(await app.inject('/failed'))
  isProblem(t, failed, { status: 500, code: 'internal-server-error' })
  t.notMatch(failed.body, 'secret')
})

/** The usual handler: what it does not know is a 500. */
function answerCatchAll(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof TeapotError) reply.code(418).send({ teapot: true })
  else reply.code(500).send({ message: 'Something went wrong' })
}

class TeapotError extends Error {}

const json = { 'content-type': 'application/json' }
const user = { type: 'object', properties: { name: { type: 'string' } } }

/** What the package or Fastify refuses, of the routes of `addRefusingRoutes`. */
const refusals = [
  [{ url: '/v1/nothing' }, 404, 'not-found'],
  [{ method: 'POST', url: '/v1/nothing', headers: json, payload: '{"broken' }, 404, 'not-found'],
  [{ method: 'PUT', url: '/v1/users', headers: json, payload: '{"broken' }, 405, 'method-not-allowed'],
  [{ url: '/v1/users', headers: { accept: 'text/csv' } }, 406, 'not-acceptable'],
  [{ url: '/v1/users', headers: { 'if-match': '"old"' } }, 412, 'precondition-failed'],
  [{ method: 'PUT', url: '/v1/users/1', headers: { 'if-match': '"old"' } }, 412, 'precondition-failed'],
  [{ method: 'PUT', url: '/v1/users/1' }, 428, 'precondition-required'],
  [{ url: '/v1/Users' }, 404, 'path-uppercase'],
  [{ url: '/v1/users?fields=zz' }, 400, 'fields-invalid'],
  [{ url: '/v1/orders?limit=x' }, 400, 'validation'],
  [
    { method: 'POST', url: '/v1/users', headers: { 'x-http-method-override': 'JUMP' } },
    400,
    'method-override-invalid',
  ],
  [{ method: 'POST', url: '/v1/users', headers: json, payload: '{"name"' }, 400, 'body-malformed'],
  [{ method: 'POST', url: '/v1/users', payload: { name: 'x'.repeat(300) } }, 413, 'content-too-large'],
  [
    { method: 'POST', url: '/v1/users', headers: { 'content-type': 'text/csv' }, payload: 'a' },
    415,
    'unsupported-media-type',
  ],
  [
    { method: 'POST', url: '/v1/users', headers: { 'content-type': 'text/plain' }, payload: 'a' },
    415,
    'unsupported-media-type',
  ],
  [{ url: '/v1/operations/none' }, 404, 'not-found'],
] as const

function addRefusingRoutes(app: FastifyInstance, options: RouteShorthandOptions = {}): void {
  const response = { 200: { type: 'object', properties: { users: { type: 'array', items: user } } } }
  const caching = { validators: () => ({ version: 7 }), preconditions: 'required' } as const
  app.get('/v1/users', { ...options, schema: { response } }, async () => ({ users: [] }))
  app.get('/v1/orders', { ...options, config: { lists: {} } }, async (_request, reply) => reply.list([]))
  app.post('/v1/users', { ...options, schema: { body: user }, bodyLimit: 200 }, async () => ({}))
  app.put('/v1/users/:id', { ...options, config: { caching } }, async () => ({}))
  app.get('/v1/teapots', options, async () => Promise.reject(new TeapotError()))
  app.get('/v1/failures', options, async () => Promise.reject(new Error('broken')))
  app.get('/v1/conflicts', options, async () =>
    Promise.reject(new ProblemError('not-retryable', { status: 409, detail: 'It is paid' })),
  )
}

const typeBase = 'https://errors.example/'

t.test(
  'refusals of the package are problems, if the error handler of the app would send a 500',
  async (t) => {
    const places: Readonly<Record<string, (app: FastifyInstance) => Promise<void>>> = {
      before: async (app) => {
        app.setErrorHandler(answerCatchAll)
        await app.register(conventions, { problems: { typeBase } })
        addRefusingRoutes(app)
      },
      after: async (app) => {
        await app.register(conventions, { problems: { typeBase } })
        app.setErrorHandler(answerCatchAll)
        addRefusingRoutes(app)
      },
      'after the routes': async (app) => {
        await app.register(conventions, { problems: { typeBase } })
        addRefusingRoutes(app)
        app.setErrorHandler(answerCatchAll)
      },
      'on the routes': async (app) => {
        await app.register(conventions, { problems: { typeBase } })
        addRefusingRoutes(app, { errorHandler: answerCatchAll })
      },
      'in a child': async (app) => {
        await app.register(conventions, { problems: { typeBase } })
        app.register(async (child) => {
          child.setErrorHandler(answerCatchAll)
          addRefusingRoutes(child)
        })
      },
    }
    for (const [place, setUp] of Object.entries(places)) {
      const app = Fastify()
      await setUp(app)
      for (const [request, status, code] of refusals) {
        const about = `${place}: ${status} ${code}`
        const answer = injected(await app.inject(request))
        isProblem(t, answer, { status, code, typeBase }, about)
        t.equal(headerOf(answer, 'cache-control'), 'no-store', `${about}: is not stored`)
      }
      t.match((await app.inject({ method: 'PUT', url: '/v1/users' })).headers.allow, 'POST', place)

      const thrown = injected(await app.inject('/v1/conflicts'))
      isProblem(t, thrown, { status: 409, code: 'not-retryable', detail: 'It is paid', typeBase }, place)
      t.strictSame((await app.inject('/v1/teapots')).json(), { teapot: true }, `${place}: what it knows`)
      const broken = await app.inject('/v1/failures')
      t.equal(broken.statusCode, 500)
      t.strictSame(
        broken.json(),
        { message: 'Something went wrong' },
        `${place}: errors of the app are its own`,
      )

      await app.maintenance.enable()
      isProblem(
        t,
        injected(await app.inject('/v1/users')),
        { status: 503, code: 'maintenance', typeBase },
        place,
      )
    }
  },
)

t.test('a ProblemError that an error handler sends in its own format is not changed', async (t) => {
  for (const status of [409, 422, 200]) {
    const app = Fastify()
    await app.register(problems)
    app.setErrorHandler((error, _request, reply) =>
      reply.code(status).send({ own: (error as ProblemError).code }),
    )
    addRefusingRoutes(app)
    const answer = await app.inject('/v1/conflicts')
    t.equal(answer.statusCode, status)
    t.strictSame(answer.json(), { own: 'not-retryable' })
  }
})

t.test(
  'a ProblemError that an error handler passes on is a problem, wherever the handler was set',
  async (t) => {
    for (const isBefore of [true, false]) {
      const app = Fastify()
      const passOn = (error: unknown, _request: FastifyRequest, reply: FastifyReply) => void reply.send(error)
      if (isBefore) app.setErrorHandler(passOn)
      await app.register(problems)
      if (!isBefore) app.setErrorHandler(passOn)
      addRefusingRoutes(app)
      isProblem(t, injected(await app.inject('/v1/conflicts')), { status: 409, code: 'not-retryable' })
    }
  },
)

t.test('an error handler of the app gets whatever the app throws', async (t) => {
  const thrown = [null, undefined, 'text', Object.assign(new Error('x'), { statusCode: 415 })]
  const app = Fastify()
  await app.register(problems)
  const seen: unknown[] = []
  app.setErrorHandler((error, _request, reply) => {
    seen.push(error)
    reply.code(500).send({ own: true })
  })
  for (const index of thrown.keys()) app.get(`/v1/${index}`, async () => Promise.reject(thrown[index]))
  for (const index of thrown.keys()) {
    t.strictSame((await app.inject(`/v1/${index}`)).json(), { own: true }, String(thrown[index]))
  }
  t.strictSame(seen, thrown)
})

t.test('a ProblemError that a hook of the app throws on an unknown path is a problem', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.setErrorHandler(answerCatchAll)
  app.addHook('onRequest', async () => Promise.reject(new ProblemError('unauthorized')))
  isProblem(t, injected(await app.inject('/v1/nothing')), { status: 401, code: 'unauthorized' })
})

t.test(
  'with refusals: errorHandler, the app’s handler gets all refusals, with status and headers',
  async (t) => {
    const app = Fastify()
    await app.register(conventions, { problems: { refusals: 'errorHandler' } })
    const seen: unknown[] = []
    app.setErrorHandler((error, _request, reply) => {
      seen.push((error as { code?: string }).code)
      reply.send({ own: true })
    })
    addRefusingRoutes(app)
    for (const [request, status, code] of refusals) {
      const answer = await app.inject(request)
      t.strictSame(answer.json(), { own: true }, code)
      if (fromFramework.has(code)) continue
      t.equal(answer.statusCode, status, code)
      t.equal(seen.at(-1), code)
    }
    const { headers } = await app.inject({ method: 'PATCH', url: '/v1/users' })
    t.match(headers.allow, 'GET')
  },
)

// These have Fastify's own codes there.
const fromFramework: ReadonlySet<string> = new Set([
  'body-malformed',
  'content-too-large',
  'unsupported-media-type',
])

async function answersAreItsOwn(t: Test, app: FastifyInstance, prefix = ''): Promise<void> {
  const table = [
    ['GET', '/thrown', 500, { own: true }],
    ['GET', '/written', 409, { mine: true }],
    ['POST', '/validated', 400, { own: true, code: 'FST_ERR_VALIDATION' }],
  ] as const
  for (const [method, path, status, body] of table) {
    const response = await app.inject({
      method,
      url: prefix + path,
      headers: { accept: 'text/html' },
      ...bodyOf(method),
    })
    t.equal(response.statusCode, status, `${prefix}${path}`)
    t.strictSame(response.json(), body, `${prefix}${path}`)
  }
  const refused = await app.inject({ url: `${prefix}/produced`, headers: { accept: 'text/html' } })
  isProblem(t, injected(refused), { status: 406, code: 'not-acceptable' }, `${prefix}/produced`)
}

async function answersAreProblems(t: Test, app: FastifyInstance, prefix: string): Promise<void> {
  const table = [
    ['GET', '/thrown', 500, 'internal-server-error'],
    ['GET', '/written', 409, 'conflict'],
    ['GET', '/produced', 406, 'not-acceptable'],
    ['POST', '/validated', 400, 'validation'],
  ] as const
  for (const [method, path, status, code] of table) {
    const response = await app.inject({
      method,
      url: prefix + path,
      headers: { accept: 'text/html' },
      ...bodyOf(method),
    })
    isProblem(t, injected(response), { status, code }, `${prefix}${path}`)
  }
}

function bodyOf(method: 'GET' | 'POST'): { payload?: object } {
  return method === 'POST' ? { payload: {} } : {}
}
