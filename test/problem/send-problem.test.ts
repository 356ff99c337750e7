import Fastify, { type FastifyReply } from 'fastify'
import t from 'tap'
import { ProblemError } from '../../src/index.js'
import { isObject } from '../../src/options.js'
import {
  defaultStyle,
  logProblem,
  problemStyle,
  refuseThrown,
  sendProblem,
  setHead,
} from '../../src/problem/send-problem.js'
import { keepLogs, type Logs, levels } from '../support/logs.js'
import { injected, isProblem } from '../support/problem.js'

const style = { ...defaultStyle, typeBase: 'https://errors.example/' }

t.test('the log has an error as it is, or its main members, cut, if it is long', async (t) => {
  const long = 'x'.repeat(8_001)
  const conflict = new ProblemError('conflict', { status: 409, detail: 'taken', cause: new Error('why') })
  const chain = (length: number): Error =>
    new TypeError('failed', length === 0 ? {} : { cause: chain(length - 1) })
  const stackless = Object.assign(new Error(long), { stack: undefined })
  const cut = { message: `${'x'.repeat(1000)}…`, query: undefined }
  const stack = /\n {4}at .*\ncaused by: TypeError: failed\n {4}at /
  const own = (error: Error, more = {}) => Object.assign(error, { code: 'E_OWN', query: 'q', ...more })
  const caused = own(new Error('a', { cause: stackless }), { query: long })
  const fault = new ProblemError('internal-server-error')
  const ofType = { type: 'TypeError', code: 'E_OWN' }
  const ofConflict = { type: 'ProblemError', code: 'conflict' }
  for (const [problem, thrown, err] of [
    [fault, own(new TypeError('short')), { ...ofType, message: 'short', query: 'q' }],
    [fault, own(new TypeError(long)), { ...ofType, stack: /^TypeError: x{7989}…$/, ...cut }],
    [fault, caused, { message: /^a: x{1000}…$/, query: undefined }],
    [fault, own(new Error(long), { code: long }), { type: 'Error', code: cut.message }],
    [fault, own(new Error(long), { code: 7 }), { code: undefined }],
    [fault, own(new Error('a'), { validation: [] }), { message: 'a', validation: undefined }],
    [fault, own(chain(3)), { message: 'failed: failed: failed: failed', query: 'q', stack }],
    [fault, own(chain(4)), { message: 'failed: failed: failed: failed', query: undefined, stack }],
    [fault, stackless, { ...cut, stack: '' }],
    [fault, long, `${'x'.repeat(8_000)}…`],
    [conflict, conflict, { ...ofConflict, message: 'taken: why' }],
    [new ProblemError('not-found'), undefined, { type: 'ProblemError', message: 'Not found', stack: '' }],
    [conflict, own(new Error('short')), { type: 'Error', message: 'short', query: 'q', stack: /at / }],
    [conflict, own(new Error(long)), { ...ofConflict, message: 'taken', stack: '' }],
    [new ProblemError('server-closing'), undefined, { length: 0 }],
  ] as const) {
    const logs = keepLogs('info')
    await withReply((reply) => logProblem(reply, problem, thrown), logs.logger)
    const [line] = logs.lines.filter(({ res }) => isObject(res) && res.statusCode === problem.statusCode)
    t.match(line?.err ?? [], err)
  }
})

t.test('a 416 says how long the content is (RFC 9110 §15.5.17); the reply, who may store it', async (t) => {
  const given = { 'content-range': 'bytes */7', etag: '"v1"', 'cache-control': 'private' }
  for (const [status, length] of [[404, undefined] as const, [416, 'bytes */7'] as const]) {
    const headers = await withReply((reply) => {
      setHead(reply.headers(given), new ProblemError('conflict', { status, headers: { allow: 'GET' } }))
      return { ...reply.getHeaders(), status: reply.statusCode }
    })
    const kept = { 'cache-control': 'private', allow: 'GET', 'content-type': 'application/problem+json' }
    t.strictSame(headers, { ...kept, ...(length && { 'content-range': length }), status })
  }
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
    const texts = { title: 'No retry', detail: 'It is paid' }
    const given = { ...texts, status: 409, headers: { 'x-a': '1' }, extensions }
    const [response, lines] = await sent(new ProblemError('not-retryable', given))
    const expected = { ...texts, typeBase: style.typeBase, status: 409, code: 'not-retryable' }
    isProblem(t, injected(response), expected, about)
    t.equal(response.headers['x-a'], '1', about)
    t.match(lines, [{ level: levels.warn, msg: /not sent/, ...logged }], about)
  }
})

t.test('an invalid header field is left out and logged; the others are sent', async (t) => {
  const framing = { 'Content-Length': '3', 'transfer-encoding': 'chunked' }
  const invalid = { 'x-a': 'é€\n', 'x b': '1', 'x-e': {} as never, ...framing }
  const valid = { 'x-c': 'é', 'x-d': '4', 'set-cookie': ['a=1', 'b=2'] as never }
  const headers = { ...invalid, ...valid }
  const [response, lines] = await sent(new ProblemError('conflict', { status: 409, headers }))
  isProblem(t, injected(response), { typeBase: style.typeBase, status: 409, code: 'conflict' })
  t.match(response.headers, valid)
  for (const name of ['x-a', 'x b', 'x-e', 'transfer-encoding']) t.notOk(name in response.headers, name)
  t.match(lines, [{ level: levels.warn, fields: Object.keys(invalid) }])
})

/** Sends a problem on a route with a serializer and a schema of its own. Returns the response and the log. */
async function sent(error: ProblemError) {
  const logs = keepLogs('warn')
  const app = Fastify({ logger: logs.logger })
  const schema = { response: { '4xx': { type: 'object', properties: {} } } }
  app.get('/v1/orders', { schema }, (_request, reply) => {
    reply.serializer(() => 'no JSON')
    sendProblem(reply, error, style)
  })
  return [await app.inject('/v1/orders'), logs.lines] as const
}

t.test('a problem that a handler of this package throws is a refusal', async (t) => {
  for (const refusals of ['answer', 'errorHandler'] as const) {
    const app = Fastify()
    problemStyle.set(app, { ...defaultStyle, refusals })
    app.setErrorHandler(async ({ code }: Error & { code?: string }) => ({ own: code }))
    const ofThisPackage = { errorHandler: refuseThrown as never }
    app.get('/v1/users', ofThisPackage, async () => Promise.reject(new ProblemError('not-found')))
    const answer = await app.inject('/v1/users')
    if (refusals === 'answer') isProblem(t, injected(answer), { status: 404, code: 'not-found' })
    else t.strictSame([answer.statusCode, answer.json()], [404, { own: 'not-found' }])
  }
})

function notJson(): never {
  throw new TypeError('secret')
}

/** Runs something on the reply of a request, and gives what came of it. */
async function withReply<Result>(use: (reply: FastifyReply) => Result, logger?: Logs['logger']) {
  const app = Fastify(logger && { logger })
  const results: Result[] = []
  app.get('/', async (_request, reply) => {
    results.push(use(reply))
    return reply.code(204).send()
  })
  t.equal((await app.inject('/')).statusCode, 204)
  return results[0]
}
