/** Handlers that stream, take over the response, time out, or lose their client; and stores that fail. Over sockets. */
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { memoryIdempotency } from '../../../src/plugins/idempotency/index.js'
import { keepLogs } from '../../support/logs.js'
import { openConnection, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'
import { deferred, payment, refused, serviceWith } from './service.js'

const [again, code] = ['idempotent-replayed', 'code']

async function served(t: Test, ...options: Parameters<typeof serviceWith>) {
  const service = await serviceWith(...options)
  let runs = 0
  const send = async (path: string, key: string, init: RequestInit = {}) => {
    const headers = { 'x-user': 'ada', 'idempotency-key': key }
    const response = await fetch(`${origin}${path}`, { method: 'POST', headers, ...init })
    const body = Buffer.from(await response.arrayBuffer())
    return { status: response.status, headers: response.headers, text: String(body), body }
  }
  let origin = ''
  return {
    ...service,
    ran: () => {
      runs += 1
      return runs
    },
    runs: () => runs,
    origin: () => origin,
    send,
    listen: async () => {
      ;({ origin } = await serve(t, service.app))
      return Number(new URL(origin).port)
    },
  }
}

t.test('a stream up to maxBytes is sent as it comes, and is kept', async (t) => {
  const { app, listen, send, ran, runs } = await served(t)
  const gate = deferred<void>()
  app.post('/v1/stream', async (_request, reply) => {
    ran()
    async function* parts() {
      yield 'first '
      await gate.promise
      yield Buffer.from([0xff, 0x00])
    }
    return reply.code(201).type('application/octet-stream').send(Readable.from(parts()))
  })
  app.post('/v1/web', async (_request, reply) => {
    ran()
    return reply.send(new Blob(['web']).stream())
  })
  const port = await listen()
  const response = await fetch(`http://127.0.0.1:${port}/v1/stream`, {
    method: 'POST',
    headers: { 'x-user': 'ada', 'idempotency-key': 'k' },
  })
  const reader = response.body?.getReader()
  t.equal(String(Buffer.from((await reader?.read())?.value ?? [])), 'first ', 'before its end')
  t.equal((await send('/v1/stream', 'k')).status, 409, 'it still runs')
  gate.resolve()
  while (!(await reader?.read())?.done);
  const replayed = await send('/v1/stream', 'k')
  t.equal(replayed.status, 201)
  t.equal(replayed.headers.get(again), 'true')
  t.same(replayed.body, Buffer.from('first \xff\0', 'latin1'))
  for (const _ of [1, 2]) t.equal((await send('/v1/web', 'w')).text, 'web')
  t.equal(runs(), 2)
})

t.test('a longer stream passes whole, and does not run again; one that fails at once does', async (t) => {
  const { app, listen, send, ran, runs } = await served(t)
  app.post('/v1/long', async (_request, reply) => {
    ran()
    return reply.send(Readable.from(Array.from({ length: 10 }, () => Buffer.alloc(10_000, 'x'))))
  })
  const broken = () => new Readable({ read: () => {} }).destroy(new Error('broken'))
  app.post('/v1/broken', async (_request, reply) => reply.send(ran() > 2 ? 'done' : broken()))
  await listen()
  t.equal((await send('/v1/long', 'k')).body.length, 100_000)
  t.equal(JSON.parse((await send('/v1/long', 'k')).text)[code], 'idempotency-answer-not-kept')
  t.equal(runs(), 1)
  t.equal((await send('/v1/broken', 'b')).status, 500)
  t.equal((await send('/v1/broken', 'b')).text, 'done')
})

t.test('a client that leaves while the handler runs gets the answer with its next request', async (t) => {
  const { app, listen, send, ran, runs } = await served(t)
  const gates = new Map<string, ReturnType<typeof deferred<void>>>()
  const wait = (path: string) => {
    ran()
    const gate = deferred<void>()
    gates.set(path, gate)
    return gate.promise
  }
  type Answer = readonly [status: number, answer: (reply: FastifyReply) => unknown]
  const answers: Readonly<Record<string, Answer>> = {
    '/v1/value': [200, () => ({ id: 1 })],
    '/v1/nothing': [204, (reply) => void reply.code(204)],
    '/v1/sent': [202, (reply) => reply.code(202).send('sent')],
  }
  for (const [path, [, answer]] of Object.entries(answers)) {
    app.post(path, async (_request, reply) => {
      await wait(path)
      return answer(reply)
    })
  }
  app.post('/v1/called', (_request, reply) => {
    wait('/v1/called').then(() => reply.code(203).send('called'))
  })
  const port = await listen()
  for (const path of [...Object.keys(answers), '/v1/called']) {
    const { socket, send: write } = await openConnection(port)
    const key = path.slice(4)
    write(requestBytes('POST', path, { 'x-user': 'ada', 'idempotency-key': key, 'content-length': '0' }))
    await until(async () => gates.has(path), Boolean)
    socket.destroy()
    await once(socket, 'close')
    t.equal((await send(path, key)).status, 409, `${path}: it still runs`)
    gates.get(path)?.resolve()
    const found = await until(
      () => send(path, key),
      ({ status }) => status !== 409,
    )
    t.strictSame([found.headers.get(again), found.status], ['true', answers[path]?.[0] ?? 203], path)
  }
  t.equal(runs(), 4)
})

t.test('a client that leaves during a stream does not make it run again', async (t) => {
  const { app, listen, send, origin, ran, runs } = await served(t)
  app.post<{ Params: { kind: string } }>('/v1/:kind', async ({ params: { kind } }, reply) => {
    ran()
    const stream = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('first')) })
    return reply.send(kind === 'web' ? stream : Readable.fromWeb(stream as never))
  })
  await listen()
  for (const kind of ['web', 'node']) {
    const client = new AbortController()
    const headers = { 'x-user': 'ada', 'idempotency-key': kind }
    const url = `${origin()}/v1/${kind}`
    await fetch(url, { method: 'POST', headers, signal: client.signal })
    client.abort()
    const found = await until(
      () => send(`/v1/${kind}`, kind),
      ({ text }) => !text.includes('in-progress'),
    )
    t.match(JSON.parse(found.text), {
      [code]: 'idempotency-answer-not-kept',
      detail: /closed before its end/,
    })
  }
  t.equal(runs(), 2)
})

t.test('a handler that takes over the response, or returns a Response, does not run again', async (t) => {
  const { app, listen, send, ran, runs } = await served(t)
  app.post('/v1/async', async (_request, reply) => {
    ran()
    reply.hijack()
    reply.raw.end('raw')
  })
  app.post('/v1/later', (_request, reply) => {
    ran()
    reply.hijack()
    setImmediate().then(() => reply.raw.end('raw'))
  })
  app.post('/v1/web', async () => {
    ran()
    return new Response('raw')
  })
  app.post('/v1/failed', (_request, reply) => {
    ran()
    reply.hijack()
    reply.raw.writeHead(500).end('raw')
  })
  await listen()
  for (const path of ['/v1/async', '/v1/later', '/v1/web']) {
    t.equal((await send(path, path.slice(4))).text, 'raw')
    const found = await until(
      () => send(path, path.slice(4)),
      ({ text }) => !text.includes('in-progress'),
    )
    t.equal(JSON.parse(found.text)[code], 'idempotency-answer-not-kept', path)
  }
  t.equal(runs(), 3)
  t.equal((await send('/v1/failed', 'f')).status, 500)
  await until(
    () => send('/v1/failed', 'f'),
    ({ status }) => status === 500,
  )
  t.equal(runs(), 5, 'a 500 runs again')
})

t.test('a handler that has timed out keeps its key while it runs', async (t) => {
  const { app, listen, send, ran, runs } = await served(t)
  const gate = deferred<void>()
  const handlers = {
    resolves: () => gate.promise.then(() => ({ id: 1 })),
    rejects: async () => {
      await gate.promise
      throw new Error('no')
    },
  }
  for (const [name, handler] of Object.entries(handlers)) {
    app.post(`/v1/${name}`, { handlerTimeout: 20 }, () => {
      ran()
      return handler()
    })
  }
  app.post('/v1/callback', { handlerTimeout: 20 }, (_request, reply) => {
    ran()
    gate.promise.then(() => reply.send('late'))
  })
  await listen()
  const codes = async (path: string) => JSON.parse((await send(path, path.slice(4))).text)[code]
  for (const path of ['/v1/resolves', '/v1/rejects', '/v1/callback'])
    t.equal(await codes(path), 'handler-timeout')
  t.equal(await codes('/v1/resolves'), 'idempotency-in-progress')
  t.equal(await codes('/v1/rejects'), 'idempotency-in-progress')
  t.equal(await codes('/v1/callback'), 'idempotency-answer-not-kept', 'when it ends is not known')
  t.equal(runs(), 3)
  gate.resolve()
  await setImmediate()
  t.equal(await codes('/v1/resolves'), 'idempotency-answer-not-kept')
  t.equal(await codes('/v1/rejects'), 'internal-server-error', 'it runs again')
  t.equal(runs(), 4)
})

t.test('a body that the handler reads as a stream cannot be compared: no key', async (t) => {
  const { app } = await serviceWith()
  app.addContentTypeParser('text/csv', (_request, payload, done) => done(null, payload))
  let runs = 0
  app.post('/v1/imports', async ({ body }) => {
    runs += 1
    let length = 0
    for await (const part of body as Readable) length += String(part).length
    return { length }
  })
  const csv = { url: '/v1/imports', payload: 'a,b', headers: { 'content-type': 'text/csv' } }
  await refused(t, app, 'k', 'key-invalid', csv, /stream/)
  t.equal(runs, 0)
  t.strictSame((await app.inject(payment(null, csv))).json(), { length: 3 })
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
  const told = logs.lines.filter(({ msg }) => msg?.startsWith('idempotency: the store'))
  t.match(told, [{ msg: 'idempotency: the store fails' }, { msg: 'idempotency: the store replies again' }])
  t.equal(told.length, 2, 'once each')
})

t.test('a store that does not reply is a 503, and what it does later is undone', async (t) => {
  const store = { ...memoryIdempotency(), isShared: true }
  const gate = deferred<void>()
  const { claim } = store
  store.claim = async (...given) => {
    await gate.promise
    return claim(...given)
  }
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
  t.strictSame([found.headers[again], found.body], ['true', first.body])
  t.equal(payments(), 1)
})

t.test('a store that is not set up fails the boot', async (t) => {
  const store = { ...memoryIdempotency(), check: () => Promise.reject(new Error('run migrate()')) }
  await t.rejects(async () => (await serviceWith({ store })).app.ready(), { message: 'run migrate()' })
})
