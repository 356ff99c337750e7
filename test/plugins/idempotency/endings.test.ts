/** Handlers that stream, take over the response, time out, or lose their client; and stores that fail. Over sockets. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { memoryIdempotency } from '../../../src/plugins/idempotency/index.js'
import { keepLogs } from '../../support/logs.js'
import { injected, isProblem } from '../../support/problem.js'
import { serve } from '../../support/serve.js'
import { until } from '../../support/until.js'
import { deferred, payment, serviceWith } from './service.js'

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

t.test('a longer stream passes whole, and does not run again', async (t) => {
  const { app, listen, send, ran, runs } = await served(t)
  app.post('/v1/stream', async (_request, reply) => {
    ran()
    return reply.send(Readable.from(Array.from({ length: 10 }, () => Buffer.alloc(10_000, 'x'))))
  })
  await listen()
  t.equal((await send('/v1/stream', 'k')).body.length, 100_000)
  t.equal(JSON.parse((await send('/v1/stream', 'k')).text)[code], 'idempotency-answer-not-kept')
  t.equal(runs(), 1)
})

t.test('a stream that fails before its first byte is a 500, and its request runs again', async (t) => {
  const { app, listen, send, ran } = await served(t)
  app.post('/v1/stream', async (_request, reply) => {
    if (ran() > 1) return reply.send('done')
    return reply.send(
      new Readable({
        read() {
          this.destroy(new Error('broken'))
        },
      }),
    )
  })
  await listen()
  t.equal((await send('/v1/stream', 'k')).status, 500)
  t.equal((await send('/v1/stream', 'k')).text, 'done')
})

t.test('a client that leaves while the handler runs gets the answer with its next request', async (t) => {
  const { app, listen, send, ran, runs } = await served(t)
  const gates = new Map<string, ReturnType<typeof deferred<void>>>()
  const waits = async (path: string) => {
    ran()
    const gate = deferred<void>()
    gates.set(path, gate)
    await gate.promise
  }
  app.post('/v1/value', async () => {
    await waits('/v1/value')
    return { id: 1 }
  })
  app.post('/v1/nothing', async (_request, reply) => {
    await waits('/v1/nothing')
    reply.code(204)
  })
  app.post('/v1/sent', async (_request, reply) => {
    await waits('/v1/sent')
    return reply.code(202).send('sent')
  })
  app.post('/v1/called', (_request, reply) => {
    waits('/v1/called').then(() => reply.code(203).send('called'))
  })
  const port = await listen()
  for (const path of ['/v1/value', '/v1/nothing', '/v1/sent', '/v1/called']) {
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: a\r\nX-User: ada\r\nIdempotency-Key: ${path.slice(4)}\r\nContent-Length: 0\r\n\r\n`,
    )
    await until(
      async () => gates.has(path),
      (isThere) => isThere,
    )
    socket.destroy()
    await once(socket, 'close')
    t.equal((await send(path, path.slice(4))).status, 409, `${path}: it still runs`)
    gates.get(path)?.resolve()
    const found = await until(
      () => send(path, path.slice(4)),
      ({ status }) => status !== 409,
    )
    t.equal(found.headers.get(again), 'true', path)
    const expected = { '/v1/value': 200, '/v1/nothing': 204, '/v1/sent': 202, '/v1/called': 203 }[path]
    t.equal(found.status, expected, path)
  }
  t.equal(runs(), 4)
})

t.test('a handler that takes over the response does not run again', async (t) => {
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
  app.post('/v1/failed', (_request, reply) => {
    ran()
    reply.hijack()
    reply.raw.writeHead(500).end('raw')
  })
  await listen()
  for (const path of ['/v1/async', '/v1/later']) {
    t.equal((await send(path, path.slice(4))).text, 'raw')
    const found = await until(
      () => send(path, path.slice(4)),
      ({ text }) => !text.includes('in-progress'),
    )
    t.equal(JSON.parse(found.text)[code], 'idempotency-answer-not-kept', path)
  }
  t.equal(runs(), 2)
  t.equal((await send('/v1/failed', 'f')).status, 500)
  await until(
    () => send('/v1/failed', 'f'),
    ({ status }) => status === 500,
  )
  t.equal(runs(), 4, 'a 500 runs again')
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
  isProblem(t, injected(await app.inject(payment('k', csv))), {
    status: 400,
    code: 'idempotency-key-invalid',
    detail: /stream/,
  })
  t.equal(runs, 0)
  t.strictSame((await app.inject(payment(null, csv))).json(), { length: 3 })
})

t.test('while the store fails, a request with a key is a 503 and does not run', async (t) => {
  const logs = keepLogs('info')
  const store = memoryIdempotency()
  let isAway = false
  const failing = {
    ...store,
    claim: (...parameters: Parameters<typeof store.claim>) =>
      isAway ? Promise.reject(new Error('away')) : store.claim(...parameters),
  }
  const { app, payments } = await serviceWith({ store: failing }, { logger: logs.logger })
  isAway = true
  for (const _ of [1, 2]) {
    const refused = await app.inject(payment('k'))
    isProblem(t, injected(refused), { status: 503, code: 'idempotency-unavailable' })
    t.equal(refused.headers['retry-after'], '5')
  }
  t.equal((await app.inject(payment(null))).statusCode, 201, 'one without a key runs')
  isAway = false
  t.equal((await app.inject(payment('k'))).statusCode, 201)
  t.equal(payments(), 2)
  const messages = logs.lines
    .map(({ msg = '' }) => msg)
    .filter((msg) => msg.startsWith('idempotency: the store'))
  t.strictSame(
    messages,
    ['idempotency: the store fails', 'idempotency: the store replies again'],
    'once each',
  )
})

t.test('a store that does not reply is a 503, and what it does later is undone', async (t) => {
  const store = memoryIdempotency()
  const gate = deferred<void>()
  let isSlow = true
  const slow = {
    ...store,
    isShared: true,
    async claim(...parameters: Parameters<typeof store.claim>) {
      if (isSlow) await gate.promise
      return store.claim(...parameters)
    },
  }
  const { app } = await serviceWith({
    store: slow,
    storeTimeout: '1 s',
    schedule: (run, milliseconds) => {
      const timer = milliseconds === 1_000 ? setTimeout(run, 1) : undefined
      return () => clearTimeout(timer)
    },
  })
  t.equal((await app.inject(payment('k'))).statusCode, 503)
  isSlow = false
  gate.resolve()
  await setImmediate()
  t.equal((await app.inject(payment('k'))).statusCode, 201, 'the late claim has no key')
})

t.test('an answer that the store does not take at first is sent, and is kept later', async (t) => {
  const store = memoryIdempotency()
  let refusals = 2
  const failing = {
    ...store,
    complete: (...parameters: Parameters<typeof store.complete>) =>
      refusals-- > 0 ? Promise.reject(new Error('away')) : store.complete(...parameters),
  }
  const calls: (() => void)[] = []
  const { app, payments } = await serviceWith({
    store: failing,
    schedule: (run, milliseconds) => {
      if (milliseconds === 10_000) calls.push(run)
      return () => {}
    },
  })
  const first = await app.inject(payment('k'))
  t.equal(first.statusCode, 201)
  t.equal((await app.inject(payment('k'))).statusCode, 409, 'not yet')
  for (let retry = 0; retry < 2; retry += 1) {
    calls.shift()?.()
    await setImmediate()
  }
  const found = await app.inject(payment('k'))
  t.equal(found.headers[again], 'true')
  t.equal(found.body, first.body)
  t.equal(payments(), 1)
})

t.test('a store that is not set up fails the boot', async (t) => {
  const broken = { ...memoryIdempotency(), check: () => Promise.reject(new Error('run migrate()')) }
  await t.rejects(async () => (await serviceWith({ store: broken })).app.ready(), {
    message: 'run migrate()',
  })
})
