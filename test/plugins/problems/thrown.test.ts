import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t from 'tap'
import { ProblemError, problems } from '../../../src/index.js'
import { keepLogs, type Logs, levels } from '../../support/logs.js'
import { headerOf, injected, isProblem } from '../../support/problem.js'

/** What a 5xx says, whatever went wrong. */
const fixedText = 'The server failed to answer. The cause is in its log, under the request id.'

const secret = 'select * from passwords'

/** Whatever a program may throw that is a fault of the server. */
const faults: Readonly<Record<string, unknown>> = {
  'an error': new Error(secret),
  'an error with a code': Object.assign(new Error(secret), { code: secret }),
  'an error with expose': Object.assign(new Error(secret), { expose: true, status: 500 }),
  'an error with a status below 400': Object.assign(new Error(secret), { statusCode: 200 }),
  'an error with a status that is none': Object.assign(new Error(secret), { statusCode: 'secret' }),
  'an error with a cause': new Error(secret, { cause: new Error('the disk is full') }),
  'a string': secret,
  'an object': { secret },
  'an object that holds itself': circular(),
  'an object whose members throw': Object.defineProperty({}, 'statusCode', { get: fail }),
  'a BigInt': 42n,
  'a symbol': Symbol(secret),
  null: null,
  undefined: undefined,
}

t.test('any thrown value is a 500 with a fixed text; its cause is in the log alone', async (t) => {
  const { app, logs } = await appWithLogs()
  for (const [index, thrown] of Object.values(faults).entries()) {
    app.get(`/v1/asynchronous/${index}`, async () => Promise.reject(thrown))
    app.get(`/v1/synchronous/${index}`, () => {
      throw thrown
    })
  }
  const title = 'Internal server error'
  const expected = { status: 500, code: 'internal-server-error', title, detail: fixedText }
  for (const [index, name] of Object.keys(faults).entries()) {
    for (const way of ['asynchronous', 'synchronous']) {
      logs.lines.length = 0
      const answer = injected(await app.inject(`/v1/${way}/${index}`))
      const document = isProblem(t, answer, expected)
      t.notMatch(JSON.stringify(answer), secret, `${name}, ${way}: kept from the client`)
      const reqId = String(document.instance).replace('urn:request:', '')
      const [line, another] = logs.lines.filter(({ level }) => level === levels.error)
      t.equal(line?.reqId, reqId, `${name}, ${way}: under the id that the client sees`)
      t.match(line, { res: { statusCode: 500 } }, `${name}, ${way}: the status`)
      t.equal(another, undefined, `${name}, ${way}: once`)
      if (name === 'an error with a cause')
        t.match(line, {
          err: { message: secret, stack: /the disk is full/ },
          req: { url: `/v1/${way}/${index}` },
        })
    }
  }
})

t.test('a 4xx is logged once too, with its status, but as no error of the server', async (t) => {
  const { app, logs } = await appWithLogs()
  app.get('/v1/users', async () => Promise.reject(new ProblemError('not-found', { detail: 'no user' })))
  await app.inject('/v1/users')
  t.equal(logs.lines.filter(({ level }) => level >= levels.warn).length, 0)
  const [line, another] = logs.lines.filter(({ msg }) => msg === 'no user')
  t.match(line, { level: levels.info, res: { statusCode: 404 } })
  t.equal(another, undefined)
})

t.test('an error in any hook, in a serializer or by reply.send() gets the same problem', async (t) => {
  const { app } = await appWithLogs()
  let isFirst = true
  const failOnce = async (): Promise<void> => {
    if (!isFirst) return
    isFirst = false
    fail()
  }
  const hooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization'] as const
  const needsName = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }
  const response = (schema: object) => ({ response: { 200: schema } })
  const noop = async () => ({})
  for (const hook of hooks) app.get(`/v1/${hook}`, { [hook]: async () => fail() }, noop)
  app.get('/v1/onSend', { onSend: failOnce }, noop)
  app.get('/v1/callback', { preHandler: (_request, _reply, done) => done(new Error(secret)) }, noop)
  app.get('/v1/serializer', { schema: response({ type: 'object' }), serializerCompiler: () => fail }, noop)
  app.get('/v1/schema', { schema: response(needsName) }, noop)
  app.get('/v1/circular', async () => circular())
  app.get('/v1/no-text', async (_request, reply) => reply.type('text/plain').send({ secret }))
  app.get('/v1/sent', (_request, reply) => void reply.send(new Error(secret)))
  const others = ['onSend', 'callback', 'serializer', 'schema', 'circular', 'no-text', 'sent']
  for (const path of [...hooks, ...others]) {
    const answer = injected(await app.inject(`/v1/${path}`))
    isProblem(t, answer, { status: 500, code: 'internal-server-error', detail: fixedText }, path)
    t.notMatch(answer.body, secret, `${path}: kept from the client`)
  }
})

t.test('an error keeps its status; its message is sent below 500 only (RFC 9457 §3.1.4)', async (t) => {
  const { app } = await appWithLogs()
  const table = [
    [400, 'bad-request', 'Bad request'],
    [422, 'unprocessable-content', 'Unprocessable content'],
    [429, 'too-many-requests', 'Too many requests'],
    [501, 'not-implemented', 'Not implemented'],
    [502, 'bad-gateway', 'Bad gateway'],
  ] as const
  for (const [status] of table) {
    app.get(`/v1/errors/${status}`, async () => Promise.reject(withStatus(status)))
    app.get(`/v1/objects/${status}`, async () => Promise.reject({ status, message: 'as it is' }))
    app.get(`/v1/replies/${status}`, async (_request, reply) => {
      reply.code(status)
      throw new Error('as it is')
    })
  }
  for (const [status, code, title] of table) {
    for (const way of ['errors', 'objects', 'replies']) {
      const answer = injected(await app.inject(`/v1/${way}/${status}`))
      const detail = status < 500 ? 'as it is' : fixedText
      isProblem(t, answer, { status, code, title, detail }, `${status} by ${way}`)
    }
  }
})

t.test('a ProblemError is sent with its code, status, headers and members', async (t) => {
  const { app } = await appWithLogs()
  const sent = {
    status: 402,
    title: 'Not enough money',
    detail: 'The account has 30, but 50 are needed',
    errors: [{ in: 'body', pointer: '/amount', message: 'is more than there is' }],
  } as const
  const others = { headers: { 'x-account': '12' }, extensions: { balance: 30 }, cause: new Error(secret) }
  const error = new ProblemError('insufficient-funds', { ...sent, ...others })
  app.get('/v1/payments', async () => Promise.reject(error))
  const response = await app.inject('/v1/payments')
  const document = isProblem(t, injected(response), { ...sent, code: 'insufficient-funds' })
  t.equal(document.balance, 30, 'further members, RFC 9457 §3.2')
  t.equal(document.instance, 'urn:request:req-1', 'the occurrence, RFC 9457 §3.1.5')
  t.equal(response.headers['x-account'], '12')
  t.notMatch(response.payload, secret)
})

t.test('a 503 always has Retry-After', async (t) => {
  const { app } = await appWithLogs()
  app.get('/v1/thrown', async () => Promise.reject(withStatus(503)))
  app.get('/v1/own', async () => Promise.reject(withStatus(503, { 'retry-after': '120' })))
  app.get('/v1/timed-out', { handlerTimeout: 1 }, () => new Promise(() => {}))
  for (const [path, seconds, code, detail] of [
    ['thrown', '5', 'service-unavailable', fixedText],
    ['own', '120', 'service-unavailable', fixedText],
    ['timed-out', '5', 'handler-timeout', /may or may not have/],
  ] as const) {
    const response = await app.inject(`/v1/${path}`)
    isProblem(t, injected(response), { status: 503, code, detail }, path)
    t.equal(response.headers['retry-after'], seconds, path)
  }
})

t.test('a hook that fails on every response: a 500 without the cause, and no-store', async (t) => {
  const rethrow = (error: unknown) => {
    throw error
  }
  const broken = async () => Promise.reject(new Error('no user'))
  for (const mode of ['enforce', 'report'] as const) {
    const app = Fastify()
    await app.register(problems, { mode })
    app.addHook('onSend', fail)
    const enforced = { config: { problems: { mode: 'enforce' } } } as const
    const cached = async (_: unknown, reply: FastifyReply) =>
      reply.header('cache-control', 'max-age=9').send({})
    app.get('/v1/fine', enforced, cached)
    app.get('/v1/thrown', enforced, broken)
    app.get('/v1/own-handler', { ...enforced, errorHandler: rethrow }, broken)
    app.register(async (child) => {
      child.setErrorHandler(rethrow)
      child.get('/v1/handler-above', enforced, broken)
    })
    const paths = ['/v1/fine', '/v1/thrown']
    const ofApp = ['/v1/handler-above', '/v1/own-handler', '/v1/nothing']
    for (const url of mode === 'report' ? paths : [...paths, ...ofApp]) {
      const answer = injected(await app.inject(url))
      const expected = { status: 500, code: 'internal-server-error', detail: fixedText }
      isProblem(t, answer, expected, `${mode} ${url}`)
      t.equal(headerOf(answer, 'cache-control'), 'no-store', `${mode} ${url}`)
    }
  }
})

t.test('an error handler of the app answers for a hook that fails once', async (t) => {
  for (const body of ['own text', { statusCode: 503, error: 'Busy', message: 'own' }]) {
    const app = Fastify()
    await app.register(problems)
    let isFirst = true
    app.addHook('onSend', async () => {
      if (!isFirst) return
      isFirst = false
      fail()
    })
    const errorHandler = (_error: unknown, _request: unknown, reply: FastifyReply) =>
      void reply.code(503).send(body)
    app.get('/v1/users', { errorHandler }, async () => ({}))
    const response = await app.inject('/v1/users')
    t.equal(response.payload, typeof body === 'string' ? body : JSON.stringify(body))
  }
})

async function appWithLogs(): Promise<{ app: FastifyInstance; logs: Logs }> {
  const logs = keepLogs('info')
  const app = Fastify({ logger: logs.logger })
  await app.register(problems)
  return { app, logs }
}

function fail(): never {
  throw new Error(secret)
}

function circular(): object {
  const object: Record<string, unknown> = { secret }
  object.self = object
  return object
}

function withStatus(statusCode: number, headers?: Record<string, unknown>): Error {
  return Object.assign(new Error('as it is'), { statusCode, headers })
}

t.test('the size of a problem of the app is bounded, in the response and in the log', async (t) => {
  const long = 'x'.repeat(1_000_000)
  const issue = { in: 'body', pointer: `/${long}`, message: long } as const
  const conflict = (options: object) => new ProblemError('conflict', { status: 409, ...options })
  const circularCause = withStatus(409)
  circularCause.cause = circularCause
  const thrown: Readonly<Record<string, unknown>> = {
    detail: conflict({ detail: long }),
    title: conflict({ title: long }),
    extensions: conflict({ extensions: { long } }),
    errors: conflict({ errors: Array(5_000).fill(issue) }),
    message: Object.assign(new Error(long), { statusCode: 409 }),
    cause: Object.assign(new Error('no', { cause: new Error(long) }), { statusCode: 409 }),
    'a fault of the server': new Error(long),
    'no error': long,
    circular: circularCause,
  }
  const { app, logs } = await appWithLogs()
  app.get('/v1/:about', async ({ url }) => Promise.reject(thrown[decodeURI(url.slice(4))]))
  for (const about of Object.keys(thrown)) {
    logs.lines.length = 0
    const { payload, headers } = await app.inject(`/v1/${encodeURI(about)}`)
    t.ok(payload.length <= 65_536, `${about}: the answer has ${payload.length} characters`)
    t.equal(headers['content-type'], 'application/problem+json', about)
    if (about === 'extensions') t.notOk('errors' in JSON.parse(payload), 'no list of errors')
    const longest = Math.max(...logs.lines.map((line) => JSON.stringify(line).length))
    t.ok(longest < 40_000, `${about}: the longest line has ${longest} characters`)
  }
})
