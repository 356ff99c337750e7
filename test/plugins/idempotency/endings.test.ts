/** Handlers that stream, take over the response, time out, or lose their client; and stores that fail. Over sockets. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { memoryIdempotency } from '../../../src/plugins/idempotency/index.js'
import { keepLogs } from '../../support/logs.js'
import { openConnection, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'
import { deferred, payment, refused, serviceWith } from './service.js'

const [running, lost] = ['idempotency-in-progress', 'idempotency-answer-not-kept']

/** A service with a POST route for each handler, whose requests have one key each. */
async function served(t: Test, handlers: Record<string, (reply: FastifyReply) => unknown>, options = {}) {
  const { app } = await serviceWith()
  let runs = 0
  for (const [name, handler] of Object.entries(handlers)) {
    app.post(`/v1/${name}`, options, (_request, reply) => {
      runs += 1
      return handler(reply)
    })
  }
  const { origin, port } = await serve(t, app)
  const post = (name: string, signal: AbortSignal | null = null) => {
    const headers = { 'x-user': 'ada', 'idempotency-key': name }
    return fetch(`${origin}/v1/${name}`, { method: 'POST', headers, signal })
  }
  const send = async (name: string) => {
    const response = await post(name)
    const body = Buffer.from(await response.arrayBuffer())
    const isReplay = response.headers.get('idempotent-replayed') === 'true'
    const problem = body[0] === 0x7b ? JSON.parse(String(body)) : {}
    return { status: response.status, isReplay, body, text: String(body), problem, code: problem.code }
  }
  const hasEnded = ({ code }: Awaited<ReturnType<typeof send>>) => code !== running
  /** Sends the request again until the first one has ended. */
  const settled = (name: string) => until(() => send(name), hasEnded)
  return { port, post, send, settled, runs: () => runs }
}

t.test('a stream up to maxBytes is sent as it comes, and is kept', async (t) => {
  const gate = deferred<void>()
  async function* parts() {
    yield 'first '
    await gate.promise
    yield Buffer.from([0xff, 0x00])
  }
  const { post, send, runs } = await served(t, {
    stream: async (reply) => reply.code(201).type('image/png').send(Readable.from(parts())),
    web: async (reply) => reply.send(new Blob(['web']).stream()),
  })
  const reader = (await post('stream')).body?.getReader()
  t.equal(String(Buffer.from((await reader?.read())?.value ?? [])), 'first ', 'before its end')
  t.equal((await send('stream')).status, 409, 'it still runs')
  gate.resolve()
  while (!(await reader?.read())?.done);
  const { status, isReplay, body } = await send('stream')
  t.strictSame([status, isReplay, body.toString('latin1')], [201, true, 'first \xff\0'])
  for (const _ of [1, 2]) t.equal((await send('web')).text, 'web')
  t.equal(runs(), 2)
})

t.test('a longer stream passes whole, and does not run again; one that fails at once does', async (t) => {
  let isBroken = true
  const broken = () => new Readable({ read: () => {} }).destroy(new Error('broken'))
  const parts = Array.from({ length: 10 }, () => Buffer.alloc(10_000, 'x'))
  const { send } = await served(t, {
    long: async (reply) => reply.send(Readable.from(parts)),
    broken: async (reply) => reply.send(isBroken ? broken() : 'done'),
  })
  t.equal((await send('long')).body.length, 100_000)
  t.equal((await send('long')).code, lost)
  t.equal((await send('broken')).status, 500)
  isBroken = false
  t.equal((await send('broken')).text, 'done')
})

t.test('a client that leaves while the handler runs gets the answer with its next request', async (t) => {
  const gates: ReturnType<typeof deferred<void>>[] = []
  const wait = () => {
    const gate = deferred<void>()
    gates.push(gate)
    return gate.promise
  }
  const { port, send, settled, runs } = await served(t, {
    value: () => wait().then(() => ({ id: 1 })),
    nothing: (reply) => wait().then(() => void reply.code(204)),
    sent: (reply) => wait().then(() => reply.code(202).send('sent')),
    called: (reply) => void wait().then(() => reply.code(203).send('called')),
  })
  for (const [name, expected] of Object.entries({ value: 200, nothing: 204, sent: 202, called: 203 })) {
    const { socket, send: write } = await openConnection(port)
    const headers = { 'x-user': 'ada', 'idempotency-key': name, 'content-length': '0' }
    write(requestBytes('POST', `/v1/${name}`, headers))
    await until(async () => gates.length > 0, Boolean)
    socket.destroy()
    await once(socket, 'close')
    t.equal((await send(name)).status, 409, `${name}: it still runs`)
    gates.pop()?.resolve()
    const { status, isReplay } = await settled(name)
    t.strictSame([status, isReplay], [expected, true], name)
  }
  t.equal(runs(), 4)
})

t.test('a client that leaves during a stream does not make it run again', async (t) => {
  const stream = () => new ReadableStream({ start: (sent) => sent.enqueue(Buffer.from('first')) })
  const { post, settled, runs } = await served(t, {
    web: async (reply) => reply.send(stream()),
    node: async (reply) => reply.send(Readable.fromWeb(stream() as never)),
  })
  for (const name of ['web', 'node']) {
    const client = new AbortController()
    await post(name, client.signal)
    client.abort()
    t.match((await settled(name)).problem, { code: lost, detail: /closed before its end/ })
  }
  t.equal(runs(), 2)
})

t.test('a handler that takes over the response, or returns a Response, does not run again', async (t) => {
  const { send, settled, runs } = await served(t, {
    async: async (reply) => void reply.hijack().raw.end('raw'),
    later(reply) {
      reply.hijack()
      setImmediate().then(() => reply.raw.end('raw'))
    },
    web: async () => new Response('raw'),
    failed: (reply) => void reply.hijack().raw.writeHead(500).end('raw'),
  })
  for (const name of ['async', 'later', 'web']) {
    t.equal((await send(name)).text, 'raw')
    t.equal((await settled(name)).code, lost, name)
  }
  t.equal(runs(), 3)
  for (const _ of [1, 2]) t.equal((await settled('failed')).status, 500)
  t.equal(runs(), 5, 'a 500 runs again')
})

t.test('a handler that has timed out keeps its key while it runs', async (t) => {
  const gate = deferred<void>()
  const handlers = {
    resolves: () => gate.promise.then(() => ({ id: 1 })),
    rejects: () => gate.promise.then(() => Promise.reject(new Error('no'))),
    callback: (reply: FastifyReply) => void gate.promise.then(() => reply.send('late')),
  }
  const { send, runs } = await served(t, handlers, { handlerTimeout: 100 })
  const [timeout, error] = ['handler-timeout', 'internal-server-error']
  const codesAre = async (...codes: string[]) => {
    for (const name of Object.keys(handlers)) t.equal((await send(name)).code, codes.shift(), name)
  }
  await codesAre(timeout, timeout, timeout)
  // When a callback ends is not known.
  await codesAre(running, running, lost)
  t.equal(runs(), 3)
  gate.resolve()
  await setImmediate()
  await codesAre(lost, error, lost)
  t.equal(runs(), 4, 'after an error it runs again')
})

t.test('a body that the handler reads as a stream cannot be compared: no key', async (t) => {
  const { app } = await serviceWith()
  app.addContentTypeParser('text/csv', (_request, payload, done) => done(null, payload))
  app.post('/v1/imports', async ({ body }) => ({ read: await text(body as Readable) }))
  const csv = { url: '/v1/imports', payload: 'a,b', headers: { 'content-type': 'text/csv' } }
  await refused(t, app, 'k', 'key-invalid', csv, /stream/)
  t.strictSame((await app.inject(payment(null, csv))).json(), { read: 'a,b' })
})

t.test('while the store fails, a request with a key is a 503 and does not run', async (t) => {
  const logs = keepLogs('info')
  const store = memoryIdempotency()
  const { claim } = store
  store.claim = () => Promise.reject(new Error('away'))
  const { app, payments } = await serviceWith({ store }, { logger: logs.logger })
  for (const _ of [1, 2]) t.equal((await refused(t, app, 'k', 'unavailable')).headers['retry-after'], '5')
  t.equal((await app.inject(payment(null))).statusCode, 201, 'one without a key runs')
  store.claim = claim
  t.equal((await app.inject(payment('k'))).statusCode, 201)
  t.equal(payments(), 2)
  const told = logs.lines.flatMap(({ msg = '' }) => /(?<=^idempotency: the store ).*/.exec(msg)?.[0] ?? [])
  t.strictSame(told, ['fails', 'replies again'], 'once each')
  t.match(logs.lines.find(({ msg }) => /the store fails/.test(`${msg}`))?.err, { message: 'away' })
})

t.test('a store that does not reply is a 503, and what it does later is undone', async (t) => {
  const store = { ...memoryIdempotency(), isShared: true }
  const gate = deferred<void>()
  const { claim } = store
  store.claim = (...given) => gate.promise.then(() => claim(...given))
  const schedule = (run: () => void, milliseconds: number) => {
    const timer = milliseconds === 1_000 ? setTimeout(run, 1) : undefined
    return () => clearTimeout(timer)
  }
  const { app } = await serviceWith({ store, storeTimeout: '1 s', schedule })
  await refused(t, app, 'k', 'unavailable')
  gate.resolve()
  await setImmediate()
  t.equal((await app.inject(payment('k'))).statusCode, 201, 'the late claim has no key')
})

t.test('an answer that the store does not take at first is sent, and is kept later', async (t) => {
  const store = memoryIdempotency()
  const { complete } = store
  let refusals = 2
  store.complete = (...given) => (refusals-- > 0 ? Promise.reject(new Error('away')) : complete(...given))
  const calls: (() => void)[] = []
  const schedule = (run: () => void, milliseconds: number) => {
    if (milliseconds === 10_000) calls.push(run)
    return () => {}
  }
  const { app, payments } = await serviceWith({ store, schedule })
  const first = await app.inject(payment('k'))
  t.equal(first.statusCode, 201)
  await refused(t, app, 'k', 'in-progress')
  for (let retry = 0; retry < 2; retry += 1) {
    calls.shift()?.()
    await setImmediate()
  }
  const found = await app.inject(payment('k'))
  t.strictSame([found.headers['idempotent-replayed'], found.body], ['true', first.body])
  t.equal(payments(), 1)
})

t.test('a store that is not set up fails the boot', async (t) => {
  const store = { ...memoryIdempotency(), check: () => Promise.reject(new Error('run migrate()')) }
  await t.rejects(async () => (await serviceWith({ store })).app.ready(), { message: 'run migrate()' })
})
