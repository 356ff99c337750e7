import Fastify, { type FastifyReply } from 'fastify'
import t from 'tap'
import { ProblemError } from '../../src/index.js'
import {
  declareStyle,
  defaultStyle,
  jsonOfProblem,
  refuse,
  sendProblem,
  setHead,
} from '../../src/problem/send-problem.js'
import { keepLogs, levels } from '../support/logs.js'
import { injected, isProblem } from '../support/problem.js'

const style = { ...defaultStyle, typeBase: 'https://errors.example/' }

t.test('a problem sets status and headers of the reply, and has a document', async (t) => {
  const seen = await withReply((reply) => {
    const problem = new ProblemError('method-not-allowed', { detail: 'no', headers: { allow: 'GET' } })
    const document = jsonOfProblem(reply, problem, style)
    setHead(reply, problem)
    return { document: JSON.parse(document), status: reply.statusCode, headers: reply.getHeaders() }
  })

  t.strictSame(seen, {
    document: {
      type: 'https://errors.example/method-not-allowed',
      title: 'Method not allowed',
      status: 405,
      detail: 'no',
      instance: 'urn:request:req-1',
      code: 'method-not-allowed',
    },
    status: 405,
    headers: { allow: 'GET', 'cache-control': 'no-store', 'content-type': 'application/problem+json' },
  })
})

t.test('a 503 gets a Retry-After, unless it has one', async (t) => {
  const closing = new ProblemError('server-closing')
  const own = new ProblemError('server-closing', { headers: { 'Retry-After': '60' } })
  const after = (error: ProblemError, before?: string) =>
    withReply((reply) => {
      if (before !== undefined) reply.header('retry-after', before)
      setHead(reply, error)
      return reply.getHeader('retry-after')
    })

  t.equal(await after(closing), '5')
  t.equal(await after(own), '60', 'of the error')
  t.equal(await after(closing, '30'), '30', 'of the reply')
  t.equal(await after(new ProblemError('not-found')), undefined, 'a 404 has none')
  t.equal(await after(new ProblemError('internal-server-error')), undefined, 'a 500 has none')
})

t.test('members of an error that are not JSON are left out and logged; the others are sent', async (t) => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const throwing = Object.defineProperty({}, 'a', { enumerable: true, get: () => notJson() })
  for (const [about, extensions, logged] of [
    ['a circle', { circular }, { err: { type: 'TypeError' } }],
    ['a toJSON that throws', { amount: { toJSON: notJson } }, { err: { type: 'TypeError' } }],
    ['a member that throws', throwing, { err: { type: 'TypeError' } }],
    ['a document that is nothing', { toJSON: () => undefined }, { length: 0 }],
  ] as const) {
    const logs = keepLogs('warn')
    const error = new ProblemError('not-retryable', {
      status: 409,
      title: 'No retry',
      detail: 'It is paid',
      headers: { 'x-a': '1' },
      extensions,
    })
    const app = Fastify({ logger: logs.logger })
    app.get('/v1/orders', async (_request, reply) => sendProblem(reply, error, style))
    const response = await app.inject('/v1/orders')

    const expected = { typeBase: style.typeBase, status: 409, code: 'not-retryable', detail: 'It is paid' }
    isProblem(t, injected(response), { ...expected, title: 'No retry' }, about)
    t.equal(response.headers['x-a'], '1', about)
    t.match(logs.lines, [{ level: levels.warn, msg: /not sent/, ...logged }], about)
  }
})

t.test('an invalid header field is left out and logged; the others are sent', async (t) => {
  const logs = keepLogs('warn')
  const headers = {
    'x-a': 'é€\n',
    'x b': '1',
    'x-c': 'é',
    'x-d': 4,
    'set-cookie': ['a=1', 'b=2'],
    'x-e': {},
    'Content-Length': '3',
    'transfer-encoding': 'chunked',
  } as unknown as Record<string, string>
  const app = Fastify({ logger: logs.logger })
  app.get('/v1/orders', async (_request, reply) =>
    sendProblem(reply, new ProblemError('conflict', { status: 409, headers }), style),
  )
  const response = await app.inject('/v1/orders')

  isProblem(t, injected(response), { typeBase: style.typeBase, status: 409, code: 'conflict' })
  t.match(response.headers, { 'x-c': 'é', 'x-d': '4', 'set-cookie': ['a=1', 'b=2'] })
  for (const name of ['x-a', 'x b', 'x-e', 'transfer-encoding']) t.notOk(name in response.headers, name)
  t.match(logs.lines, [
    { level: levels.warn, fields: ['x-a', 'x b', 'x-e', 'Content-Length', 'transfer-encoding'] },
  ])
})

t.test('a problem is sent, whatever serializer and schema the route has', async (t) => {
  const app = Fastify()
  const schema = { response: { '4xx': { type: 'object', properties: {} } } }
  app.get('/v1/users', { schema }, async (_request, reply) => {
    reply.serializer(() => 'no JSON')
    return sendProblem(reply, new ProblemError('not-found', { detail: 'no user' }), style)
  })

  const expected = { typeBase: style.typeBase, status: 404, code: 'not-found', detail: 'no user' }
  isProblem(t, injected(await app.inject('/v1/users')), expected)
})

t.test('refuse() sends the problem if no error handler knows problems', async (t) => {
  const app = Fastify()
  app.addHook('onRequest', (request, reply, next) =>
    refuse(request, reply, new ProblemError('not-found'), next),
  )
  app.get('/v1/users', async () => t.fail('the handler runs'))

  isProblem(t, injected(await app.inject('/v1/users')), { status: 404, code: 'not-found' })
})

t.test('refuse() sends the problem, whatever error handler the app has set', async (t) => {
  const app = Fastify()
  app.setErrorHandler(() => t.fail('the error handler of the app runs'))
  app.addHook('onRequest', (request, reply, next) =>
    refuse(request, reply, new ProblemError('not-found'), next),
  )
  app.get('/v1/users', async () => t.fail('the handler runs'))

  isProblem(t, injected(await app.inject('/v1/users')), { status: 404, code: 'not-found' })
})

t.test('refuse() passes the problem to the error handler if the context is configured so', async (t) => {
  const app = Fastify()
  declareStyle(app, { ...defaultStyle, refusals: 'errorHandler' })
  app.setErrorHandler(async (error: Error & { code?: string }) => ({ own: error.code }))
  app.addHook('onRequest', (request, reply, next) =>
    refuse(request, reply, new ProblemError('not-found'), next),
  )
  app.get('/v1/users', async () => t.fail('the handler runs'))

  t.strictSame((await app.inject('/v1/users')).json(), { own: 'not-found' })
})

function notJson(): never {
  throw new TypeError('secret')
}

/** Runs something on the reply of a request, and gives what came of it. */
async function withReply<Result>(use: (reply: FastifyReply) => Result): Promise<Result> {
  const app = Fastify()
  const results: Result[] = []
  app.get('/', async (_request, reply) => {
    results.push(use(reply))
    return reply.code(204).send()
  })
  await app.inject('/')
  const [result] = results
  if (results.length === 0) throw new Error('the route did not run')
  return result as Result
}
