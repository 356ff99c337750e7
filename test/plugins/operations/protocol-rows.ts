/** Every row of the protocol over real sockets, for whatever store and engine. */
import Fastify from 'fastify'
import type { Test } from 'tap'
import { ProblemError, problems, serverOptions } from '../../../src/index.js'
import { cors } from '../../../src/plugins/cors/index.js'
import type { OperationEngine } from '../../../src/plugins/operations/engines/engine.js'
import {
  type OperationsOptions,
  operations,
  type StatusDocument,
} from '../../../src/plugins/operations/index.js'
import { operationRegistry } from '../../../src/plugins/operations/registry.js'
import type { OperationStore } from '../../../src/plugins/operations/stores/store.js'
import { scheduleTimeout } from '../../../src/time/schedule.js'
import { type AnyAnswer, fetched, headerOf, isProblem } from '../../support/problem.js'
import { serve } from '../../support/serve.js'
import { newOperation, stored, sure } from './samples.js'

/** What the rows are run on; what is opened has to close itself with the test. */
export interface ProtocolSetUp {
  /** A new and empty store. */
  openStore(t: Test): OperationStore | Promise<OperationStore>
  /** A new engine, with a queue of its own. */
  openEngine(t: Test): OperationEngine | Promise<OperationEngine>
}

interface Service {
  readonly origin: string
  readonly store: OperationStore
  /** Asks as `caller`; follows nothing. */
  ask(method: string, path: string, request?: AskOptions): Promise<AnyAnswer>
  /** Starts an operation that does what it is told to; its path. */
  start(work: Work, request?: AskOptions): Promise<string>
  /** Polls until the operation is in such a state. */
  until(path: string, isThere: (document: StatusDocument) => boolean): Promise<StatusDocument>
  /** Lets work that is held go on, by its key. */
  letGo(key: string): void
  /** How often work was begun. */
  readonly runs: { readonly operationId: string; readonly run: number }[]
  /** Moves the clock of the plugin. */
  later(milliseconds: number): void
}

interface AskOptions {
  readonly caller?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** What the work of an operation does. */
interface Work {
  readonly does:
    | 'creates'
    | 'nothing'
    | 'gives a result'
    | 'refuses'
    | 'crashes'
    | 'waits'
    | 'waits, ignores its signal'
  readonly key?: string
}

const retry = '/v1/payments/7/retry'
const page = 'https://app.example'
const day = 86_400_000

/** Runs all rows as tests. */
export function protocolRows(t: Test, setUp: ProtocolSetUp): void {
  const row = (
    name: string,
    check: (t: Test, service: Service) => Promise<void>,
    options: OperationsOptions = {},
  ) => t.test(name, async (t) => check(t, await openService(t, setUp, options)))

  row('start: 202 with where to ask, when, and the document that a poll gives', async (t, { ask, letGo }) => {
    const started = await ask('POST', retry, { headers: { origin: page }, body: { does: 'waits' } })
    t.equal(started.status, 202)
    const location = sure(headerOf(started, 'location'))
    t.match(location, /^\/v1\/operations\/[0-9a-f]{32}$/)
    t.equal(headerOf(started, 'operation-location'), `${location}/status`)
    t.match(headerOf(started, 'retry-after'), /^[1-9]\d*$/)
    t.equal(headerOf(started, 'cache-control'), 'no-store')
    t.match(headerOf(started, 'content-type'), /^application\/json/)
    const exposed = sure(headerOf(started, 'access-control-expose-headers')).toLowerCase().split(/, */)
    for (const name of ['location', 'operation-location', 'retry-after', 'preference-applied']) {
      t.ok(exposed.includes(name), `a page may read ${name}`)
    }
    const polled = await ask('GET', location)
    const { progress: _, ...document } = JSON.parse(polled.body) as StatusDocument
    t.strictSame(JSON.parse(started.body), document)
    t.match(document, { status: 'In progress', link: { rel: 'cancel', method: 'DELETE', href: location } })
    letGo('')
  })

  row('what is refused is refused at once, and starts nothing', async (t, { ask, store, runs }) => {
    isProblem(t, await ask('POST', retry, { body: { does: 7 } }), { status: 400, code: 'validation' })
    isProblem(t, await ask('POST', retry, { caller: '', body: { does: 'nothing' } }), {
      status: 401,
      code: 'unauthorized',
    })
    const stale = { headers: { 'if-match': '"0"' }, body: { does: 'nothing' } }
    isProblem(t, await ask('POST', retry, stale), { status: 412, code: 'precondition-failed' })
    t.strictSame(await store.takeDue(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 10), [])
    t.strictSame(runs, [])
  })

  row(
    'poll while it runs: 200, how far it is, when to ask again, and how to cancel it',
    async (t, service) => {
      const path = await service.start({ does: 'waits' })
      await service.until(path, ({ progress }) => progress === 0.4)
      const polled = await service.ask('GET', path)
      t.equal(polled.status, 200)
      t.match(JSON.parse(polled.body), { status: 'In progress', progress: 0.4, link: { href: path } })
      t.match(headerOf(polled, 'retry-after'), /^[1-9]\d*$/)
      t.equal(headerOf(polled, 'cache-control'), 'no-store')
      t.notOk(headerOf(polled, 'location'))
      service.letGo('')
    },
  )

  row('the link is there only while it can be cancelled', async (t, service) => {
    const ignoring = await service.start({ does: 'waits, ignores its signal' })
    await service.until(ignoring, ({ progress }) => progress === 0.4)
    const cancelled = service.ask('DELETE', ignoring)
    const asked = await service.until(ignoring, (document) => !('link' in document))
    t.equal(asked.status, 'In progress', 'not once it was asked for')
    service.letGo('')
    isProblem(t, await cancelled, { status: 409, code: 'operation-finished' })

    const started = await service.ask('POST', '/v1/orders/7/retry', {
      body: { does: 'waits', key: 'uncancellable' },
    })
    const uncancellable = sure(headerOf(started, 'location'))
    t.notOk('link' in (JSON.parse(started.body) as object), 'not where it cannot be')
    isProblem(t, await service.ask('DELETE', uncancellable), {
      status: 409,
      code: 'operation-not-cancellable',
    })
    service.letGo('uncancellable')
    const done = await service.until(uncancellable, isFinal)
    t.notOk('link' in done, 'not when it is over')
  })

  row('succeeded, and created something: 303 to it, and the body says so too', async (t, service) => {
    const path = await service.start({ does: 'creates' })
    await service.until(path, isFinal)
    const polled = await service.ask('GET', path)
    t.equal(polled.status, 303)
    t.equal(headerOf(polled, 'location'), '/v1/payments/8')
    t.match(JSON.parse(polled.body), { status: 'Succeeded', resourceLocation: '/v1/payments/8', progress: 1 })
    t.notOk(headerOf(polled, 'retry-after'))
    t.equal(headerOf(polled, 'cache-control'), 'no-store')
    const followed = await fetch(`${service.origin}${path}`, { headers: { 'x-caller': 'ann' } })
    t.strictSame(await followed.json(), { id: '8', status: 'pending' }, 'a client that follows it arrives')
  })

  row('succeeded, nothing created: 200, and the result where there is one', async (t, service) => {
    const bare = await service.until(await service.start({ does: 'nothing' }), isFinal)
    t.equal(bare.status, 'Succeeded')
    t.notOk('result' in bare || 'resourceLocation' in bare || 'error' in bare)
    const path = await service.start({ does: 'gives a result' })
    await service.until(path, isFinal)
    const polled = await service.ask('GET', path)
    t.equal(polled.status, 200)
    t.match(headerOf(polled, 'content-type'), /^application\/json/)
    t.match(polled.body, '"result":{"big":9007199254740993,"text":"ü"}')
  })

  row(
    'failed: 200 with the problem and its text as message; of a fault of the server no word',
    async (t, service) => {
      const refused = await service.start({ does: 'refuses' })
      await service.until(refused, isFinal)
      const polled = await service.ask('GET', refused)
      t.equal(polled.status, 200)
      const { error } = JSON.parse(polled.body) as StatusDocument
      t.strictSame(error, {
        type: 'urn:problem-type:fastify-conventions:not-retryable',
        code: 'not-retryable',
        title: 'Not retryable',
        status: 409,
        detail: 'It is paid',
        message: 'It is paid',
      })
      const crashed = await service.until(await service.start({ does: 'crashes' }), isFinal)
      t.match(crashed, { status: 'Failed', error: { code: 'internal-server-error', status: 500 } })
      t.notMatch(JSON.stringify(crashed), /password|stack|\.ts/)
    },
  )

  row('the status document is always a 200, and the same', async (t, service) => {
    for (const does of ['creates', 'nothing', 'refuses'] as const) {
      const path = await service.start({ does })
      await service.until(path, isFinal)
      const [there, status] = [await service.ask('GET', path), await service.ask('GET', `${path}/status`)]
      t.equal(status.status, 200, does)
      t.equal(status.body, there.body)
      t.equal(headerOf(status, 'cache-control'), 'no-store')
      t.notOk(headerOf(status, 'location'))
    }
    const path = await service.start({ does: 'waits' })
    const status = await service.ask('GET', `${path}/status`)
    t.match(JSON.parse(status.body), { status: 'In progress' })
    t.match(headerOf(status, 'retry-after'), /^[1-9]\d*$/)
    service.letGo('')
  })

  row('cancel: 204, again 204, and it failed for that', async (t, service) => {
    const path = await service.start({ does: 'waits' })
    await service.until(path, ({ progress }) => progress === 0.4)
    const first = await service.ask('DELETE', path)
    t.strictSame([first.status, first.body], [204, ''])
    t.equal((await service.ask('DELETE', path)).status, 204)
    const ended = await service.until(path, isFinal)
    t.match(ended, { status: 'Failed', error: { code: 'operation-cancelled' } })
    t.equal((await service.ask('DELETE', path)).status, 204, 'also when it is over')
  })

  row('cancel after it finished: 409', async (t, service) => {
    for (const does of ['nothing', 'refuses'] as const) {
      const path = await service.start({ does })
      const ended = await service.until(path, isFinal)
      isProblem(t, await service.ask('DELETE', path), { status: 409, code: 'operation-finished' })
      t.strictSame(await service.until(path, isFinal), ended, 'and it changes nothing')
    }
  })

  row('cancel against finish: one final state, and 409 says that it was the other', async (t, service) => {
    const seen: Record<string, number> = {}
    for (let race = 0; race < 25; race += 1) {
      const key = `race ${race}`
      const path = await service.start({ does: 'waits', key })
      await pause(race % 3)
      const [cancelled] = await Promise.all([
        service.ask('DELETE', path),
        (async () => {
          await pause(race % 5)
          service.letGo(key)
        })(),
      ])
      const { status, error } = await service.until(path, isFinal)
      const told = `${cancelled.status} ${status}`
      seen[told] = (seen[told] ?? 0) + 1
      if (status === 'Failed') t.equal(error?.code, 'operation-cancelled')
      if (cancelled.status === 409) t.equal(status, 'Succeeded')
      else t.equal(cancelled.status, 204)
      t.equal((await service.until(path, isFinal)).status, status)
    }
    t.comment(JSON.stringify(seen))
  })

  row(
    'Prefer: wait: done within it, the usual answer; else 202; Preference-Applied says what counted',
    async (t, service) => {
      const ask = (work: Work, prefer: string) =>
        service.ask('POST', retry, { headers: { prefer }, body: work })
      const created = await ask({ does: 'creates' }, 'wait=5')
      t.equal(created.status, 303)
      t.equal(headerOf(created, 'location'), '/v1/payments/8')
      t.equal(headerOf(created, 'preference-applied'), 'wait=5')
      t.match(JSON.parse(created.body), { status: 'Succeeded', resourceLocation: '/v1/payments/8' })

      const done = await ask({ does: 'nothing' }, 'respond-async, wait=5')
      t.equal(done.status, 200)
      t.equal(headerOf(done, 'preference-applied'), 'wait=5', 'it was not answered later')
      t.match(JSON.parse(done.body), { status: 'Succeeded' })

      const begun = Date.now()
      const later = await ask({ does: 'waits' }, 'respond-async, wait=1')
      t.equal(later.status, 202)
      t.equal(headerOf(later, 'preference-applied'), 'respond-async, wait=1')
      t.ok(Date.now() - begun >= 950)

      const longer = await ask({ does: 'nothing' }, 'wait=1000')
      t.equal(headerOf(longer, 'preference-applied'), 'wait=10', 'no longer than the service will')

      const at = await ask({ does: 'waits', key: 'at once' }, 'respond-async')
      t.strictSame([at.status, headerOf(at, 'preference-applied')], [202, 'respond-async'])
      const none = await ask({ does: 'waits', key: 'as well' }, 'wait=0')
      t.strictSame([none.status, headerOf(none, 'preference-applied')], [202, undefined])
      for (const key of ['', 'at once', 'as well']) service.letGo(key)
    },
  )

  row('an answer of the route’s own, where the client waited for it', async (t, service) => {
    const ask = (does: Work['does']) =>
      service.ask('POST', '/v1/subscriptions/7/suspend', { headers: { prefer: 'wait=5' }, body: { does } })
    const done = await ask('creates')
    t.strictSame([done.status, done.body], [201, '{"made":"/v1/payments/8"}'])
    t.equal(headerOf(done, 'preference-applied'), 'wait=5')
    isProblem(t, await ask('refuses'), { status: 409, code: 'not-retryable', detail: 'It is paid' })
  })

  row('an unknown operation and one of another caller are the same 404', async (t, service) => {
    const path = await service.start({ does: 'waits' })
    const unknown = `/v1/operations/${'0'.repeat(32)}`
    for (const [method, suffix] of [
      ['GET', ''],
      ['GET', '/status'],
      ['DELETE', ''],
    ] as const) {
      for (const caller of ['bob', '']) {
        const asked = { caller }
        const others = isProblem(t, await service.ask(method, path + suffix, asked), {
          status: 404,
          code: 'not-found',
        })
        const none = isProblem(t, await service.ask(method, unknown + suffix, asked), {
          status: 404,
          code: 'not-found',
        })
        t.strictSame({ ...others, instance: '' }, { ...none, instance: '' }, `${method} ${suffix}`)
      }
    }
    t.match(
      JSON.parse((await service.ask('GET', path)).body),
      { status: 'In progress' },
      'it was not cancelled',
    )
    service.letGo('')
  })

  row('kept for a day, gone for another, and then as if it had never been', async (t, service) => {
    const path = await service.start({ does: 'creates' })
    await service.until(path, isFinal)
    const statuses = async () => {
      const answers = []
      for (const [method, suffix] of [
        ['GET', ''],
        ['GET', '/status'],
        ['DELETE', ''],
      ] as const) {
        answers.push(await service.ask(method, path + suffix))
      }
      return answers.map(({ status }) => status)
    }
    service.later(day - 60_000)
    t.strictSame(await statuses(), [303, 200, 409])
    service.later(120_000)
    t.strictSame(await statuses(), [410, 410, 410])
    isProblem(t, await service.ask('GET', path), { status: 410, code: 'operation-gone' })
    isProblem(t, await service.ask('GET', path, { caller: 'bob' }), { status: 404, code: 'not-found' })
    service.later(day - 120_000)
    t.strictSame(await statuses(), [410, 410, 410])
    service.later(120_000)
    t.strictSame(await statuses(), [404, 404, 404])
  })

  row(
    'too many polls: 429 and when to come back; the operation goes on',
    async (t, service) => {
      const path = await service.start({ does: 'waits' })
      const polls: AnyAnswer[] = []
      for (let count = 0; count < 5; count += 1)
        polls.push(await service.ask('GET', `${path}${count % 2 === 0 ? '' : '/status'}`))
      t.strictSame(
        polls.map(({ status }) => status),
        [200, 200, 200, 429, 429],
      )
      const refused = sure(polls[3])
      isProblem(t, refused, { status: 429, code: 'quota-exceeded', detail: /continues/ })
      const wait = Number(headerOf(refused, 'retry-after'))
      t.ok(wait >= 1 && wait <= 60, `${wait} seconds`)
      t.equal(headerOf(refused, 'cache-control'), 'no-store')
      service.letGo('')
      service.later(wait * 1000)
      t.match((await service.until(path, isFinal)).status, 'Succeeded')
    },
    { polls: 3 },
  )

  row(
    'a worker that is killed is followed by another within its lease',
    async (t, { store, until, runs }) => {
      const registry = operationRegistry({
        store,
        lease: 1_000,
        checkInterval: 1_000,
        takesOver: false,
        retention: day,
        now: Date.now,
        schedule: scheduleTimeout,
      })
      const input = '{"does":"creates"}'
      const { id } = await stored(
        registry,
        newOperation({ name: 'payments.retry', owner: 'ann', access: 'owner', input }),
      )
      // A process claims the operation, and dies.
      t.match(await registry.claim(id, () => ({ maxRuns: 3, timeout: 60_000 })), { record: { run: 1 } })
      const ended = await until(`/v1/operations/${id}`, isFinal)
      t.match(ended, { status: 'Succeeded', resourceLocation: '/v1/payments/8' })
      t.strictSame(runs, [{ operationId: id, run: 2 }])
      t.equal(
        await registry
          .finish(id, 1, { status: 'Succeeded', resource: '/v1/payments/dead', result: null })
          .then((record) => record?.resource),
        '/v1/payments/8',
      )
    },
    { lease: 1_000, polls: false },
  )

  row(
    'a download that is not ready: 202 and when to ask the same URL again; then the file',
    async (t, { ask, letGo }) => {
      const early = await ask('GET', '/v1/orders/7/invoice')
      t.equal(early.status, 202)
      t.equal(headerOf(early, 'retry-after'), '3')
      t.equal(headerOf(early, 'cache-control'), 'no-store')
      t.strictSame(JSON.parse(early.body), { status: 'In progress', progress: 0.5 })
      letGo('invoice')
      const ready = await ask('GET', '/v1/orders/7/invoice')
      t.strictSame([ready.status, ready.body], [200, 'sku,quantity\n'])
      t.match(headerOf(ready, 'content-type'), /^text\/csv/)
    },
  )
}

function isFinal({ status }: StatusDocument): boolean {
  return status !== 'In progress'
}

async function openService(t: Test, setUp: ProtocolSetUp, options: OperationsOptions): Promise<Service> {
  const store = await setUp.openStore(t)
  const engine = await setUp.openEngine(t)
  const runs: { operationId: string; run: number }[] = []
  const held = new Map<string, () => void>()
  const gone = new Set<string>()
  let shift = 0

  const app = Fastify(serverOptions())
  await app.register(problems)
  await app.register(cors, { origin: [page] })
  await app.register(operations, {
    store,
    engine,
    identify: ({ headers }) => String(headers['x-caller'] ?? '') || null,
    now: () => Date.now() + shift,
    ...options,
  })

  const passes = (key: string, signal: AbortSignal | null) =>
    new Promise<void>((resolve, reject) => {
      if (gone.delete(key)) resolve()
      held.set(key, resolve)
      signal?.addEventListener('abort', () => reject(signal.reason))
    })
  for (const [name, cancellable] of [
    ['payments.retry', true],
    ['orders.retry', false],
  ] as const) {
    app.operations.define<Work>(
      name,
      { cancellable },
      async ({ input, signal, progress, operationId, run }) => {
        runs.push({ operationId, run })
        const { does, key = '' } = input
        if (does === 'creates') return { resource: '/v1/payments/8' }
        if (does === 'gives a result') return { result: { big: 9007199254740993n, text: 'ü' } }
        if (does === 'refuses') throw new ProblemError('not-retryable', { status: 409, detail: 'It is paid' })
        if (does === 'crashes') throw new Error('password of the database')
        progress(0.4)
        if (does === 'waits') await passes(key, signal)
        if (does === 'waits, ignores its signal') await passes(key, null)
        return undefined
      },
    )
  }

  const body = {
    type: 'object',
    required: ['does'],
    properties: { does: { type: 'string', minLength: 3 }, key: { type: 'string' } },
  }
  // What the routes answer without an operation; a document of one is none of it.
  const response = { 200: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } } }
  const config = { operations: { starts: 'payments.retry' } }
  app.post(retry, { schema: { body, response }, config }, async (request, reply) => {
    if (request.headers['x-caller'] === undefined) throw new ProblemError('unauthorized')
    if (request.headers['if-match'] === '"0"') throw new ProblemError('precondition-failed')
    return reply.startOperation('payments.retry', request.body)
  })
  app.post('/v1/orders/7/retry', { schema: { body } }, async (request, reply) =>
    reply.startOperation('orders.retry', request.body),
  )
  app.post('/v1/subscriptions/7/suspend', { schema: { body } }, async (request, reply) =>
    reply.startOperation('payments.retry', request.body, {
      answer: (end, reply) => {
        if (end.status === 'Failed') throw new ProblemError(end.error.code, end.error)
        return reply.code(201).send({ made: end.resource })
      },
    }),
  )
  app.get('/v1/payments/8', async () => ({ id: '8', status: 'pending' }))
  app.get('/v1/orders/7/invoice', async (_, reply) =>
    gone.has('invoice') ? reply.type('text/csv').send('sku,quantity\n') : reply.notReady(3, 0.5),
  )
  const { origin } = await serve(t, app)

  const ask = async (method: string, path: string, { caller = 'ann', headers = {}, body }: AskOptions = {}) =>
    fetched(
      await fetch(`${origin}${path}`, {
        method,
        redirect: 'manual',
        headers: {
          ...(caller === '' ? {} : { 'x-caller': caller }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )

  return {
    origin,
    store,
    ask,
    runs,
    async start(work, request) {
      const answer = await ask('POST', retry, { ...request, body: work })
      if (answer.status !== 202) throw new Error(`not started: ${answer.status} ${answer.body}`)
      return sure(headerOf(answer, 'location'))
    },
    async until(path, isThere) {
      const deadline = Date.now() + 20_000
      for (;;) {
        // Past the limit of polls, which is another row.
        const document = sure(await app.operations.find(path.slice('/v1/operations/'.length)))
        if (isThere(document)) return document
        if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(document)}`)
        await pause(10)
      }
    },
    letGo(key) {
      const resolve = held.get(key)
      held.delete(key)
      if (resolve === undefined) gone.add(key)
      else resolve()
    },
    later(milliseconds) {
      shift += milliseconds
    },
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
