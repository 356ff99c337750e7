/** The status of an operation as server-sent events, over sockets. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:http2'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { conventions, problems, serverOptions } from '../../../src/index.js'
import {
  memoryOperationStore,
  type OperationContext,
  type OperationStore,
  type OperationsOptions,
  operations,
  type StatusDocument,
} from '../../../src/plugins/operations/index.js'
import { keepLogs } from '../../support/logs.js'
import { manualClock } from '../../support/manual-clock.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'
import { start as startTime, sure } from './samples.js'
import { unruly } from './unruly-store.js'

/** Resolves when a condition is met. */
async function met(condition: () => boolean | Promise<boolean>): Promise<void> {
  await until(async () => condition(), Boolean, 10_000, 5)
}

interface Work {
  readonly progress: (progress: number) => void
  readonly end: (result?: unknown) => void
}

/** A service with operations that report and end when the test says so. */
async function service(
  t: Test,
  options: OperationsOptions = {},
  kind: 'alone' | 'preset' = 'alone',
  server: FastifyServerOptions = {},
  prepare: (app: FastifyInstance) => void = () => {},
) {
  const app: FastifyInstance = Fastify({ ...serverOptions(), ...server } as FastifyServerOptions)
  prepare(app)
  const given: OperationsOptions = { drain: 0, unwind: 0, identify: () => 'a', polls: false, ...options }
  if (kind === 'preset') await app.register(conventions, { operations: given })
  else {
    await app.register(problems)
    await app.register(operations, given)
  }
  const works = new Map<string, Work>()
  app.operations.define(
    'work',
    { cancellable: true },
    ({ progress, operationId, signal }: OperationContext) =>
      new Promise<{ result: unknown }>((resolve, reject) => {
        works.set(operationId, { progress, end: (result) => resolve({ result }) })
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  )
  const { origin } = await serve(t, app)
  const start = async () => (await app.operations.start('work', null, { owner: 'a' })).id
  return {
    app,
    start,
    urlOf: (id: string) => `${origin}/v1/operations/${id}/status`,
    /** The work of an operation, once it runs. */
    async workOf(id: string): Promise<Work> {
      await met(() => works.has(id))
      return sure(works.get(id))
    },
  }
}

/** Opens a stream, and collects what comes in. */
async function open(t: Test, url: string, headers: Readonly<Record<string, string>> = {}) {
  const request = get(url, { headers: { accept: 'text/event-stream', ...headers } })
  request.on('error', () => {})
  t.teardown(() => request.destroy())
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  let text = ''
  let hasEnded = false
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  response.on('end', () => {
    hasEnded = true
  })
  const documents = () =>
    [...text.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as StatusDocument)
  return {
    status: response.statusCode,
    headers: response.headers,
    response,
    leave: () => request.destroy(),
    text: () => text,
    documents,
    /** The first document that is as expected. */
    seen: (is: (document: StatusDocument) => boolean) => met(() => documents().some(is)),
    ended: () => met(() => hasEnded),
  }
}

const isFinal = ({ status }: StatusDocument) => status !== 'In progress'

for (const kind of ['alone', 'preset'] as const) {
  t.test(`${kind}: the current document at once, each change, and the end of the stream`, async (t) => {
    const { start, urlOf, workOf } = await service(t, { retryAfter: 7 }, kind)
    const id = await start()
    const stream = await open(t, urlOf(id))
    t.equal(stream.status, 200)
    t.match(stream.headers, {
      'content-type': /^text\/event-stream/,
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      vary: /accept\b/i,
    })
    await stream.seen(({ status }) => status === 'In progress')
    t.match(
      stream.text(),
      /^retry: 7000\nevent: status\nid: \d+\ndata: \{"id":"[0-9a-f]{32}","status":"In progress",.*\}\n\n$/,
    )
    const work = await workOf(id)
    work.progress(0.5)
    await stream.seen(({ progress }) => progress === 0.5)
    work.end({ payment_id: 9007199254740993n })
    await stream.ended()
    const { status, progress } = sure(stream.documents().at(-1))
    t.strictSame({ status, progress }, { status: 'Succeeded', progress: 1 })
    const twin = kind === 'preset' ? ',"payment_id_str":"9007199254740993"' : ''
    t.match(stream.text(), `"result":{"payment_id":9007199254740993${twin}}}\n\n`)
    const ids = [...stream.text().matchAll(/^id: (\d+)$/gm)].map(([, version]) => Number(version))
    t.equal(ids.length, stream.documents().length, 'each event has an id')
    for (const [index, id] of ids.slice(1).entries()) t.ok(id > (ids[index] ?? id), 'which rises')

    const poll = await fetch(urlOf(id))
    t.match(poll.headers.get('content-type'), /^application\/json/)
    t.equal(`data: ${await poll.text()}`, stream.text().split('\n').at(-3), 'as polled')
  })
}

t.test('a final operation is one event; a client that has had it is told not to come again', async (t) => {
  const { start, urlOf, workOf } = await service(t)
  const id = await start()
  ;(await workOf(id)).end()
  const first = await open(t, urlOf(id))
  await first.ended()
  const last = sure(/^id: (\d+)$/m.exec(first.text().split('\n\n').at(-2) ?? ''))[1] as string
  const again = await open(t, urlOf(id))
  await again.ended()
  t.equal(again.documents().length, 1)
  t.equal((await open(t, urlOf(id), { 'last-event-id': '1' })).status, 200)
  const stopped = await open(t, urlOf(id), { 'last-event-id': last })
  t.equal(stopped.status, 204)
})

t.test('a client that prefers JSON, or neither, gets JSON', async (t) => {
  const { start, urlOf } = await service(t)
  const id = await start()
  const both = ['text/event-stream, application/json', 'text/event-stream;q=0.1, */*']
  for (const accept of ['application/json', '*/*', ...both]) {
    const answer = await fetch(urlOf(id), { headers: { accept } })
    t.match(answer.headers.get('content-type'), /^application\/json/, accept)
    t.match(await answer.json(), { id })
  }
  const refused = await fetch(urlOf(id), { headers: { accept: 'text/html' } })
  t.equal(refused.status, 406)
  const unknown = await fetch(urlOf('0'.repeat(32)), { headers: { accept: 'text/event-stream' } })
  t.match([unknown.status, unknown.headers.get('content-type')], [404, /^application\/problem\+json/])
})

t.test('HEAD has the headers of the stream, and ends', async (t) => {
  const { start, urlOf } = await service(t)
  const headers = { accept: 'text/event-stream' }
  const answer = await fetch(urlOf(await start()), { method: 'HEAD', headers })
  t.equal(answer.status, 200)
  t.match(answer.headers.get('content-type'), /^text\/event-stream/)
  t.equal(await answer.text(), '')
})

t.test('an idle stream has a comment every 15 seconds', async (t) => {
  const clock = manualClock(startTime)
  const { start, urlOf } = await service(t, { now: clock.now, schedule: clock.schedule })
  const stream = await open(t, urlOf(await start()))
  await stream.seen(() => true)
  const before = stream.text()
  await clock.advance(15_000)
  await met(() => stream.text() === `${before}:\n\n`)
  await clock.advance(15_000)
  await met(() => stream.text() === `${before}:\n\n:\n\n`)
})

t.test('a stream ends when the client leaves, and its place is free', async (t) => {
  const logs = keepLogs('warn')
  const clock = manualClock(startTime)
  const options = { maxStreams: 1, now: clock.now, schedule: clock.schedule }
  const { start, urlOf } = await service(t, options, 'alone', { logger: logs.logger })
  const id = await start()
  const first = await open(t, urlOf(id))
  t.match(first.headers['content-type'], /^text\/event-stream/)
  t.equal(clock.waiting(15_000), 1)
  const beyond = await open(t, urlOf(id))
  t.match(beyond.headers['content-type'], /problem/, 'there is one place')
  first.leave()
  await met(() => clock.waiting(15_000) === 0)
  const next = await open(t, urlOf(id))
  t.match(next.headers['content-type'], /^text\/event-stream/)
  next.leave()
  await met(() => clock.waiting(15_000) === 0)
  t.strictSame(logs.lines, [])
})

t.test('streams end when the server closes, so that it can', async (t) => {
  const { app, start, urlOf } = await service(t)
  const stream = await open(t, urlOf(await start()))
  await stream.seen(() => true)
  await app.close()
  await stream.ended()
  t.ok(!stream.documents().some(isFinal), 'the client connects again, to another instance')
})

t.test('a stream follows an operation that another instance runs', async (t) => {
  const memory = memoryOperationStore()
  const shared: OperationStore = { ...memory, isShared: true }
  const web = await service(t, { store: shared })
  const worker = await service(t, { store: shared })
  const id = await worker.start()
  const stream = await open(t, web.urlOf(id))
  const work = await worker.workOf(id)
  work.progress(0.25)
  await stream.seen(({ progress }) => progress === 0.25)
  work.end('done')
  await stream.ended()
  t.match(stream.documents().at(-1), { status: 'Succeeded', result: 'done' })
})

t.test('a message that is lost delays a change by two seconds at most', async (t) => {
  const clock = manualClock(startTime)
  const memory = memoryOperationStore()
  const deaf: OperationStore = { ...memory, isShared: true, listen: async () => async () => {} }
  const { start, urlOf, workOf } = await service(t, { store: deaf, now: clock.now, schedule: clock.schedule })
  const id = await start()
  const stream = await open(t, urlOf(id))
  ;(await workOf(id)).end()
  await met(async () => (await memory.get(id))?.status === 'Succeeded')
  t.ok(!stream.documents().some(isFinal))
  await clock.advance(2_000)
  await stream.ended()
  t.ok(stream.documents().some(isFinal))
})

t.test('a store that fails for a while does not end the stream', async (t) => {
  const memory = memoryOperationStore()
  const store = unruly(memory)
  const clock = manualClock(startTime)
  const { start, urlOf, workOf } = await service(t, { store, now: clock.now, schedule: clock.schedule })
  const id = await start()
  const work = await workOf(id)
  const stream = await open(t, urlOf(id))
  await stream.seen(() => true)
  store.moods.get = 'fails'
  await clock.advance(4_000)
  store.moods.get = 'well'
  work.end()
  await met(async () => (await memory.get(id))?.status === 'Succeeded')
  await clock.advance(2_000)
  await stream.ended()
  t.ok(stream.documents().some(isFinal))
})

t.test('over HTTP/2, a stream follows an operation, and ends when the client resets it', async (t) => {
  const clock = manualClock(startTime)
  const { start, urlOf, workOf } = await service(t, { now: clock.now, schedule: clock.schedule }, 'preset', {
    http2: true,
  } as FastifyServerOptions)
  const id = await start()
  const { origin, pathname } = new URL(urlOf(id))
  const session = connect(origin)
  t.teardown(() => session.destroy())
  const open = () => session.request({ ':path': pathname, accept: 'text/event-stream' }).setEncoding('utf8')
  const left = open()
  await once(left, 'data')
  t.equal(clock.waiting(15_000), 1)
  left.close()
  await met(() => clock.waiting(15_000) === 0)
  const followed = open()
  let text = ''
  followed.on('data', (chunk: string) => {
    text += chunk
  })
  await met(() => text !== '')
  ;(await workOf(id)).end()
  await once(followed, 'end')
  t.match(text, '"status":"Succeeded"')
})

t.test('a stream that a hook of the app refuses leaves its place to others', async (t) => {
  const refuse = (app: FastifyInstance) => {
    app.addHook('onSend', async (request) => {
      if (request.headers['x-refuse'] !== undefined) throw new Error('no')
    })
  }
  const { start, urlOf } = await service(t, { maxStreams: 1 }, 'alone', {}, refuse)
  const url = urlOf(await start())
  const refused = await open(t, url, { 'x-refuse': 'yes' })
  t.equal(refused.status, 500)
  await refused.ended()
  await met(async () => {
    const { headers } = await open(t, url)
    return headers['content-type']?.startsWith('text/event-stream') === true
  })
})
