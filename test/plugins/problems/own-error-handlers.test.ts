import { Readable } from 'node:stream'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RouteShorthandOptions,
} from 'fastify'
import t, { type Test } from 'tap'
import conventions, { ProblemError, problems } from '../../../src/index.js'
import { appWith, places, refuses } from './support.js'

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

t.test('an error handler of the app has precedence where it is set, below, and only there', async (t) => {
  for (const [place, setUp] of Object.entries(places)) {
    const app = Fastify()
    const add = (context: FastifyInstance, own?: RouteShorthandOptions) => {
      addRoutes(context, own)
      context.register(async (below) => addRoutes(below, own), { prefix: '/below' })
    }
    await setUp(app, () => app.register(problems), add, answerInOwnFormat)
    app.register(async (child) => addRoutes(child), { prefix: '/beside' })
    for (const prefix of ['', '/below']) await answersAre(t, app, prefix, true, place)
    const isOfAll = place !== 'on the routes' && place !== 'in a child'
    await answersAre(t, app, '/beside', isOfAll, `${place}, beside`)
  }
})

async function answersAre(t: Test, app: FastifyInstance, prefix: string, own: boolean, about: string) {
  for (const [method, path, status, code, body] of [
    ['GET', '/thrown', 500, 'internal-server-error', { own: true }],
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
  const app = await appWith()
  for (const [path, status, answered, body] of [
    ['stream', 409, 500, () => Readable.from(['own'])],
    ['bytes', 409, 409, () => Buffer.from('own')],
    ['text', 500, 500, () => 'own'],
  ] as const) {
    const errorHandler = (_error: unknown, _request: unknown, reply: FastifyReply) =>
      void reply.code(answered).type('text/plain').send(body())
    app.register(async (child) => {
      child.get(`/${path}`, { errorHandler }, async () => Promise.reject(new ProblemError('own', { status })))
    })
  }
  for (const [path, status] of Object.entries({ stream: 500, bytes: 409, text: 500 })) {
    const { statusCode, payload } = await app.inject(`/${path}`)
    t.strictSame([statusCode, payload], [status, 'own'], path)
  }
})

t.test('an error handler of the app gets whatever the app throws', async (t) => {
  const app = await appWith()
  let seen: unknown
  app.setErrorHandler((error, _request, reply) => {
    seen = error
    reply.code(500).send({ own: true })
  })
  const thrown = [null, undefined, 'text', Object.assign(new Error('x'), { statusCode: 415 })]
  app.get('/v1/:index', async ({ url }) => Promise.reject(thrown[Number(url.slice(4))]))
  for (const [index, error] of thrown.entries()) {
    t.strictSame((await app.inject(`/v1/${index}`)).json(), { own: true }, String(error))
    t.equal(seen, error)
  }
})

t.test('a ProblemError that a hook of the app throws on an unknown path is a problem', async (t) => {
  const app = await appWith()
  app.setErrorHandler(answerCatchAll)
  app.addHook('onRequest', async () => Promise.reject(new ProblemError('unauthorized')))
  await refuses(t, app, '/v1/nothing', { status: 401, code: 'unauthorized' })
})
