import { Readable } from 'node:stream'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RouteShorthandOptions,
} from 'fastify'
import t, { type Test } from 'tap'
import conventions, { ProblemError, problems } from '../../../src/index.js'
import { headerOf, injected, isProblem } from '../../support/problem.js'
import { places } from './places.js'

/** A service’s own error format, by which a test knows whose answer it sees. */
function answerInOwnFormat(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode = 500, code } = error as { readonly statusCode?: number; readonly code?: string }
  reply.code(statusCode).send({ own: true, code })
}

const named = { schema: { body: { type: 'object', required: ['name'] } } }
const produced = { schema: { response: { 200: { type: 'object' } } } }

function addRoutes(app: FastifyInstance, own: RouteShorthandOptions = {}): void {
  app.get('/thrown', own, async () => Promise.reject(new Error('broken')))
  app.get('/written', own, async (_request, reply) => reply.code(409).send({ mine: true }))
  app.get('/produced', { ...own, ...produced }, async () => ({}))
  app.post('/validated', { ...own, ...named }, async () => ({}))
}

t.test('an error handler of the app has precedence in its scope', async (t) => {
  for (const [place, setUp] of Object.entries(places)) {
    for (const options of [undefined, { pathGuard: { rules: { version: 'off', plural: 'off' } } }] as const) {
      const app = Fastify()
      const plug = () => (options ? app.register(conventions, options) : app.register(problems))
      await setUp(app, plug, addRoutes, answerInOwnFormat)
      await answersAre(t, app, '', true, place)
    }
  }
})

t.test('an error handler of a child context or a route applies there, and only there', async (t) => {
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
  const errorHandler = answerInOwnFormat
  app.register(async (child) => addRoutes(child, { errorHandler }), { prefix: '/route' })
  app.register(async (child) => addRoutes(child), { prefix: '/beside' })
  addRoutes(app)
  for (const prefix of ['/own', '/own/below', '/route']) await answersAre(t, app, prefix, true)
  for (const prefix of ['/beside', '']) await answersAre(t, app, prefix, false)
})

t.test('an error that an error handler rethrows, or throws itself, is a problem', async (t) => {
  const app = Fastify()
  await app.register(problems)
  const paid = Object.assign(new Error('paid'), { statusCode: 409 })
  app.register(async (child) => {
    child.setErrorHandler((error, _request, reply) => void reply.send(error))
    child.get('/passed-on', async () => Promise.reject(paid))
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

function addRefusingRoutes(app: FastifyInstance, options: RouteShorthandOptions = {}): void {
  const response = { 200: { type: 'object', properties: { users: { type: 'array', items: user } } } }
  const caching = { validators: () => ({ version: 7 }), preconditions: 'required' } as const
  app.get('/v1/users', { ...options, schema: { response } }, async () => ({ users: [] }))
  app.get('/v1/orders', { ...options, config: { lists: {} } }, async (_request, reply) => reply.list([]))
  app.post('/v1/users', { ...options, schema: { body: user }, bodyLimit: 200 }, async () => ({}))
  app.put('/v1/users/:id', { ...options, config: { caching } }, async () => ({}))
  app.get('/v1/naps', { ...options, handlerTimeout: 1 }, () => new Promise(() => {}))
  app.get('/v1/teapots', options, async () => Promise.reject(new TeapotError()))
  app.get('/v1/failures', options, async () => Promise.reject(new Error('broken')))
  app.get('/v1/conflicts', options, async () =>
    Promise.reject(new ProblemError('not-retryable', { status: 409, detail: 'It is paid' })),
  )
}

const typeBase = 'https://errors.example/'

t.test('refusals of the package are problems, if the app’s handler would send a 500', async (t) => {
  for (const [place, setUp] of Object.entries(places)) {
    const app = Fastify()
    const plug = () => app.register(conventions, { problems: { typeBase } })
    await setUp(app, plug, addRefusingRoutes, answerCatchAll)
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
    t.strictSame(broken.json(), { message: 'Something went wrong' }, `${place}: errors of the app`)

    await app.maintenance.enable()
    const refused = injected(await app.inject('/v1/users'))
    isProblem(t, refused, { status: 503, code: 'maintenance', typeBase }, place)
  }
})

t.test(
  'what an error handler answers a ProblemError with is kept: a stream, bytes, a text for a 500',
  async (t) => {
    const rows: readonly (readonly [thrown: number, status: number, body: () => unknown])[] = [
      [409, 409, () => Readable.from(['own'])],
      [409, 409, () => Buffer.from('own')],
      [500, 500, () => 'own'],
    ]
    for (const [thrown, status, body] of rows) {
      const app = Fastify()
      app.setErrorHandler(
        (_error, _request, reply) => void reply.code(status).type('text/plain').send(body()),
      )
      await app.register(problems)
      app.get('/v1/users', async () => {
        throw new ProblemError('own', { status: thrown })
      })
      const answer = await app.inject('/v1/users')
      t.strictSame([answer.statusCode, answer.payload], [status, 'own'])
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

t.test('refusals: errorHandler: the app’s handler gets all, with status and headers', async (t) => {
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
})

// These have Fastify's own codes there.
const fromFramework: ReadonlySet<string> = new Set([
  'body-malformed',
  'content-too-large',
  'unsupported-media-type',
  'handler-timeout',
])

async function answersAre(t: Test, app: FastifyInstance, prefix: string, own: boolean, about = prefix) {
  for (const [method, path, status, code, body] of [
    ['GET', '/thrown', 500, 'internal-server-error', { own: true }],
    ['GET', '/written', 409, 'conflict', { mine: true }],
    ['POST', '/validated', 400, 'validation', { own: true, code: 'FST_ERR_VALIDATION' }],
    ['GET', '/produced', 406, 'not-acceptable', null],
  ] as const) {
    const payload = method === 'POST' ? { payload: {} } : {}
    const headers = { accept: 'text/html' }
    const response = await app.inject({ method, url: prefix + path, headers, ...payload })
    t.equal(response.statusCode, status, `${about}: ${path}`)
    if (own && body !== null) t.strictSame(response.json(), body, `${about}: ${path}`)
    else isProblem(t, injected(response), { status, code }, `${about}: ${path}`)
  }
}
