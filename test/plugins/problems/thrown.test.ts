import type { FastifyInstance, FastifyReply } from 'fastify'
import t from 'tap'
import { ProblemError } from '../../../src/index.js'
import { keepLogs, type Logs, levels } from '../../support/logs.js'
import { appWith, refuses } from './support.js'

const inBody = (pointer: string, message: string) => ({ in: 'body', pointer, message }) as const
const integer = { type: 'integer' }
const invalid = { status: 400, code: 'validation' }

/** What a 5xx says, whatever went wrong. */
const fixedText = 'The server failed to answer. The cause is in its log, under the request id.'
const secret = 'select * from passwords'
const ofServer = { status: 500, code: 'internal-server-error', detail: fixedText }

/** Whatever a program may throw that is a fault of the server. */
const faults: Readonly<Record<string, unknown>> = {
  'an error': new Error(secret),
  'an error with a code': Object.assign(new Error(secret), { code: secret, expose: true }),
  'an error with a cause': new Error(secret, { cause: new Error('the disk is full') }),
  'a string': secret,
  'an object': { secret },
  'an object that holds itself': circular(),
  'an object whose members throw': Object.defineProperty({}, 'statusCode', { get: fail }),
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
  for (const [index, name] of Object.keys(faults).entries()) {
    for (const way of ['asynchronous', 'synchronous']) {
      logs.lines.length = 0
      const url = `/v1/${way}/${index}`
      const about = `${name}, ${way}`
      const answer = await refuses(t, app, url, { ...ofServer, title: 'Internal server error' }, about)
      t.notMatch(answer.payload, secret, `${about}: kept from the client`)
      const lines = logs.lines.filter(({ level }) => level === levels.error)
      const reqId = String(answer.document.instance).replace('urn:request:', '')
      const cause = { err: { message: secret, stack: /the disk is full/ } }
      const more = name === 'an error with a cause' ? cause : {}
      t.match(lines, [{ res: { statusCode: 500 }, req: { url }, ...more }], `${about}: with the status`)
      const ids = lines.map((line) => line.reqId)
      t.strictSame(ids, [reqId], `${about}: once, under the id that the client sees`)
    }
  }
})

t.test('a 4xx is logged once too, with its status, but as no error of the server', async (t) => {
  const { app, logs } = await appWithLogs()
  app.get('/v1/users', async () => Promise.reject(new ProblemError('not-found', { detail: 'no user' })))
  await app.inject('/v1/users')
  const told = logs.lines.filter(({ level, msg }) => level >= levels.warn || msg === 'no user')
  t.match(told, [{ level: levels.info, res: { statusCode: 404 } }])
  t.equal(told.length, 1)
})

t.test('an error in any hook, in a serializer or by reply.send() gets the same problem', async (t) => {
  const app = await appWith()
  const hooks = ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization'] as const
  const needsName = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }
  const response = (schema: object) => ({ response: { 200: schema } })
  const noop = async () => ({})
  for (const hook of hooks) app.get(`/v1/${hook}`, { [hook]: async () => fail() }, noop)
  app.get('/v1/onSend', { onSend: failOnce() }, noop)
  app.get('/v1/serializer', { schema: response({ type: 'object' }), serializerCompiler: () => fail }, noop)
  app.get('/v1/schema', { schema: response(needsName) }, noop)
  app.get('/v1/circular', async () => circular())
  app.get('/v1/no-text', async (_request, reply) => reply.type('text/plain').send({ secret }))
  app.get('/v1/sent', (_request, reply) => void reply.send(new Error(secret)))
  const others = ['onSend', 'serializer', 'schema', 'circular', 'no-text', 'sent']
  for (const path of [...hooks, ...others]) {
    const answer = await refuses(t, app, `/v1/${path}`, ofServer, path)
    t.notMatch(answer.body, secret, `${path}: kept from the client`)
  }
})

t.test('an error keeps its status, a 4xx its message and code; a 503 has Retry-After', async (t) => {
  const message = 'as it is'
  const own = { headers: { 'retry-after': '120' } }
  for (const [thrown, status, code, detail, retryAfter] of [
    [{ status: 400 }, 400, 'bad-request', message],
    [{}, 422, 'unprocessable-content', message],
    [{ statusCode: 409, code: 'OUT_OF_STOCK' }, 409, 'out-of-stock', message],
    [{ statusCode: 404, code: 'ENOENT', syscall: 'open' }, 404, 'not-found', message],
    [{ statusCode: 400, code: 'FST_OTHER' }, 400, 'bad-request', message],
    [{ statusCode: 502, code: 'ECONNREFUSED' }, 502, 'bad-gateway', fixedText],
    [{ statusCode: 503 }, 503, 'service-unavailable', fixedText, '5'],
    [{ statusCode: 503, ...own }, 503, 'service-unavailable', fixedText, '120'],
    [null, 503, 'handler-timeout', /may or may not have/, '5'],
  ] as const) {
    const app = await appWith()
    app.get('/v1/users', { handlerTimeout: thrown === null ? 1 : 60_000 }, (_request, reply) => {
      reply.code(422)
      return thrown === null ? new Promise(() => {}) : Promise.reject({ message, ...thrown })
    })
    const about = JSON.stringify(thrown)
    const { headers } = await refuses(t, app, '/v1/users', { status, code, detail }, about)
    t.equal(headers['retry-after'], retryAfter, about)
  }
})

t.test('a ProblemError is sent with its code, status, headers and members', async (t) => {
  const app = await appWith()
  const sent = {
    status: 402,
    title: 'Not enough money',
    detail: 'The account has 30, but 50 are needed',
    errors: [{ in: 'body', pointer: '/amount', message: 'is more than there is' }],
  } as const
  const others = { headers: { 'x-account': '12' }, extensions: { balance: 30 }, cause: new Error(secret) }
  const error = new ProblemError('insufficient-funds', { ...sent, ...others })
  app.get('/v1/payments', async () => Promise.reject(error))
  const response = await refuses(t, app, '/v1/payments', { ...sent, code: 'insufficient-funds' })
  t.match(response.document, { balance: 30, instance: 'urn:request:req-1' }, 'RFC 9457 §3.1.5, §3.2')
  t.equal(response.headers['x-account'], '12')
  t.notMatch(response.payload, secret)
})

t.test('a hook that fails on every response: a 500 without the cause, and no-store', async (t) => {
  const rethrow = (error: unknown) => {
    throw error
  }
  const broken = async () => Promise.reject(new Error('no user'))
  for (const mode of ['enforce', 'report'] as const) {
    const app = await appWith({ mode })
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
      const { headers } = await refuses(t, app, url, ofServer, `${mode} ${url}`)
      t.equal(headers['cache-control'], 'no-store', `${mode} ${url}`)
    }
  }
})

t.test('the size of a problem of the app is bounded, in the response and in the log', async (t) => {
  const long = 'x'.repeat(1_000_000)
  const issue = { in: 'body', pointer: `/${long}`, message: long } as const
  const conflict = (options: object) => new ProblemError('conflict', { status: 409, ...options })
  const circularCause: Error = Object.assign(new Error('no'), { statusCode: 409 })
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

t.test('a fault of a body has a JSON Pointer, one of query, path or header its name', async (t) => {
  const app = await appWith()
  const item = { type: 'object', required: ['sku'], properties: { sku: { type: 'integer' } } }
  const schema = {
    body: { type: 'object', properties: { 'a/b~c': { type: 'array', items: item } } },
    querystring: { type: 'object', required: ['page'], properties: { page: integer, 'a/b~c': integer } },
    params: { type: 'object', properties: { id: { type: 'integer', minimum: 1 } } },
    headers: { type: 'object', required: ['x-key'], properties: { 'x-count': integer } },
  }
  app.post('/v1/users/:id', { schema }, async () => ({}))
  const [url, key] = ['/v1/users/1?page=1', { 'x-key': 'k' }]
  for (const [about, request, issue] of [
    ['body', { payload: { 'a/b~c': [{ sku: 1 }, {}] } }, inBody('/a~1b~0c/1/sku', 'is required')],
    ['path', { url: '/v1/users/0?page=1' }, { in: 'path', name: 'id', message: 'must be >= 1' }],
    ['query', { url: '/v1/users/1' }, { in: 'query', name: 'page', message: 'is required' }],
    ['escaped', { url: `${url}&a%2Fb~c=x` }, { in: 'query', name: 'a/b~c', message: 'must be integer' }],
    ['header', { headers: {} }, { in: 'header', name: 'x-key', message: 'is required' }],
  ] as const) {
    const detail = `${issue.in}${'pointer' in issue ? issue.pointer : `/${issue.name}`} ${issue.message}`
    const usual = { method: 'POST', url, headers: key, payload: {} } as const
    const asked = { ...usual, ...request }
    await refuses(t, app, asked, { ...invalid, title: 'Invalid input', detail, errors: [issue] }, about)
  }
})

t.test('errors of another validator, of a formatter of the app, and of attachValidation', async (t) => {
  const app = await appWith({}, { schemaErrorFormatter: () => new Error('look it up') })
  const schema = { body: { type: 'object', required: ['name'] } }
  const validatorCompiler = () => () => ({ error: new Error('no name') })
  app.post('/v1/validator', { validatorCompiler, schema }, async () => ({}))
  app.post('/v1/formatter', { schema }, async () => ({}))
  app.post('/v1/seen', { schema, attachValidation: true }, async ({ validationError }) => ({
    seen: validationError?.validationContext,
  }))
  app.post('/v1/attached', { schema, attachValidation: true }, async (request) =>
    Promise.reject(request.validationError),
  )
  const post = (path: string) => ({ method: 'POST', url: `/v1/${path}`, payload: {} }) as const
  const ofValidator = await app.inject(post('validator'))
  t.match(ofValidator.json(), { detail: /no name/, status: 400 })
  t.strictSame((await app.inject(post('seen'))).json(), { seen: 'body' }, 'the handler decides')
  const errors = [inBody('/name', 'is required')]
  for (const path of ['formatter', 'attached'])
    await refuses(t, app, post(path), { ...invalid, detail: 'look it up', errors }, path)
})

t.test('of many faults 50 are told, and a long name is cut, in the response and in the log', async (t) => {
  const logs = keepLogs('info')
  const customOptions = { allErrors: true, removeAdditional: false } as const
  const app = await appWith({}, { ajv: { customOptions }, logger: logs.logger })
  const list = { type: 'array', items: integer }
  const map = { type: 'object', additionalProperties: list }
  const closed = { type: 'object', properties: {}, additionalProperties: false }
  const names = { type: 'object', propertyNames: { pattern: '^[a-z]{1,9}$' } }
  for (const [url, body] of Object.entries({ list, map, closed, names }))
    app.post(`/v1/${url}`, { schema: { body } }, async () => ({}))
  const long = 'k'.repeat(900_000)
  const errors = Array.from({ length: 50 }, (_, index) => inBody(`/${index}`, 'must be integer'))
  const many = Array.from({ length: 9_000 }, (_, index) => [`${'k'.repeat(90)}${index}`, ['x']])
  for (const [path, payload, expected] of [
    ['list', Array(20_000).fill('x'), { detail: /^body\/0 must be integer, .*…$/, errors }],
    ['map', { [long]: Array(60).fill('x') }, { detail: /^body\/kk/ }],
    ['map', Object.fromEntries(many), { detail: /^body\/kk/ }],
    ['closed', { [long]: 1 }, { detail: /^body\/kk/ }],
    ['names', { [long]: 1 }, { detail: /^body\/kk/ }],
  ] as const) {
    logs.lines.length = 0
    const request = { method: 'POST', url: `/v1/${path}`, payload } as const
    const response = await refuses(t, app, request, { ...invalid, ...expected }, path)
    t.ok(response.payload.length < 20_000, `${path}: ${response.payload.length} characters are answered`)
    const line = logs.lines.find(({ err }) => err !== undefined)
    t.match(line, { level: levels.info, err: { code: 'validation' }, res: { statusCode: 400 } })
    t.ok(JSON.stringify(logs.lines).length < 15_000, `${path}: the log`)
  }
})

async function appWithLogs(): Promise<{ app: FastifyInstance; logs: Logs }> {
  const logs = keepLogs('info')
  return { app: await appWith({}, { logger: logs.logger }), logs }
}

function fail(): never {
  throw new Error(secret)
}

/** Returns a hook that fails on the first response. */
function failOnce(): () => Promise<void> {
  let isFirst = true
  return async () => {
    if (isFirst) {
      isFirst = false
      fail()
    }
  }
}

function circular(): object {
  const object: Record<string, unknown> = { secret }
  object.self = object
  return object
}
