/** Every row of the protocol over real sockets, for whatever store and engine. */
import { setTimeout as pause } from 'node:timers/promises'
import { createHttpPoller } from '@azure/core-lro'
import Fastify from 'fastify'
import type { Test } from 'tap'
import { ProblemError, problems, serverOptions } from '../../../src/index.js'
import { cors } from '../../../src/plugins/cors/index.js'
import type { OperationEngine } from '../../../src/plugins/operations/engines/engine.js'
import {
  type OperationContext,
  operations,
  type StatusDocument,
} from '../../../src/plugins/operations/index.js'
import type { OperationStore } from '../../../src/plugins/operations/stores/store.js'
import { withPlugins } from '../../support/app.js'
import { headerOf, isProblem } from '../../support/problem.js'
import { serve } from '../../support/serve.js'
import { until as untilEnough } from '../../support/until.js'
import { sure } from './samples.js'

/** What the rows are run on: a new store, and an engine with a queue of its own. */
interface ProtocolSetUp {
  openStore(t: Test): OperationStore | Promise<OperationStore>
  openEngine(): OperationEngine
}

type Service = Awaited<ReturnType<typeof openService>>

type Deed = 'creates' | 'nothing' | 'gives a result' | 'refuses' | 'crashes' | 'waits' | 'ignores its signal'
type Work = { readonly does: Deed; readonly key?: string }

const retry = '/v1/payments/7/retry'
const page = 'https://app.example'
const day = 86_400_000
/** The requests about an operation: a method, and what follows its path. */
const requests = [
  ['GET', ''],
  ['GET', '/status'],
  ['DELETE', ''],
] as const
const finished = { status: 409, code: 'operation-finished' }
const absent = { status: 404, code: 'not-found' }

const hasBegun = ({ progress }: StatusDocument) => progress === 0.4
const isFinal = ({ status }: StatusDocument) => status !== 'In progress'

export function protocolRows(t: Test, setUp: ProtocolSetUp) {
  const row = (name: string, check: (t: Test, service: Service) => Promise<void>) =>
    t.test(name, async (t) => check(t, await openService(t, setUp)))

  row('start: 202 with where to ask, when, and the document that a poll gives', async (t, service) => {
    const { ask, until, letGo } = service
    const started = await ask('POST', retry, { headers: { origin: page }, body: { does: 'waits' } })
    const location = sure(headerOf(started, 'location'))
    t.match(location, /^\/v1\/operations\/[0-9a-f]{32}$/)
    const shared = { 'retry-after': /^[1-9]\d*$/, 'cache-control': 'no-store' }
    const type = /^application\/json/
    const headers = { ...shared, 'operation-location': `${location}/status`, 'content-type': type }
    t.match(started, { status: 202, headers })
    const exposed = sure(headerOf(started, 'access-control-expose-headers')).toLowerCase().split(/, */)
    for (const name of ['location', 'operation-location', 'retry-after', 'preference-applied'])
      t.ok(exposed.includes(name), `a page may read ${name}`)
    await until(location, hasBegun)
    for (const path of [location, `${location}/status`]) {
      const polled = await ask('GET', path)
      t.match(polled, { status: 200, headers: { ...shared, location: undefined } })
      const { progress, ...document } = JSON.parse(polled.body) as StatusDocument
      t.strictSame(JSON.parse(started.body), document)
      const link = { rel: 'cancel', method: 'DELETE', href: location }
      t.match({ ...document, progress }, { status: 'In progress', progress: 0.4, link })
    }
    letGo('')
  })

  row('the link is there only while it can be cancelled', async (t, service) => {
    const ignoring = await service.start({ does: 'ignores its signal' })
    await service.until(ignoring, hasBegun)
    const cancelled = service.ask('DELETE', ignoring)
    const asked = await service.until(ignoring, (document) => !('link' in document))
    t.equal(asked.status, 'In progress', 'not once it was asked for')
    service.letGo('')
    isProblem(t, await cancelled, finished)

    const body = { does: 'waits', key: 'uncancellable' }
    const started = await service.ask('POST', '/v1/orders/7/retry', { body })
    const path = sure(headerOf(started, 'location'))
    t.notOk('link' in JSON.parse(started.body), 'not where it cannot be')
    isProblem(t, await service.ask('DELETE', path), { status: 409, code: 'operation-not-cancellable' })
    service.letGo('uncancellable')
    t.notOk('link' in (await service.until(path)), 'not when it is over')
  })

  row('succeeded, and created something: 303 to it, and the body says so too', async (t, service) => {
    const path = await service.done('creates')
    const polled = await service.ask('GET', path)
    const headers = { location: '/v1/payments/8', 'cache-control': 'no-store', 'retry-after': undefined }
    t.match(polled, { status: 303, headers })
    t.match(JSON.parse(polled.body), { status: 'Succeeded', resourceLocation: '/v1/payments/8', progress: 1 })
    const asHead = { ...headers, 'content-length': headerOf(polled, 'content-length') }
    t.match(await service.ask('HEAD', path), { status: 303, body: '', headers: asHead })
    const status = await service.ask('GET', `${path}/status`)
    t.match(status, { status: 200, headers: { ...headers, location: undefined } })
    t.equal(status.body, polled.body, 'the status document is always a 200')
    const followed = await fetch(`${service.origin}${path}`, { headers: { 'x-caller': 'ann' } })
    t.strictSame(await followed.json(), { id: '8', status: 'pending' }, 'a client that follows it arrives')
  })

  row('succeeded, nothing created: 200, and the result where there is one', async (t, service) => {
    const bare = await service.until(await service.done('nothing'))
    t.equal(bare.status, 'Succeeded')
    t.notOk('result' in bare || 'resourceLocation' in bare || 'error' in bare)
    const polled = await service.ask('GET', await service.done('gives a result'))
    t.match(polled, { status: 200, body: '"result":{"big":9007199254740993,"text":"ü"}' })
  })

  row('failed: 200 with the problem, and no word of a fault of the server', async (t, service) => {
    const path = await service.done('refuses')
    const polled = await service.ask('GET', path)
    t.equal(polled.status, 200)
    isProblem(t, await service.ask('DELETE', path), finished)
    t.equal((await service.ask('GET', path)).body, polled.body, 'a cancellation changes nothing')
    const type = 'urn:problem-type:fastify-conventions:not-retryable'
    const about = { code: 'not-retryable', title: 'Not retryable', status: 409 }
    const detail = 'It is paid'
    t.strictSame(JSON.parse(polled.body).error, { type, ...about, detail, message: detail })
    const crashed = await service.until(await service.done('crashes'))
    t.match(crashed, { status: 'Failed', error: { code: 'internal-server-error', status: 500 } })
    t.notMatch(JSON.stringify(crashed), /password|stack|\.ts/)
  })

  row('cancel: 204, again 204, and it failed for that', async (t, service) => {
    const path = await service.start({ does: 'waits' })
    await service.until(path, hasBegun)
    const first = await service.ask('DELETE', path)
    t.strictSame([first.status, first.body], [204, ''])
    t.equal((await service.ask('DELETE', path)).status, 204)
    t.match(await service.until(path), { status: 'Failed', error: { code: 'operation-cancelled' } })
    t.equal((await service.ask('DELETE', path)).status, 204, 'also when it is over')
  })

  row('cancel against finish: one final state, and 409 says that it was the other', async (t, service) => {
    for (let race = 0; race < 25; race += 1) {
      const key = `race ${race}`
      const path = await service.start({ does: 'waits', key })
      await pause(race % 3)
      const cancelled = service.ask('DELETE', path)
      await pause(race % 5)
      service.letGo(key)
      const { status: answer } = await cancelled
      const { status, error } = await service.until(path)
      if (status === 'Failed') t.equal(error?.code, 'operation-cancelled')
      t.equal(answer, answer === 409 && status === 'Succeeded' ? 409 : 204)
      t.equal((await service.until(path)).status, status)
    }
  })

  row('Prefer: wait: the usual answer within it, or else 202', async (t, service) => {
    const rows = [
      ['creates', 'wait=5', 303, 'wait=5'],
      ['nothing', 'respond-async, wait=5', 200, 'wait=5'],
      ['nothing', 'wait=1000', 200, 'wait=10'],
      ['waits', 'respond-async', 202, 'respond-async'],
      ['waits', 'wait=0', 202, undefined],
      ['waits', 'respond-async, wait=1', 202, 'respond-async, wait=1'],
    ] as const
    let begun = 0
    for (const [does, prefer, status, applied] of rows) {
      begun = Date.now()
      const answer = await service.ask('POST', retry, { headers: { prefer }, body: { does, key: prefer } })
      t.strictSame([answer.status, headerOf(answer, 'preference-applied')], [status, applied], prefer)
      t.match(JSON.parse(answer.body), { status: status === 202 ? 'In progress' : 'Succeeded' })
      if (status === 303) t.equal(headerOf(answer, 'location'), '/v1/payments/8')
    }
    t.ok(Date.now() - begun >= 950)
    for (const [, prefer] of rows) service.letGo(prefer)
  })

  row('an answer of the route’s own, where the client waited for it', async (t, service) => {
    const ask = (does: Deed, prefer = 'wait=5') =>
      service.ask('POST', '/v1/subscriptions/7/suspend', { headers: { prefer }, body: { does } })
    const done = await ask('creates')
    t.strictSame([done.status, done.body], [201, '{"made":"/v1/payments/8","status":"Succeeded"}'])
    t.equal(headerOf(done, 'preference-applied'), 'wait=5')
    isProblem(t, await ask('refuses'), { status: 409, code: 'not-retryable', detail: 'It is paid' })
    t.equal((await ask('nothing', 'wait=0')).status, 202, 'not where it did not wait')
  })

  row('a generic client ends right: @azure/core-lro', async (t, service) => {
    for (const [does, result] of [
      // What was created, whatever status that has.
      ['creates', { id: '8', status: 'pending' }],
      ['nothing', { status: 'Succeeded' }],
      ['gives a result', { status: 'Succeeded', result: { text: 'ü' } }],
    ] as const) {
      const { poller } = await service.poller(does)
      t.match(await poller.pollUntilDone(), result)
      t.equal(poller.getOperationState().status, 'succeeded')
    }
    const { poller: failing } = await service.poller('refuses')
    await t.rejects(failing.pollUntilDone(), { message: /not-retryable.*It is paid/ })
    const { poller, path } = await service.poller('waits')
    await poller.poll()
    t.notOk(poller.isDone())
    await service.ask('DELETE', path())
    await t.rejects(poller.pollUntilDone(), { message: /operation-cancelled/ })
    t.equal(poller.getOperationState().status, 'failed')
  })

  row('an unknown operation and one of another caller are the same 404', async (t, service) => {
    const path = await service.start({ does: 'waits' })
    for (const [method, suffix] of requests) {
      for (const caller of ['bob', '']) {
        const documentOf = async (other: string) => {
          const answer = await service.ask(method, other + suffix, { caller })
          return { ...isProblem(t, answer, absent), instance: '' }
        }
        const unknown = await documentOf(`/v1/operations/${'0'.repeat(32)}`)
        t.strictSame(await documentOf(path), unknown, `${method} ${suffix}`)
      }
    }
    const polled = JSON.parse((await service.ask('GET', path)).body)
    t.match(polled, { status: 'In progress' }, 'it was not cancelled')
    service.letGo('')
  })

  row('kept for a day, gone for another, and then as if it had never been', async (t, service) => {
    const path = await service.done('creates')
    for (const [wait, expected] of [
      [day - 60_000, [303, 200, 409]],
      [120_000, [410, 410, 410]],
      [day - 120_000, [410, 410, 410]],
      [120_000, [404, 404, 404]],
    ] as const) {
      service.later(wait)
      const asked = await Promise.all(requests.map(([method, suffix]) => service.ask(method, path + suffix)))
      const statuses = asked.map(({ status }) => status)
      t.strictSame(statuses, expected)
      if (expected[0] === 410) {
        isProblem(t, await service.ask('GET', path), { status: 410, code: 'operation-gone' })
        isProblem(t, await service.ask('GET', path, { caller: 'bob' }), absent)
      }
    }
  })
}

async function openService(t: Test, setUp: ProtocolSetUp) {
  const store = await setUp.openStore(t)
  const engine = setUp.openEngine()
  const held = new Map<string, () => void>()
  const gone = new Set<string>()
  let shift = 0

  const app = await withPlugins(Fastify(serverOptions()), problems, [cors, { origin: [page] }])
  await app.register(operations, {
    store,
    engine,
    identify: ({ headers }) => String(headers['x-caller'] ?? '') || null,
    now: () => Date.now() + shift,
    retryAfter: 1,
  })

  const passes = (key: string, signal: AbortSignal | null) =>
    new Promise<void>((resolve, reject) => {
      if (gone.delete(key)) resolve()
      held.set(key, resolve)
      signal?.addEventListener('abort', () => reject(signal.reason))
    })
  const work = async ({ input, signal, progress }: OperationContext<Work>) => {
    const { does, key = '' } = input
    if (does === 'creates') return { resource: '/v1/payments/8' }
    if (does === 'gives a result') return { result: { big: 9007199254740993n, text: 'ü' } }
    if (does === 'refuses') throw new ProblemError('not-retryable', { status: 409, detail: 'It is paid' })
    if (does === 'crashes') throw new Error('password of the database')
    progress(0.4)
    if (does === 'waits') await passes(key, signal)
    if (does === 'ignores its signal') await passes(key, null)
    return undefined
  }
  app.operations.define('payments.retry', { cancellable: true }, work)
  app.operations.define('orders.retry', work)

  const body = {
    type: 'object',
    required: ['does'],
    properties: { does: { type: 'string', minLength: 3 }, key: { type: 'string' } },
  }
  // What the routes answer without an operation; a document of one is none of it.
  const own = { type: 'object', required: ['id'], properties: { id: { type: 'string' } } }
  const response = { 200: own, 202: own, '3xx': own }
  const config = { operations: { starts: 'payments.retry' } }
  app.post(retry, { schema: { body, response }, config }, async (request, reply) =>
    reply.startOperation('payments.retry', request.body),
  )
  app.post('/v1/orders/7/retry', { schema: { body } }, async (request, reply) =>
    reply.startOperation('orders.retry', request.body),
  )
  app.post('/v1/subscriptions/7/suspend', { schema: { body } }, async (request, reply) =>
    reply.startOperation('payments.retry', request.body, {
      answer: (end, reply) => {
        if (end.status === 'Failed') throw new ProblemError(end.error.code, end.error)
        return reply.code(201).send({ made: end.resource, status: end.status })
      },
    }),
  )
  app.get('/v1/payments/8', async () => ({ id: '8', status: 'pending' }))
  const { origin } = await serve(t, app)

  /** Asks as `caller`; follows nothing. */
  const ask = async (method: string, path: string, { caller = 'ann', headers = {}, body = {} } = {}) => {
    const json = { 'content-type': 'application/json' }
    const sent = { ...(caller && { 'x-caller': caller }), ...(method === 'POST' && json), ...headers }
    const content = method === 'POST' ? JSON.stringify(body) : null
    const init = { method, redirect: 'manual', headers: sent, body: content } as const
    const response = await fetch(`${origin}${path}`, init)
    const answer = { status: response.status, headers: Object.fromEntries(response.headers) }
    return { ...answer, body: await response.text() }
  }
  /** Waits for a state of the operation, past the limit of polls, which is another row. */
  const until = (path: string, isThere = isFinal) =>
    untilEnough(async () => sure(await app.operations.find(path.slice(-32))), isThere, 20_000, 10)
  /** Starts an operation that does what it is told to; its path. */
  const start = async (work: Work) => {
    const answer = await ask('POST', retry, { body: work })
    if (answer.status !== 202) throw new Error(`not started: ${answer.status} ${answer.body}`)
    return sure(headerOf(answer, 'location'))
  }

  /** A client that starts an operation and follows it, knowing nothing of this service. */
  const poller = async (does: Deed) => {
    let location = ''
    const send = async (path: string, method: string) => {
      const { status: statusCode, headers, body: text } = await ask(method, path, { body: { does } })
      location = headers.location ?? location
      const body: unknown = JSON.parse(text)
      return { flatResponse: body, rawResponse: { statusCode, headers, body } }
    }
    const sendInitialRequest = () => send(retry, 'POST')
    const sendPollRequest = (path: string) => send(path, 'GET')
    const start = { requestMethod: 'POST', requestPath: retry, sendInitialRequest, sendPollRequest }
    return { poller: await createHttpPoller(start, { intervalInMs: 10 }), path: () => location }
  }

  return {
    origin,
    poller,
    ask,
    start,
    until,
    /** Starts an operation, and waits for its end; its path. */
    async done(does: Deed) {
      const path = await start({ does })
      await until(path)
      return path
    },
    /** Lets work that is held go on. */
    letGo(key: string) {
      const resolve = held.get(key)
      held.delete(key)
      if (resolve === undefined) gone.add(key)
      else resolve()
    },
    /** Moves the clock of the plugin. */
    later(milliseconds: number) {
      shift += milliseconds
    },
  }
}
