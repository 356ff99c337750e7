/** The client with the option `events` follows operations of the plugin, over sockets. */
import { setTimeout as pause } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { type FollowOptions, followOperation, type OperationState } from '../../src/client/index.js'
import conventions, { ProblemError, serverOptions } from '../../src/index.js'
import {
  memoryOperationStore,
  type OperationContext,
  type OperationOutcome,
  type OperationStore,
  type OperationsOptions,
} from '../../src/plugins/operations/index.js'
import { until } from '../support/until.js'

/** The work of an operation, which goes on when the test says so. */
interface Work {
  readonly progress: (progress: number) => void
  readonly end: (outcome: OperationOutcome) => void
  readonly fail: (error: unknown) => void
}

async function service(t: Test, options: OperationsOptions = {}, port = 0) {
  const app: FastifyInstance = Fastify(serverOptions())
  const given = { drain: 0, polls: false, retryAfter: 7, ...options } as const
  await app.register(conventions, { operations: given })
  // `GET 200 text/event-stream` for each request of a status, once it has its response.
  const responses: string[] = []
  app.addHook('onSend', async ({ method, url }, reply) => {
    if (method !== 'GET' || !url.endsWith('/status')) return
    responses.push(`${method} ${reply.statusCode} ${String(reply.getHeader('content-type')).split(';')[0]}`)
  })
  const works: Work[] = []
  app.operations.define(
    'work',
    { cancellable: true },
    ({ progress, signal }: OperationContext) =>
      new Promise<OperationOutcome>((end, fail) => {
        works.push({ progress, end, fail })
        signal.addEventListener('abort', () => fail(signal.reason))
      }),
  )
  app.post('/v1/reports', (_request, reply) => reply.startOperation('work'))
  t.teardown(() => app.close())
  const origin = await app.listen({ host: '127.0.0.1', port })
  return {
    app,
    origin,
    port: Number(new URL(origin).port),
    responses,
    start: () => fetch(`${origin}/v1/reports`, { method: 'POST' }),
    /** The work of the latest run. */
    async work() {
      await until(async () => works.length, Boolean, 10_000, 5)
      return works.at(-1) as Work
    },
  }
}

/** Waits that are short, and counted. */
function shortWaits() {
  const lengths: number[] = []
  const sleep: FollowOptions['sleep'] = async (milliseconds, signal) => {
    lengths.push(milliseconds)
    await pause(10, undefined, { signal })
  }
  return { lengths, options: { events: true, sleep, maxAttempts: 2_000 } }
}

/** Collects the states of an operation, and calls a function after each. */
async function statesOf(
  operation: AsyncIterable<OperationState>,
  onState: (state: OperationState) => unknown = () => {},
): Promise<OperationState[]> {
  const states: OperationState[] = []
  for await (const state of operation) {
    states.push(state)
    await onState(state)
  }
  return states
}

const stream = 'GET 200 text/event-stream'
const json = 'GET 200 application/json'

t.test('one request brings the progress and the end, with the twins of long integers', async (t) => {
  const { start, work, responses } = await service(t)
  const accepted = await start()
  const { progress, end } = await work()
  const url = new URL(accepted.headers.get('operation-location') ?? '', accepted.url)
  const { options, lengths } = shortWaits()
  const states = await statesOf(followOperation(accepted, options), ({ progress: seen }) => {
    if (seen === undefined) progress(0.5)
    if (seen === 0.5) end({ result: { payment_id: 9007199254740993n, fee: 7 } })
  })
  t.match(states, [
    { status: 'In progress', link: { rel: 'cancel', method: 'DELETE' } },
    { status: 'In progress', progress: 0.5 },
    { status: 'Succeeded', progress: 1, result: { payment_id_str: '9007199254740993', fee: 7 } },
  ])
  t.equal(states.length, 3)
  t.strictSame(responses, [stream])
  t.strictSame(lengths, [])
  t.strictSame(states.at(-1), await followOperation(url).finished(), 'as polled')
  t.strictSame(await statesOf(followOperation(url, options)), states.slice(-1), 'an ended one is one event')
  t.strictSame(responses, [stream, json, stream])
})

t.test('the end in a stream: a created resource is an absolute URL, a failure has its problem', async (t) => {
  const detail = 'There is not enough on the account'
  const insufficient = new ProblemError('insufficient-funds', { status: 409, detail })
  const error = { code: 'insufficient-funds', status: 409, message: detail }
  for (const [ends, expected] of [
    [
      ({ end }: Work) => end({ resource: '/v1/payments/8' }),
      (origin: string) => ({ status: 'Succeeded', resource: `${origin}/v1/payments/8` }),
    ],
    [({ fail }: Work) => fail(insufficient), () => ({ status: 'Failed', error })],
  ] as const) {
    const { start, work, origin, responses } = await service(t)
    const operation = followOperation(await start(), { events: true })
    ends(await work())
    t.match(await operation.finished(), expected(origin))
    t.strictSame(responses, [stream])
  }
})

t.test('at `Location` alone, the client polls, and reads the 303', async (t) => {
  const { start, work, origin } = await service(t)
  const accepted = await start()
  const { end } = await work()
  const { options, lengths } = shortWaits()
  const location = new URL(accepted.headers.get('location') ?? '', origin)
  const states = await statesOf(followOperation(location, options), () => end({ resource: '/v1/payments/8' }))
  t.match(states[0], { status: 'In progress' })
  t.match(states.at(-1), { status: 'Succeeded', resource: `${origin}/v1/payments/8` })
  t.equal(lengths[0], 7_000)
})

t.test('cancel() ends the stream with the cancelled operation', async (t) => {
  const { start, work, responses } = await service(t)
  const operation = followOperation(await start(), { events: true })
  await work()
  const states = await statesOf(operation, ({ link }) => link && operation.cancel())
  t.match(states.at(-1), { status: 'Failed', error: { code: 'operation-cancelled' } })
  t.strictSame(responses, [stream])
})

t.test('a server that closes ends the stream, and the client polls the one in its place', async (t) => {
  const store: OperationStore = { ...memoryOperationStore(), isShared: true }
  const first = await service(t, { store, lease: '1 second' })
  const { options, lengths } = shortWaits()
  const operation = followOperation(await first.start(), options)
  ;(await first.work()).progress(0.5)
  let second: Awaited<ReturnType<typeof service>> | undefined
  const states = await statesOf(operation, async ({ progress }) => {
    if (progress !== 0.5 || second !== undefined) return
    await first.app.close()
    second = await service(t, { store, lease: '1 second' }, first.port)
    ;(await second.work()).end({ result: 'done' })
  })
  t.match(states.at(-1), { status: 'Succeeded', result: 'done' })
  t.equal(lengths[0], 7_000, 'at the interval of the response with the stream')
  t.strictSame(first.responses, [stream])
  t.strictSame([...new Set(second?.responses)], [json])
})

t.test('without room for another stream, the client polls; one that leaves makes room', async (t) => {
  const { app, start, work, responses } = await service(t, { maxStreams: 1 })
  // After an abort, fetch opens a connection that it may need, and a closing server would wait for a request on it.
  t.teardown(() => app.server.closeAllConnections())
  const accepted = await start()
  const { end } = await work()
  const url = new URL(accepted.headers.get('operation-location') ?? '', accepted.url)
  const states = followOperation(url, { events: true })[Symbol.asyncIterator]()
  await states.next()
  const { options, lengths } = shortWaits()
  const polls = followOperation(url, options)[Symbol.asyncIterator]()
  await polls.next()
  await polls.next()
  t.strictSame(responses, [stream, json, json])
  t.strictSame(lengths, [7_000])
  await states.return?.()
  const askAgain = async () => {
    for await (const _state of followOperation(url, options)) break
    return responses.at(-1)
  }
  await until(askAgain, (last) => last === stream)
  end({})
})

t.test('an operation that is not there is an error', async (t) => {
  const { origin } = await service(t)
  const { options } = shortWaits()
  const operation = followOperation(`${origin}/v1/operations/${'0'.repeat(32)}/status`, options)
  await t.rejects(operation.finished(), { code: 'refused', status: 404, problem: { code: 'not-found' } })
})
