import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { ProblemError, problems } from '../../../src/index.js'
import { keepLogs, type Logs, levels } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'

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
  'an error with a cause': new Error(secret, { cause: new Error(secret) }),
  'an aggregate of errors': new AggregateError([new Error(secret)], secret),
  'an error of our own': new ProblemError('internal-server-error', { detail: secret }),
  'a string': secret,
  'an object': { secret },
  'an object that holds itself': circular(),
  'an object whose members throw': Object.defineProperty({}, 'statusCode', { get: fail }),
  'an array': [secret],
  'a number': 42,
  'a BigInt': 42n,
  'a symbol': Symbol(secret),
  'a function': fail,
  null: null,
  undefined: undefined,
}

t.test('any thrown value is a 500 with a fixed text, without its cause', async (t) => {
  const { app, logs } = await appWithLogs(t)
  for (const [index, thrown] of Object.values(faults).entries()) {
    app.get(`/v1/asynchronous/${index}`, async () => Promise.reject(thrown))
    app.get(`/v1/synchronous/${index}`, () => {
      throw thrown
    })
  }

  for (const [index, name] of Object.keys(faults).entries()) {
    for (const way of ['asynchronous', 'synchronous']) {
      logs.lines.length = 0
      const answer = injected(await app.inject(`/v1/${way}/${index}`))
      const document = isProblem(t, answer, {
        status: 500,
        code: 'internal-server-error',
        title: 'Internal server error',
        detail: fixedText,
      })
      t.notMatch(JSON.stringify(answer), secret, `${name}, ${way}: kept from the client`)
      const id = String(document.instance).replace('urn:request:', '')
      const line = logs.lines.find(({ level }) => level === levels.error)
      t.equal(line?.reqId, id, `${name}, ${way}: in the log under the request id that the client sees`)
    }
  }
})

t.test('the log has the cause of a 5xx', async (t) => {
  const { app, logs } = await appWithLogs(t)
  app.get('/v1/users', async () =>
    Promise.reject(new Error(secret, { cause: new Error('the disk is full') })),
  )
  await app.inject('/v1/users')

  const [line] = logs.lines.filter(({ level }) => level === levels.error)
  t.match(line, { err: { message: secret, stack: /the disk is full/ }, req: { url: '/v1/users' } })
})

t.test('a 4xx is logged once too, but as no error of the server', async (t) => {
  const { app, logs } = await appWithLogs(t)
  app.get('/v1/users', async () => Promise.reject(new ProblemError('not-found', { detail: 'no user' })))
  await app.inject('/v1/users')

  t.equal(logs.lines.filter(({ level }) => level >= levels.warn).length, 0)
  t.equal(logs.lines.filter(({ msg }) => msg === 'no user').length, 1)
})

t.test('an error in any hook, in a serializer or by reply.send() gets the same problem', async (t) => {
  const { app } = await appWithLogs(t)
  const answered = { schema: { response: { 200: { type: 'object' } } } }
  for (const hook of [
    'onRequest',
    'preParsing',
    'preValidation',
    'preHandler',
    'preSerialization',
  ] as const) {
    app.get(`/v1/${hook.toLowerCase()}`, { [hook]: async () => fail() }, async () => ({}))
  }
  app.get('/v1/serializer', { ...answered, serializerCompiler: () => fail }, async () => ({}))
  app.get('/v1/schema', { schema: { response: { 200: needsName } } }, async () => ({}))
  app.get('/v1/circular', async () => circular())
  app.get('/v1/no-text', async (_request, reply) => reply.type('text/plain').send({ secret }))
  app.get('/v1/sent', (_request, reply) => void reply.send(new Error(secret)))
  app.get(
    '/v1/in-a-callback',
    { preHandler: (_request, _reply, done) => done(new Error(secret)) },
    async () => ({}),
  )
  let first = true
  const onSend = async (): Promise<void> => {
    if (first) {
      first = false
      fail()
    }
  }
  app.get('/v1/onsend', { onSend }, async () => ({}))
  await app.ready()

  const paths = ['onrequest', 'preparsing', 'prevalidation', 'prehandler', 'preserialization', 'serializer']
  for (const path of [...paths, 'schema', 'circular', 'no-text', 'sent', 'in-a-callback', 'onsend']) {
    const answer = injected(await app.inject(`/v1/${path}`))
    isProblem(t, answer, { status: 500, code: 'internal-server-error', detail: fixedText }, path)
    t.notMatch(answer.body, secret, `${path}: kept from the client`)
  }
})

t.test('an error keeps its status; its message is sent below 500 only (RFC 9457 §3.1.4)', async (t) => {
  const { app } = await appWithLogs(t)
  const table: ReadonlyArray<readonly [status: number, code: string, title: string]> = [
    [400, 'bad-request', 'Bad request'],
    [401, 'unauthorized', 'Unauthorized'],
    [403, 'forbidden', 'Forbidden'],
    [404, 'not-found', 'Not found'],
    [409, 'conflict', 'Conflict'],
    [422, 'unprocessable-content', 'Unprocessable content'],
    [429, 'too-many-requests', 'Too many requests'],
    [501, 'not-implemented', 'Not implemented'],
    [502, 'bad-gateway', 'Bad gateway'],
  ]
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

t.test('a ProblemError is sent with its code, status and members', async (t) => {
  const { app } = await appWithLogs(t)
  app.get('/v1/payments', async () => {
    throw new ProblemError('insufficient-funds', {
      status: 402,
      title: 'Not enough money',
      detail: 'The account has 30, but 50 are needed',
      errors: [{ in: 'body', pointer: '/amount', message: 'is more than there is' }],
      headers: { 'x-account': '12' },
      extensions: { balance: 30 },
      cause: new Error(secret),
    })
  })

  const response = await app.inject('/v1/payments')
  const document = isProblem(t, injected(response), {
    status: 402,
    code: 'insufficient-funds',
    title: 'Not enough money',
    detail: 'The account has 30, but 50 are needed',
    errors: [{ in: 'body', pointer: '/amount', message: 'is more than there is' }],
  })
  t.equal(document.balance, 30, 'further members, RFC 9457 §3.2')
  t.equal(document.instance, 'urn:request:req-1', 'the occurrence, RFC 9457 §3.1.5')
  t.equal(response.headers['x-account'], '12')
  t.notMatch(response.payload, secret)
})

t.test('a problem document does not use the response schema and the serializers of the route', async (t) => {
  const { app } = await appWithLogs(t)
  const nothing = { type: 'object', properties: {}, additionalProperties: false }
  app.setReplySerializer(() => 'no JSON')
  app.get(
    '/v1/users',
    { schema: { response: { 200: nothing, '4xx': nothing, default: nothing } } },
    async () => {
      throw new ProblemError('conflict', { status: 409, detail: 'twice' })
    },
  )
  app.get('/v1/orders', async (_request, reply) => {
    reply.serializer(() => 'no JSON').type('text/html')
    throw new ProblemError('conflict', { status: 409, detail: 'twice' })
  })

  for (const path of ['/v1/users', '/v1/orders']) {
    isProblem(t, injected(await app.inject(path)), { status: 409, code: 'conflict', detail: 'twice' })
  }
})

t.test('headers of the error are sent, except Content-Type', async (t) => {
  const { app } = await appWithLogs(t)
  app.get('/v1/users', async () => {
    throw withStatus(401, { 'WWW-Authenticate': 'Bearer', 'Content-Type': 'text/html', 'X-Count': 3 })
  })
  const response = await app.inject('/v1/users')

  isProblem(t, injected(response), { status: 401, code: 'unauthorized' })
  t.match(response.headers, { 'www-authenticate': 'Bearer', 'x-count': '3' })
})

t.test('a 503 always has Retry-After', async (t) => {
  const app = Fastify()
  await app.register(problems)
  app.get('/v1/thrown', async () => Promise.reject(withStatus(503)))
  app.get('/v1/own', async () => Promise.reject(withStatus(503, { 'retry-after': '120' })))
  app.get('/v1/timed-out', { handlerTimeout: 1 }, () => new Promise(() => {}))

  t.equal((await app.inject('/v1/thrown')).headers['retry-after'], '5')
  t.equal((await app.inject('/v1/own')).headers['retry-after'], '120', 'what the error says itself')
  const response = await app.inject('/v1/timed-out')
  isProblem(t, injected(response), { status: 503, code: 'handler-timeout', detail: /may or may not have/ })
  t.equal(response.headers['retry-after'], '5', 'a timeout of the handler')
})

t.test('members and header fields that cannot be sent do not change the problem', async (t) => {
  const { app } = await appWithLogs(t)
  app.get('/v1/circular', async () => {
    throw new ProblemError('not-retryable', { status: 409, detail: 'no', extensions: { all: circular() } })
  })
  app.get('/v1/unwritable', async () => {
    throw new ProblemError('not-retryable', { status: 409, detail: 'no', headers: { 'x-a': 'é€\n' } })
  })

  for (const path of ['/v1/circular', '/v1/unwritable']) {
    const answer = injected(await app.inject(path))
    isProblem(t, answer, { status: 409, code: 'not-retryable', detail: 'no' }, path)
    t.notMatch(answer.body, secret)
  }
})

t.test('of the headers of a 5xx error of the app, only Retry-After is sent', async (t) => {
  const { app } = await appWithLogs(t)
  const headers = { 'x-internal-host': 'db1', 'set-cookie': 'a=b', 'retry-after': '7' }
  app.get('/v1/users', async () => Promise.reject(withStatus(502, headers)))
  const response = await app.inject('/v1/users')

  isProblem(t, injected(response), { status: 502, code: 'bad-gateway' })
  t.equal(response.headers['retry-after'], '7')
  t.notOk('x-internal-host' in response.headers)
  t.notOk('set-cookie' in response.headers)
})

t.test('the log has the status of the response', async (t) => {
  const { app, logs } = await appWithLogs(t)
  app.get('/v1/users', async () => Promise.reject(new ProblemError('not-found', { detail: 'no user' })))
  app.get('/v1/orders', async () => Promise.reject(new Error(secret)))
  await app.inject('/v1/users')
  await app.inject('/v1/orders')

  t.match(
    logs.lines.find(({ msg }) => msg === 'no user'),
    { level: levels.info, res: { statusCode: 404 } },
  )
  t.match(
    logs.lines.find(({ level }) => level === levels.error),
    { res: { statusCode: 500 } },
  )
})

t.test('a hook that fails on every response gets a 500 problem without the cause', async (t) => {
  const rethrow = (error: unknown) => {
    throw error
  }
  const broken = async () => Promise.reject(new Error('no user'))
  for (const mode of ['enforce', 'report'] as const) {
    const app = Fastify()
    await app.register(problems, { mode })
    app.addHook('onSend', fail)
    const enforced = { config: { problems: { mode: 'enforce' } } } as const
    app.get('/v1/fine', enforced, async () => ({}))
    app.get('/v1/thrown', enforced, broken)
    app.get('/v1/own-handler', { ...enforced, errorHandler: rethrow }, broken)
    app.register(async (child) => {
      child.setErrorHandler(rethrow)
      child.get('/v1/handler-above', enforced, broken)
    })
    const paths = ['/v1/fine', '/v1/thrown']
    const ofApp = ['/v1/handler-above', '/v1/own-handler', '/v1/nothing']
    for (const url of mode === 'report' ? paths : [...paths, ...ofApp]) {
      const expected = { status: 500, code: 'internal-server-error', detail: fixedText }
      isProblem(t, injected(await app.inject(url)), expected, `${mode} ${url}`)
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

t.test('a response past all hooks has no-store, whatever the handler has set', async (t) => {
  const { app } = await appWithLogs(t)
  app.get('/v1/users', { onSend: async () => fail() }, async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=3600').send({}),
  )
  const response = await app.inject('/v1/users')

  isProblem(t, injected(response), { status: 500, code: 'internal-server-error' })
  t.equal(response.headers['cache-control'], 'no-store')
})

const needsName = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }

async function appWithLogs(t: Test): Promise<{ app: FastifyInstance; logs: Logs }> {
  const logs = keepLogs('info')
  const app = Fastify({ logger: logs.logger })
  t.teardown(() => app.close())
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

t.test('a ProblemError with invalid arguments is corrected, and is not a second error', async (t) => {
  const rows: ReadonlyArray<readonly [code: unknown, options: unknown, status: number, expected: string]> = [
    ['A b<>"', { status: 409 }, 409, 'a-b'],
    ['E_FUNDS', { status: 409 }, 409, 'e-funds'],
    ['', { status: 409 }, 409, 'conflict'],
    [undefined, { status: 409 }, 409, 'conflict'],
    ['x'.repeat(200), { status: 409 }, 409, 'conflict'],
    ['funds', {}, 500, 'funds'],
    ['funds', null, 500, 'funds'],
    ['funds', { status: '409' }, 500, 'funds'],
    ['not-found', { title: 42, detail: {}, errors: 'x', headers: 7, extensions: [] }, 404, 'not-found'],
  ]
  for (const [given, options, status, code] of rows) {
    const app = Fastify()
    await app.register(problems)
    app.get('/v1/a', async () => {
      throw new ProblemError(given as string, options as object)
    })
    const about = `${String(given).slice(0, 20)} ${JSON.stringify(options)}`
    const { type, title } = isProblem(t, injected(await app.inject('/v1/a')), { status, code }, about)
    t.match(type, /^[\w:-]+$/, `${about}: a URI reference`)
    t.type(title, 'string', about)
  }
})

t.test('the size of a problem of the app is bounded, in the response and in the log', async (t) => {
  const long = 'x'.repeat(1_000_000)
  const extensions = { long }
  const errors = Array.from(
    { length: 5_000 },
    () => ({ in: 'body', pointer: `/${long}`, message: long }) as const,
  )
  const thrown: Readonly<Record<string, unknown>> = {
    detail: new ProblemError('conflict', { status: 409, detail: long }),
    title: new ProblemError('conflict', { status: 409, title: long }),
    extensions: new ProblemError('conflict', { status: 409, extensions }),
    errors: new ProblemError('conflict', { status: 409, errors }),
    message: Object.assign(new Error(long), { statusCode: 409 }),
    cause: Object.assign(new Error('no', { cause: new Error(long) }), { statusCode: 409 }),
    'a fault of the server': new Error(long),
    'no error': long,
    circular: Object.assign(new Error('no'), { statusCode: 409 }),
  }
  Object.assign(thrown.circular as Error, { cause: thrown.circular })
  for (const [about, error] of Object.entries(thrown)) {
    const logs = keepLogs('info')
    const app = Fastify({ logger: logs.logger })
    await app.register(problems)
    app.get('/v1/a', async () => Promise.reject(error))
    const { payload, headers } = await app.inject('/v1/a')
    t.ok(payload.length <= 65_536, `${about}: the answer has ${payload.length} characters`)
    t.equal(headers['content-type'], 'application/problem+json', about)
    const longest = Math.max(...logs.lines.map((line) => JSON.stringify(line).length))
    t.ok(longest < 40_000, `${about}: the longest line has ${longest} characters`)
  }
})
