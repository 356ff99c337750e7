/** A generic client of long-running operations, @azure/core-lro, over sockets. */
import { once } from 'node:events'
import { createHttpPoller, type LongRunningOperation, type LroResponse } from '@azure/core-lro'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import conventions, { ProblemError, serverOptions } from '../../../src/index.js'
import { serve } from '../../support/serve.js'

const time = '2026-01-02T03:04:05Z'
// So that the tests are done soon: of the polls, the client keeps to Retry-After alone.
const intervalInMs = 10

t.test('its result is what was created, whatever status that has, or else its document', async (t) => {
  for (const [work, created, result] of [
    ['create', {}, { id: 8, name: 'Eve' }],
    ['create', { status: 'failed' }, { id: 8, status: 'failed' }],
    ['verify', {}, { status: 'Succeeded' }],
    ['count', {}, { status: 'Succeeded', result: { counted: 3 } }],
  ] as const) {
    const { poller, polls } = await start(t, work, created)
    t.match(await poller.pollUntilDone(), result)
    t.equal(poller.getOperationState().status, 'succeeded')
    t.ok(polls() <= 3, 'and it asks no more')
  }
})

t.test('a failure and a cancellation are errors that say why', async (t) => {
  const { poller: failing } = await start(t, 'fail')
  await t.rejects(failing.pollUntilDone(), { message: /insufficient-funds.*There is too little left/ })
  t.equal(failing.getOperationState().status, 'failed')
  const { poller, cancel } = await start(t, 'wait')
  await poller.poll()
  t.notOk(poller.isDone())
  t.equal((await cancel()).status, 204)
  await t.rejects(poller.pollUntilDone(), { message: /operation-cancelled/ })
  t.equal(poller.getOperationState().status, 'failed')
})

/** Starts an operation of the real plugin, and a poller that follows it. */
async function start(t: Test, work: string, created: object = {}) {
  const app = Fastify(serverOptions())
  await app.register(conventions, { operations: { retryAfter: 1 }, rateLimit: false })
  const { define } = app.operations
  define('create', async () => ({ resource: '/v1/users/8' }))
  define('verify', async () => {})
  define('count', async () => ({ result: { counted: 3 } }))
  const detail = 'There is too little left'
  define('fail', () => Promise.reject(new ProblemError('insufficient-funds', { status: 402, detail })))
  define('wait', { cancellable: true }, async ({ signal }) => {
    await once(signal, 'abort')
    signal.throwIfAborted()
  })
  app.post('/v1/users', (_request, reply) => reply.startOperation(work))
  app.get('/v1/users/:id', () => ({ id: 8, name: 'Eve', updated_at: time, ...created }))
  const { origin } = await serve(t, app)

  let location = ''
  let polls = 0
  const send = async (path: string, method: string): Promise<LroResponse> => {
    const response = await fetch(new URL(path, origin), { method })
    const headers = Object.fromEntries(response.headers)
    location = headers.location ?? location
    const body: unknown = await response.json()
    return { flatResponse: body, rawResponse: { statusCode: response.status, headers, body } }
  }
  const lro: LongRunningOperation = {
    requestMethod: 'POST',
    requestPath: '/v1/users',
    sendInitialRequest: () => send('/v1/users', 'POST'),
    sendPollRequest: (path) => {
      polls += 1
      return send(path, 'GET')
    },
  }
  return {
    poller: await createHttpPoller(lro, { intervalInMs }),
    polls: () => polls,
    cancel: () => fetch(new URL(location, origin), { method: 'DELETE' }),
  }
}
