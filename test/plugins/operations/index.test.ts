/** Operations by themselves: input and handlers of every kind, requests that wait, stores that fail, closing. */
import { setTimeout as pause } from 'node:timers/promises'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyServerOptions, type InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { ProblemError, problems, serverOptions } from '../../../src/index.js'
import {
  inProcessEngine,
  memoryOperationStore,
  type OperationContext,
  type OperationJob,
  OperationQueueFullError,
  type OperationsOptions,
  operations,
  type StatusDocument,
} from '../../../src/plugins/operations/index.js'
import { keepLogs } from '../../support/logs.js'
import { manualClock } from '../../support/manual-clock.js'
import { headerOf, injected, isProblem } from '../../support/problem.js'
import { ask as askRaw, openConnection, requestBytes } from '../../support/raw.js'
import { serve } from '../../support/serve.js'
import { sure } from './samples.js'
import { unruly } from './unruly-store.js'

// Timers of the package do not keep the process alive, and `inject` has no socket that would.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

type Handle = (context: OperationContext) => Promise<unknown>

/** An app with one operation, `work`, and the route `POST /v1/work` that starts it with the body. */
async function service(
  t: Test,
  handle: Handle,
  options: OperationsOptions = {},
  server: FastifyServerOptions = {},
): Promise<FastifyInstance> {
  const app = Fastify({ ...serverOptions(), ...server } as FastifyServerOptions)
  t.teardown(() => app.close())
  await app.register(problems)
  await app.register(operations, { drain: 0, unwind: 0, ...options })
  app.operations.define('work', { cancellable: true }, handle as () => Promise<undefined>)
  app.post('/v1/work', async (request, reply) => reply.startOperation('work', request.body))
  // With a shared store, work begins when the app listens.
  app.addHook('onReady', () => app.operations.work())
  return app
}

const ask = async (app: FastifyInstance, request: InjectOptions) => injected(await app.inject(request))

async function start(app: FastifyInstance, body?: object): Promise<string> {
  const answer = await ask(app, {
    method: 'POST',
    url: '/v1/work',
    ...(body === undefined ? {} : { payload: body }),
  })
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.body}`)
  return sure(headerOf(answer, 'location'))
}

async function ended(app: FastifyInstance, path: string): Promise<StatusDocument> {
  for (let waited = 0; waited < 10_000; waited += 5) {
    const document = sure(await app.operations.find(path.slice(-32)))
    if (document.status !== 'In progress') return document
    await pause(5)
  }
  throw new Error('it does not end')
}

t.test('the input reaches the handler as JSON has it, with all digits', async (t) => {
  const inputs: unknown[] = []
  const app = await service(t, async ({ input }) => void inputs.push(input))
  const given: readonly (readonly [input: unknown, received: unknown])[] = [
    [undefined, undefined],
    [null, null],
    [0, 0],
    ['', ''],
    [[], []],
    [9007199254740993n, 9007199254740993n],
    [
      { id: 9007199254740993n, list: [1n] },
      { id: 9007199254740993n, list: [1] },
    ],
    [{ at: new Date(0), no: undefined }, { at: '1970-01-01T00:00:00.000Z' }],
    [JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}')],
    ['\u0000 \ud800 ü', '\u0000 \ud800 ü'],
  ]
  await app.ready()
  for (const [input, received] of given) {
    const { id } = await app.operations.start('work', input)
    await ended(app, id)
    t.strictSame(inputs.pop(), received)
  }
})

t.test('what is not JSON, goes round in a circle or is too long is refused and starts nothing', async (t) => {
  let runs = 0
  const app = await service(
    t,
    async () => {
      runs += 1
    },
    { maxLength: 100 },
  )
  await app.ready()
  const circle: Record<string, unknown> = {}
  circle.self = circle
  for (const input of [
    () => 1,
    Symbol('x'),
    circle,
    {
      toJSON: () => {
        throw new Error('no')
      },
    },
  ]) {
    await t.rejects(app.operations.start('work', input))
  }
  await t.rejects(
    app.operations.start('work', circle),
    { name: 'TypeError' },
    'a fault of the app is not a 413',
  )
  await t.rejects(app.operations.start('work', 'x'.repeat(99)), {
    code: 'content-too-large',
    statusCode: 413,
  })
  for (const depth of [5_000, 100_000]) {
    const deep = JSON.parse('['.repeat(depth) + ']'.repeat(depth))
    for (const input of [deep, { deep, id: 2n ** 60n }]) {
      await t.rejects(app.operations.start('work', input), { code: 'content-too-large', statusCode: 413 })
    }
  }
  await t.resolves(app.operations.start('work', 'x'.repeat(98)))
  await t.rejects(app.operations.start('unknown', 1), { code: 'FST_CONV_OPERATION_UNKNOWN' })
  const answer = await ask(app, { method: 'POST', url: '/v1/work', payload: { text: 'x'.repeat(200) } })
  isProblem(t, answer, { status: 413, code: 'content-too-large', detail: /longer than 100 characters/ })
  await pause(10)
  t.equal(runs, 1)
})

t.test('whatever a handler throws, the client is told what it may know', async (t) => {
  const noisy = new ProblemError('too-bad', {
    status: 422,
    detail: 'd'.repeat(5_000),
    errors: Array.from({ length: 9_999 }, () => ({ in: 'body' as const, pointer: '/a', message: 'm' })),
  })
  const strange = new ProblemError('too-bad', {
    status: 422,
    errors: [{ in: 'body', pointer: '/a', message: 1n as unknown as string }],
  })
  const rows: readonly (readonly [thrown: unknown, error: object])[] = [
    [new Error('secret'), { code: 'internal-server-error', status: 500 }],
    ['secret', { code: 'internal-server-error' }],
    [null, { code: 'internal-server-error' }],
    [undefined, { code: 'internal-server-error' }],
    [{ secret: true }, { code: 'internal-server-error' }],
    [
      Object.assign(new Error('not that one'), { statusCode: 404 }),
      { code: 'not-found', status: 404, detail: 'not that one' },
    ],
    [
      new ProblemError('not-retryable', { status: 409, detail: 'It is paid' }),
      { code: 'not-retryable', status: 409, message: 'It is paid' },
    ],
    [
      new ProblemError('insufficient-funds', {
        status: 402,
        errors: [{ in: 'body', pointer: '/a', message: 'too little' }],
      }),
      { errors: [{ in: 'body', pointer: '/a', message: 'too little' }] },
    ],
    [
      new ProblemError('payment-down', { status: 502, detail: 'secret' }),
      { code: 'payment-down', status: 502, detail: /cause is in the log/ },
    ],
    [strange, { code: 'too-bad', errors: [{ pointer: '/a' }] }],
    // Of the many, as many as any problem has.
    [noisy, { code: 'too-bad', errors: { length: 50 } }],
  ]
  for (const [thrown, error] of rows) {
    const app = await service(t, async () => {
      throw thrown
    })
    const path = await start(app)
    const document = await ended(app, path)
    t.match(document, { status: 'Failed', error })
    const answer = await ask(app, { url: path })
    t.equal(answer.status, 200)
    t.notMatch(answer.body, /secret/)
    t.ok(answer.body.length < 5_000, `${answer.body.length} characters`)
  }
})

t.test('whatever a handler throws, the operation has failed', async (t) => {
  const circle: unknown[] = []
  circle.push(circle)
  const hostile = {
    get code(): string {
      throw new Error('secret')
    },
  }
  const rows: readonly unknown[] = [
    new ProblemError('conflict', { status: 409, errors: circle as never }),
    Object.assign(new Error('secret'), { headers: { b: [Symbol('secret')] } }),
    hostile,
    new Proxy(
      {},
      {
        get() {
          throw new Error('secret')
        },
      },
    ),
  ]
  for (const thrown of rows) {
    const app = await service(t, async () => {
      throw thrown
    })
    const path = await start(app)
    t.match(await ended(app, path), { status: 'Failed' })
    t.notMatch((await ask(app, { url: path })).body, 'secret')
  }
})

t.test('a handler that returns garbage has failed, and the log says what it should return', async (t) => {
  const rows: readonly (readonly [outcome: unknown, message: RegExp])[] = [
    ['/v1/payments/8', /has to return \{ resource, result \} or nothing/],
    [7, /has to return/],
    [['/v1/payments/8'], /has to return/],
    [{ resource: '/a\r\nset-cookie: b=c' }, /resource is neither a path/],
    [{ resource: '//evil.example/7' }, /resource is neither a path/],
    [{ resource: '/\\evil.example/7' }, /resource is neither a path/],
    [{ resource: '/..//evil.example' }, /resource is neither a path/],
    [{ resource: '/.//evil.example' }, /resource is neither a path/],
    [{ resource: '/a/..//evil.example' }, /resource is neither a path/],
    [{ resource: '/%2e%2e//evil.example' }, /resource is neither a path/],
    [{ resource: '/..\\/evil.example' }, /resource is neither a path/],
    [{ resource: 'javascript:alert(1)' }, /resource is neither a path/],
    [{ resource: 'payments/8' }, /resource is neither a path/],
    [{ resource: 'https:/evil.example' }, /resource is neither a path/],
    [{ resource: 'http://[' }, /resource is neither a path/],
    [{ resource: '' }, /resource is neither a path/],
    [{ resource: 8 }, /resource is neither a path/],
    [{ resource: `/${'a'.repeat(5_000)}` }, /resource is neither a path/],
    [{ result: 'x'.repeat(70_000) }, /result is longer than 65536/],
    [{ result: () => 1 }, /result is a function/],
  ]
  for (const [outcome, message] of rows) {
    const logs = keepLogs('info')
    const app = await service(t, async () => outcome, {}, { logger: logs.logger })
    t.match(await ended(app, await start(app)), {
      status: 'Failed',
      error: { code: 'operation-result-invalid' },
    })
    const told = logs.lines.filter(({ msg }) => msg === "operations: 'work' failed")
    t.equal(told.length, 1)
    t.match(told[0], { level: 50, operation: 'work', run: 1, operationId: /^[0-9a-f]{32}$/ })
    t.match(told[0]?.err, { message })
  }
})

t.test('what a handler may return', async (t) => {
  const rows: readonly (readonly [outcome: unknown, document: object, status: number])[] = [
    [undefined, { status: 'Succeeded' }, 200],
    [null, { status: 'Succeeded' }, 200],
    [{}, { status: 'Succeeded' }, 200],
    [{ resource: null }, { status: 'Succeeded' }, 200],
    [{ resource: 'https://example.com/a?b=c' }, { resourceLocation: 'https://example.com/a?b=c' }, 303],
    [{ resource: '/a', result: { b: 1 } }, { resourceLocation: '/a', result: { b: 1 } }, 303],
    [{ resource: '/größe?a=ü' }, { resourceLocation: '/gr%C3%B6%C3%9Fe?a=%C3%BC' }, 303],
    [{ resource: 'HTTP://example.com' }, { resourceLocation: 'http://example.com/' }, 303],
    [{ result: null }, { result: null }, 200],
    [{ result: false }, { result: false }, 200],
    [{ result: { __proto__: null, a: 1 } }, { result: { a: 1 } }, 200],
  ]
  for (const [outcome, document, status] of rows) {
    const app = await service(t, async () => outcome)
    const path = await start(app)
    t.match(await ended(app, path), { status: 'Succeeded', ...document })
    const answer = await ask(app, { url: path })
    t.equal(answer.status, status)
    t.match(JSON.parse(answer.body), document)
  }
})

t.test(
  'integers that a Number cannot hold are exact in a result, also without twins, and it is JSON',
  async (t) => {
    const app = await service(t, async () => ({ result: { id: 9007199254740993n } }))
    const path = await start(app)
    await ended(app, path)
    const waited = await ask(app, { method: 'POST', url: '/v1/work', headers: { prefer: 'wait=5' } })
    for (const answer of [await ask(app, { url: path }), await ask(app, { url: `${path}/status` }), waited]) {
      t.equal(answer.status, 200)
      t.match(headerOf(answer, 'content-type'), /^application\/json/)
      t.match(answer.body, '"result":{"id":9007199254740993}')
    }
  },
)

t.test('a route that answers something else with its schema still sends the whole document', async (t) => {
  const app = await service(t, async ({ input }) => {
    if ((input as { fails?: boolean }).fails === true)
      throw new ProblemError('not-retryable', { status: 409 })
    return { resource: '/v1/payments/8', result: { id: 8 } }
  })
  const strict = {
    type: 'object',
    required: ['id'],
    additionalProperties: false,
    properties: { id: { type: 'integer' } },
  }
  const response = { 200: strict, 201: strict, '3xx': strict, default: strict }
  app.post('/v1/strict', { schema: { response } }, async ({ body }, reply) =>
    reply.startOperation('work', body),
  )
  const post = (payload: object, prefer?: string) =>
    ask(app, { method: 'POST', url: '/v1/strict', payload, headers: prefer === undefined ? {} : { prefer } })

  const accepted = await post({})
  t.equal(accepted.status, 202)
  t.match(JSON.parse(accepted.body), { status: 'In progress', created_at: /Z$/, link: { rel: 'cancel' } })
  const created = await post({}, 'wait=5')
  t.equal(created.status, 303)
  t.match(JSON.parse(created.body), {
    status: 'Succeeded',
    resourceLocation: '/v1/payments/8',
    result: { id: 8 },
  })
  const failed = await post({ fails: true }, 'wait=5')
  t.equal(failed.status, 200)
  t.match(JSON.parse(failed.body), { status: 'Failed', error: { code: 'not-retryable' } })
  for (const answer of [accepted, created, failed])
    t.equal(headerOf(answer, 'content-type'), 'application/json; charset=utf-8')
})

t.test('work that never settles and heeds no signal ends by its timeout', async (t) => {
  const clock = manualClock('2026-11-20T08:00:00Z')
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, { now: clock.now, schedule: clock.schedule, drain: 0, unwind: 0 })
  app.operations.define('work', { timeout: '10 minutes' }, () => new Promise<never>(() => {}))
  await app.ready()
  const { id } = await app.operations.start('work')
  await clock.advance(0)
  for (let minute = 0; minute < 10; minute += 1) {
    t.match(await app.operations.find(id), { status: 'In progress' })
    await clock.advance(60_000)
  }
  t.match(await app.operations.find(id), {
    status: 'Failed',
    error: { code: 'operation-timed-out', detail: /longer than it may/ },
  })
})

t.test('progress of every kind does no harm', async (t) => {
  const clock = manualClock('2026-11-20T08:00:00Z')
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, { now: clock.now, schedule: clock.schedule, drain: 0, unwind: 0 })
  let tell: (progress: unknown) => void = () => {}
  app.operations.define('work', ({ progress }) => {
    tell = progress as typeof tell
    return new Promise<never>(() => {})
  })
  await app.ready()
  const { id } = await app.operations.start('work')
  await clock.advance(0)
  const rows: readonly (readonly [told: unknown, seen: number | undefined])[] = [
    [Number.NaN, undefined],
    ['half', undefined],
    [0.25, 0.25],
    [Number.NaN, 0.25],
    [100, 1],
    [-1, 0],
  ]
  for (const [told, seen] of rows) {
    tell(told)
    await clock.advance(10_000)
    t.equal((await app.operations.find(id))?.progress, seen)
  }
})

t.test('unknown ids of any form are the same 404', async (t) => {
  const app = await service(t, async () => {}, {
    identify: ({ headers }) => String(headers['x-caller'] ?? 'ann'),
  })
  const path = await start(app)
  const strange = [
    '0'.repeat(32),
    path.slice(-32).toUpperCase(),
    `${path.slice(-32)}0`,
    path.slice(-31),
    '__proto__',
    'constructor',
    'toString',
    '%00',
    '%2e%2e%2fetc',
    `${'%20'}${path.slice(-32)}`,
    'a b',
    "'; DROP TABLE operations; --",
    '*',
    'x'.repeat(100),
    '😀',
  ].filter((id) => id !== path.slice(-32))
  for (const [method, suffix] of [
    ['GET', ''],
    ['GET', '/status'],
    ['DELETE', ''],
  ] as const) {
    const others = await ask(app, { method, url: path + suffix, headers: { 'x-caller': 'bob' } })
    const known = { ...isProblem(t, others, { status: 404, code: 'not-found' }), instance: '' }
    for (const id of strange) {
      const answer = await ask(app, { method, url: `/v1/operations/${encodeURI(decodeURI(id))}${suffix}` })
      t.strictSame({ ...JSON.parse(answer.body), instance: '' }, known, `${method} ${id}`)
    }
  }
  isProblem(t, await ask(app, { url: `/v1/operations/${'x'.repeat(10_000)}` }), {
    status: 414,
    code: 'uri-too-long',
  })
})

t.test('who may not be told whether there is an operation is not told by an error either', async (t) => {
  const app = await service(t, async () => {}, {
    identify: ({ headers }) => {
      if (headers['x-caller'] === undefined) throw new ProblemError('unauthorized')
      return 'ann'
    },
  })
  const started = await ask(app, { method: 'POST', url: '/v1/work', headers: { 'x-caller': 'ann' } })
  const path = sure(headerOf(started, 'location'))
  for (const url of [path, `/v1/operations/${'0'.repeat(32)}`, '/v1/operations/x']) {
    isProblem(t, await ask(app, { url }), { status: 401, code: 'unauthorized' }, url)
  }
  isProblem(t, await ask(app, { method: 'POST', url: '/v1/work' }), { status: 401, code: 'unauthorized' })
})

t.test(
  'callers are told apart by their ids: a number and its text are the same, and a caller without an id is anonymous',
  async (t) => {
    const owners: Readonly<Record<string, unknown>> = {
      number: 7,
      text: '7',
      big: 7n,
      other: '8',
      anonymous: null,
      none: undefined,
    }
    const app = await service(t, async () => {}, {
      identify: ({ headers }) => owners[String(headers['x-caller'])] as string,
    })
    const startAs = async (caller: string) =>
      sure(
        headerOf(
          await ask(app, { method: 'POST', url: '/v1/work', headers: { 'x-caller': caller } }),
          'location',
        ),
      )
    const seenBy = async (path: string) => {
      const seen: string[] = []
      for (const caller of Object.keys(owners)) {
        if ((await ask(app, { url: path, headers: { 'x-caller': caller } })).status === 200) seen.push(caller)
      }
      return seen
    }
    t.strictSame(await seenBy(await startAs('number')), ['number', 'text', 'big'])
    t.strictSame(await seenBy(await startAs('other')), ['other'])
    t.strictSame(await seenBy(await startAs('anonymous')), ['anonymous', 'none'])
    t.strictSame(await seenBy(`/v1/operations/${(await app.operations.start('work', 1, { owner: 7 })).id}`), [
      'number',
      'text',
      'big',
    ])
  },
)

t.test('an owner that is not an id is refused: all of them would share one text', async (t) => {
  for (const owner of [{ id: 7 }, '', Number.NaN, 1.5, true]) {
    const app = await service(t, async () => {}, { identify: () => owner as string })
    isProblem(t, await ask(app, { method: 'POST', url: '/v1/work' }), {
      status: 500,
      code: 'internal-server-error',
    })
    await t.rejects(app.operations.start('work', 1, { owner: owner as string }), /is not an id/)
  }
})

t.test('HEAD answers as GET does, without a body', async (t) => {
  const app = await service(t, async () => ({ resource: '/v1/payments/8' }))
  const path = await start(app)
  await ended(app, path)
  for (const [url, status] of [
    [path, 303],
    [`${path}/status`, 200],
    ['/v1/operations/x', 404],
  ] as const) {
    const [head, get] = [await ask(app, { method: 'HEAD', url }), await ask(app, { url })]
    t.strictSame([head.status, head.body], [status, ''])
    for (const name of ['content-length', 'location']) t.equal(headerOf(head, name), headerOf(get, name))
  }
})

t.test(
  'a request waits no longer than it takes, and gets the outcome of work that ends at once',
  async (t) => {
    const clock = manualClock('2026-11-20T08:00:00Z')
    for (let turns = 0; turns < 60; turns += 1) {
      const app = await service(
        t,
        async () => {
          for (let turn = 0; turn < turns; turn += 1) await null
        },
        { now: clock.now, schedule: clock.schedule },
      )
      const answer = await ask(app, { method: 'POST', url: '/v1/work', headers: { prefer: 'wait=10' } })
      if (answer.status !== 200) t.fail(`${turns} turns: ${answer.status}`)
      await app.close()
    }
    t.equal(clock.now(), Date.parse('2026-11-20T08:00:00Z'), 'no time went by')
  },
)

t.test('a request that waits is answered as soon as its operation is cancelled', async (t) => {
  const clock = manualClock('2026-11-20T08:00:00Z')
  const store = memoryOperationStore()
  const engine = inProcessEngine({ concurrency: 1 })
  const app = await service(t, () => new Promise(() => {}), {
    store,
    engine,
    now: clock.now,
    schedule: clock.schedule,
  })
  await start(app)
  const asked = ask(app, { method: 'POST', url: '/v1/work', headers: { prefer: 'wait=9' } })
  await until(() => clock.waiting(9_000) === 1)
  const queued = (await store.takeDue(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 10)).find(
    ({ run }) => run === 0,
  )
  await app.operations.cancel(sure(queued).id)
  t.match(JSON.parse((await asked).body), { status: 'Failed', error: { code: 'operation-cancelled' } })
  t.equal(clock.waiting(9_000), 0)
})

t.test('a client that goes away while it waits leaves nothing behind; the operation goes on', async (t) => {
  const clock = manualClock('2026-11-20T08:00:00Z')
  let begun = 0
  const app = await service(
    t,
    async () => {
      begun += 1
      return new Promise(() => {})
    },
    { now: clock.now, schedule: clock.schedule },
  )
  const { port } = await serve(t, app)
  const before = clock.waiting()
  const connections = []
  for (let count = 0; count < 20; count += 1) {
    const connection = await openConnection(port)
    connection.send(requestBytes('POST', '/v1/work', { prefer: 'wait=7' }))
    connections.push(connection)
  }
  await until(() => clock.waiting(7_000) === 20)
  t.equal(begun, 10)
  for (const { socket } of connections) socket.destroy()
  await until(() => clock.waiting(7_000) === 0)
  // Each run has a timer for its time and one for its signs of life.
  t.equal(clock.waiting(), before + 20)
})

t.test('what prefers nothing that is known is answered at once', async (t) => {
  const app = await service(t, () => new Promise(() => {}))
  for (const prefer of [
    '',
    'wait',
    'wait=-1',
    'wait=1e9',
    'return=minimal',
    '"',
    '\\',
    'wait="',
    ','.repeat(2_000),
    `wait=${'5'.repeat(2_000)}`,
  ]) {
    const answer = await ask(app, { method: 'POST', url: '/v1/work', headers: { prefer } })
    t.equal(answer.status, 202)
    t.notOk(headerOf(answer, 'preference-applied'), prefer.slice(0, 20))
  }
})

t.test('several Prefer fields are one', async (t) => {
  const app = await service(t, async () => {})
  const { port } = await serve(t, app)
  const answer = await askRaw(
    port,
    'POST /v1/work HTTP/1.1\r\nhost: a\r\nconnection: close\r\nprefer: respond-async\r\nprefer: wait=3\r\n\r\n',
  )
  t.match(answer, { status: 200, headers: { 'preference-applied': 'wait=3' } })
})

t.test('a full queue and a full store: 503, when to come back, and nothing was started', async (t) => {
  const held: ((done: undefined) => void)[] = []
  const work = () => new Promise((resolve) => void held.push(resolve))
  const engine = inProcessEngine({ concurrency: 1, maxQueued: 1 })
  const queue = await service(t, work, { engine })
  const store = await service(t, work, { store: memoryOperationStore({ maxOperations: 2 }) })
  for (const app of [queue, store]) {
    for (let count = 0; count < 2; count += 1) await start(app)
    for (let count = 0; count < 5; count += 1) {
      const refused = await ask(app, { method: 'POST', url: '/v1/work', headers: { prefer: 'wait=3' } })
      isProblem(t, refused, { status: 503, code: 'operations-full', detail: /nothing was started/ })
      t.equal(headerOf(refused, 'retry-after'), '5')
      t.notOk(headerOf(refused, 'location'))
    }
  }
  await until(() => held.length === 3)
  for (const end of held) end(undefined)
  await until(() => held.length === 4)
  for (const app of [queue, store]) t.match(await start(app), /operations/, 'there is room again')
})

t.test('who starts and cancels over and over fills no queue', async (t) => {
  const engine = inProcessEngine({ concurrency: 1, maxQueued: 2 })
  const app = await service(t, () => new Promise(() => {}), { engine })
  await start(app)
  for (let count = 0; count < 20; count += 1) {
    t.equal((await ask(app, { method: 'DELETE', url: await start(app) })).status, 204)
  }
})

t.test(
  'an engine or a store that cannot be reached: 503, and the response claims nothing that is not known',
  async (t) => {
    const logs = keepLogs('info')
    const engine = {
      ...inProcessEngine(),
      enqueue: async () => Promise.reject(new Error('ECONNREFUSED secret')),
    }
    const memory = memoryOperationStore()
    const app = await service(t, async () => {}, { engine, store: memory }, { logger: logs.logger })
    const refused = await ask(app, { method: 'POST', url: '/v1/work' })
    isProblem(t, refused, { status: 503, code: 'operations-unavailable', detail: /may or may not/ })
    t.equal(headerOf(refused, 'retry-after'), '5')
    t.notMatch(refused.body, /secret/)
    t.strictSame(
      await memory.takeDue(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 1),
      [],
      'the record was taken away again',
    )

    const store = unruly(memoryOperationStore())
    const other = await service(t, async () => {}, { store })
    const path = await start(other)
    await ended(other, path)
    store.mood = 'fails'
    for (const [method, url] of [
      ['POST', '/v1/work'],
      ['GET', path],
      ['GET', `${path}/status`],
      ['DELETE', path],
    ] as const) {
      const answer = await ask(other, { method, url })
      isProblem(t, answer, { status: 503, code: 'operations-unavailable' }, `${method} ${url}`)
      t.equal(headerOf(answer, 'retry-after'), '5')
      t.notMatch(answer.body, /ECONNREFUSED/)
    }
  },
)

t.test('an engine of the other build of this package, whose queue is full', async (t) => {
  // Another copy has another class; the name is the same.
  const full = Object.assign(new Error('full'), { name: 'OperationQueueFullError' })
  const engine = { ...inProcessEngine(), enqueue: async () => Promise.reject(full) }
  const app = await service(t, async () => {}, { engine })
  isProblem(t, await ask(app, { method: 'POST', url: '/v1/work' }), { status: 503, code: 'operations-full' })
})

t.test(
  'a store that fails while a request waits: it has been started, so the answer says where it is',
  async (t) => {
    const store = unruly(memoryOperationStore())
    const app = await service(t, async () => {}, { store })
    await app.ready()
    store.moods.get = 'fails'
    const answer = await ask(app, { method: 'POST', url: '/v1/work', headers: { prefer: 'wait=1' } })
    t.equal(answer.status, 202)
    t.match(headerOf(answer, 'location'), /^\/v1\/operations\/[0-9a-f]{32}$/)
  },
)

t.test(
  'a cancellation of which the announcement fails is logged, and the next heartbeat finds it',
  async (t) => {
    const logs = keepLogs('info')
    const store = unruly(memoryOperationStore())
    const app = await service(
      t,
      ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
      { store, lease: 1_000 },
      { logger: logs.logger },
    )
    const path = await start(app)
    await pause(20)
    store.moods.announce = 'fails'
    t.equal((await ask(app, { method: 'DELETE', url: path })).status, 204)
    t.ok(logs.lines.some(({ level, msg }) => level === 40 && /could not be announced/.test(msg ?? '')))
    t.match(await ended(app, path), { status: 'Failed', error: { code: 'operation-cancelled' } })
  },
)

/** An app whose work never ends, over a store that can be told to fail, by a clock that the test moves. */
async function endless(t: Test) {
  const clock = manualClock('2026-11-20T08:00:00Z')
  const logs = keepLogs('info')
  const store = unruly(memoryOperationStore())
  const options = { store, now: clock.now, schedule: clock.schedule }
  const app = await service(t, () => new Promise(() => {}), options, { logger: logs.logger })
  await app.ready()
  return { app, clock, logs, store }
}

t.test('a store that is away for long fills no log', async (t) => {
  const { app, clock, logs, store } = await endless(t)
  for (let count = 0; count < 10; count += 1) await app.operations.start('work')
  await clock.advance(1_000)
  logs.lines.length = 0
  store.mood = 'fails'
  await clock.advance(3_000_000)
  const told = logs.lines.filter(({ level }) => level >= 40)
  t.ok(told.length > 0 && told.length <= 5, `${told.length} lines in 50 minutes`)
  t.match(told[0], { err: {}, part: /./ })
  store.mood = 'well'
  await clock.advance(60_000)
  t.ok(logs.lines.some(({ msg }) => msg === 'operations: the fault is over'))
})

t.test('one part that fails while another works fills no log either', async (t) => {
  const { app, clock, logs, store } = await endless(t)
  const { id } = await app.operations.start('work')
  const replace = store.replace.bind(store)
  store.replace = async (previous, next) => {
    if (next.id === id) throw new Error('an invalid record')
    return replace(previous, next)
  }
  for (let count = 0; count < 5; count += 1) await app.operations.start('work')
  await clock.advance(600_000)
  const told = logs.lines.filter(({ msg }) => /cannot|is over/.test(msg ?? ''))
  t.ok(told.length <= 40, `${told.length} lines in ten minutes`)
})

t.test(
  'a close lets runs end for `drain`, aborts them, waits for `unwind`, and fails what is left',
  async (t) => {
    const clock = manualClock('2026-11-20T08:00:00Z')
    const store = memoryOperationStore()
    const signals: AbortSignal[] = []
    const app = Fastify()
    await app.register(operations, {
      store,
      engine: inProcessEngine({ concurrency: 2 }),
      drain: '5s',
      now: clock.now,
      schedule: clock.schedule,
    })
    let finish = () => {}
    app.operations.define(
      'quick',
      () =>
        new Promise<void>((resolve) => {
          finish = resolve
        }),
    )
    app.operations.define('slow', ({ signal }) => {
      signals.push(signal)
      return new Promise<never>(() => {})
    })
    await app.ready()
    const [quick, slow, queued] = [
      await app.operations.start('quick'),
      await app.operations.start('slow'),
      await app.operations.start('slow'),
    ]
    await clock.advance(0)
    let isClosed = false
    const closed = app.close().then(() => {
      isClosed = true
    })
    await until(() => clock.waiting(5_000) === 1)
    await clock.advance(4_999)
    finish()
    await clock.advance(0)
    t.notOk(isClosed || signals[0]?.aborted)
    await clock.advance(1)
    t.ok(signals[0]?.aborted)
    t.equal(clock.waiting(10_000), 1, 'the handler has the time `unwind` to stop')
    await clock.advance(10_000)
    await closed
    t.equal(signals.length, 1, 'the waiting operation was not begun')
    t.match(await store.get(quick.id), { status: 'Succeeded' })
    for (const { id } of [slow, queued])
      t.match(await store.get(id), { status: 'Failed', error: { code: 'operation-interrupted' } })
    t.equal(clock.waiting(), 0, 'no timer is left')
  },
)

t.test('closing does not wait for those who wait', async (t) => {
  const app = await service(t, () => new Promise(() => {}))
  const { port } = await serve(t, app)
  const connection = await openConnection(port)
  connection.send(requestBytes('POST', '/v1/work', { prefer: 'wait=3600' }))
  await pause(100)
  const begun = Date.now()
  await app.close()
  t.match(await connection.ended(), /^HTTP\/1\.1 202 /)
  t.ok(Date.now() - begun < 5_000)
})

t.test('a start that fails lets go of what it had taken', async (t) => {
  const released: string[] = []
  const memory = memoryOperationStore()
  const store = { ...memory, listen: async () => async () => void released.push('listener') }
  const engine = {
    ...inProcessEngine(),
    start: async () => Promise.reject(new Error('the schema of the queue is missing: run its migration')),
    close: async () => void released.push('engine'),
  }
  const app = Fastify()
  await app.register(operations, { store, engine })
  app.operations.define('work', async () => {})
  await t.rejects(async () => app.ready(), /run its migration/)
  await app.close()
  t.strictSame(released, ['engine', 'listener'])
})

t.test('definitions are checked, and one that was refused leaves nothing', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations)
  const { define } = app.operations as unknown as { define(...given: readonly unknown[]): void }
  const handler = async () => {}
  const rows: readonly (readonly [given: readonly unknown[], error: object])[] = [
    [[], { code: 'FST_CONV_OPTION_INVALID', message: /operations\.define\(\) name/ }],
    [['with space', handler], { message: /a name such as 'payments\.retry'/ }],
    [['x'.repeat(101), handler], { code: 'FST_CONV_OPTION_INVALID' }],
    [['work'], { message: /operations\.define\('work'\) handler: expected a function/ }],
    [['work', {}, 7], { message: /handler: expected a function/ }],
    [['work', { cancelable: true }, handler], { code: 'FST_CONV_OPTION_UNKNOWN' }],
    [['work', { maxRuns: 0 }, handler], { message: /maxRuns/ }],
    [['work', { timeout: '5 parsecs' }, handler], { message: /timeout/ }],
    [['work', 'cancellable', handler], { code: 'FST_CONV_OPTION_INVALID' }],
  ]
  for (const [given, error] of rows) t.throws(() => define(...given), error as Error)
  t.notOk(app.hasRoute({ method: 'GET', url: '/v1/operations/:id' }))
  define('work', handler)
  t.throws(() => define('work', handler), { code: 'FST_CONV_OPERATION_DEFINED' })
  define('other', { maxRuns: 1, timeout: 90_000 }, handler)
  await t.resolves(async () => app.ready())
})

t.test('two requests at once that start the same for a resource: 202 and 409', async (t) => {
  let runs = 0
  const app = await service(t, async () => undefined)
  await app.register(swagger, { openapi: { openapi: '3.1.0' } })
  let pays = () => {}
  const paid = new Promise<undefined>((resolve) => {
    pays = () => resolve(undefined)
  })
  app.operations.define('orders.pay', { onePer: 'id' }, async () => {
    runs += 1
    return paid
  })
  app.post<{ Params: { id: string } }>(
    '/v1/orders/:id/pay',
    { config: { operations: { starts: 'orders.pay' } } },
    async ({ params: { id } }, reply) => reply.startOperation('orders.pay', { id }),
  )
  const pay = (id: number) => ask(app, { method: 'POST', url: `/v1/orders/${id}/pay` })
  const answers = await Promise.all([pay(7), pay(7), pay(8)])
  t.strictSame(answers.map(({ status }) => status).sort(), [202, 202, 409])
  isProblem(t, await pay(7), {
    status: 409,
    code: 'operation-in-progress',
    detail: /no operation was started/,
  })
  pays()
  for (const answer of answers) {
    const path = headerOf(answer, 'location')
    if (path !== undefined) await ended(app, path)
  }
  t.equal(runs, 2)
  t.equal((await pay(7)).status, 202, 'it has ended')
  const responses = app.swagger().paths?.['/v1/orders/{id}/pay']?.post?.responses
  t.match(JSON.stringify(responses?.[409]), /"operation-in-progress"/, 'the document has the 409')
})

t.test('a route names what it starts: an unknown one is found when the app gets ready', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations)
  app.operations.define('work', async () => {})
  app.post('/v1/work', { config: { operations: { starts: 'wrok' } } }, async () => ({}))
  await t.rejects(async () => app.ready(), {
    code: 'FST_CONV_OPERATION_UNKNOWN',
    message: /'wrok'; the defined operations are: work/,
  })

  for (const wrong of [true, 'work', { starts: 7 }, { start: 'work' }]) {
    const other = Fastify()
    t.teardown(() => other.close())
    await other.register(operations)
    const config = { operations: wrong as false }
    t.throws(() => other.post('/v1/work', { config }, async () => ({})), {
      message: /POST \/v1\/work config\.operations/,
    })
  }
})

t.test('below a prefix the URLs have it; one with parameters is refused, since it has no URL', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(
    async (api) => {
      await api.register(operations, { path: '/v2/jobs', drain: 0, unwind: 0 })
      api.operations.define('work', { cancellable: true }, ({ signal }) => aborted(signal))
      api.post('/v2/work', async (_, reply) => reply.startOperation('work'))
    },
    { prefix: '/api' },
  )
  t.notOk(app.hasDecorator('operations'), 'what is beside it has none')
  const answer = await ask(app, { method: 'POST', url: '/api/v2/work' })
  const path = sure(headerOf(answer, 'location'))
  t.match(path, /^\/api\/v2\/jobs\/[0-9a-f]{32}$/)
  t.match(JSON.parse(answer.body), { link: { href: path } })
  t.equal((await ask(app, { url: sure(headerOf(answer, 'operation-location')) })).status, 200)
  t.equal((await ask(app, { method: 'DELETE', url: path })).status, 204)

  const tenant = Fastify()
  t.teardown(() => tenant.close())
  tenant.register(
    async (api) => {
      await api.register(operations)
      api.operations.define('work', async () => {})
    },
    { prefix: '/:tenant' },
  )
  await t.rejects(async () => tenant.ready(), { code: 'FST_CONV_OPTION_INVALID', message: /\/:tenant/ })
})

t.test('a child defines operations of the context above it', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, { drain: 0, unwind: 0 })
  app.register(
    async (child) => {
      child.operations.define('work', async () => ({ result: 'done' }))
      child.post('/work', async (_, reply) => reply.startOperation('work'))
    },
    { prefix: '/v1/below' },
  )
  const answer = await ask(app, { method: 'POST', url: '/v1/below/work', headers: { prefer: 'wait=5' } })
  t.match(JSON.parse(answer.body), { result: 'done' })
  t.equal((await ask(app, { url: `/v1/operations/${JSON.parse(answer.body).id}` })).status, 200)
})

t.test('an app that defines no operation has no routes, no timers and touches no store', async (t) => {
  const clock = manualClock('2026-11-20T08:00:00Z')
  const store = unruly(memoryOperationStore())
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(operations, { store, now: clock.now, schedule: clock.schedule })
  app.get('/v1/operations/:id', async () => ({ of: 'the app' }))
  app.post('/v1/work', async (_, reply) => reply.startOperation('work'))
  t.strictSame(JSON.parse((await ask(app, { url: '/v1/operations/7' })).body), { of: 'the app' })
  t.equal((await ask(app, { method: 'POST', url: '/v1/work' })).status, 500)
  await app.close()
  t.equal(clock.waiting(), 0)
  t.strictSame(store.calls, {})
})

t.test('hooks of the app run once for a start, also where it waits', async (t) => {
  const app = await service(t, async () => {})
  const ran: string[] = []
  for (const hook of ['onRequest', 'preHandler', 'onSend', 'onResponse'] as const) {
    app.addHook(hook as 'onRequest', async () => void ran.push(hook))
  }
  for (const prefer of ['', 'wait=5']) {
    ran.length = 0
    await ask(app, { method: 'POST', url: '/v1/work', headers: { prefer } })
    t.strictSame(ran, ['onRequest', 'preHandler', 'onSend', 'onResponse'])
  }
})

t.test('Retry-After is that of the definition, or else of the plugin', async (t) => {
  const app = await service(t, () => new Promise(() => {}), { retryAfter: 7 })
  app.operations.define('slow', { retryAfter: 60 }, () => new Promise<never>(() => {}))
  app.post('/v1/slow', async (_request, reply) => reply.startOperation('slow'))
  app.post('/v1/later', async (_request, reply) =>
    reply.startOperation('slow', null, { delay: '10 minutes' }),
  )
  for (const [url, seconds] of [
    ['/v1/work', /^7$/],
    ['/v1/slow', /^60$/],
    ['/v1/later', /^(600|599)$/],
  ] as const) {
    const started = await ask(app, { method: 'POST', url })
    t.match(headerOf(started, 'retry-after'), seconds)
    t.match(headerOf(await ask(app, { url: sure(headerOf(started, 'location')) }), 'retry-after'), seconds)
  }
})

t.test('operations are found and cancelled apart from any request', async (t) => {
  const app = await service(t, () => new Promise(() => {}), { identify: () => 'ann' })
  const path = await start(app)
  const id = path.slice(-32)
  t.match(await app.operations.find(id), { id, status: 'In progress', link: { href: path } })
  t.equal(await app.operations.find('x'), null)
  t.equal(await app.operations.cancel('x'), null)
  const cancelled = await app.operations.cancel(id)
  t.notOk(cancelled !== null && 'link' in cancelled)
})

t.test('not ready: whole seconds, progress of every kind', async (t) => {
  const app = await service(t, async () => {})
  app.get<{ Querystring: { seconds: string; progress?: string } }>('/v1/file', async ({ query }, reply) =>
    reply.notReady(Number(query.seconds), query.progress === undefined ? undefined : Number(query.progress)),
  )
  const rows: readonly (readonly [query: string, status: number, body?: string])[] = [
    ['seconds=3', 202, '{"status":"In progress"}'],
    ['seconds=3&progress=0.5', 202, '{"status":"In progress","progress":0.5}'],
    ['seconds=3&progress=50', 202, '{"status":"In progress","progress":1}'],
    ['seconds=3&progress=none', 202, '{"status":"In progress"}'],
    ['seconds=0', 500],
    ['seconds=1.5', 500],
    ['seconds=soon', 500],
  ]
  for (const [query, status, body] of rows) {
    const answer = await ask(app, { url: `/v1/file?${query}` })
    t.equal(answer.status, status, query)
    if (body !== undefined) t.equal(answer.body, body)
  }
})

async function until(isThere: () => boolean): Promise<void> {
  for (let waited = 0; !isThere(); waited += 5) {
    if (waited > 10_000) throw new Error('it does not happen')
    await pause(5)
  }
}

t.test('why nothing can be started is in the log, once, and so is that it can again', async (t) => {
  const logs = keepLogs('info')
  let isBroken = true
  const inner = inProcessEngine()
  const engine = {
    ...inner,
    enqueue: async (job: OperationJob) => {
      if (isBroken) throw new TypeError('no such queue')
      await inner.enqueue(job)
    },
  }
  const app = await service(t, async () => undefined, { engine }, { logger: logs.logger })
  for (let attempt = 0; attempt < 3; attempt += 1) {
    isProblem(t, await ask(app, { method: 'POST', url: '/v1/work' }), {
      status: 503,
      code: 'operations-unavailable',
    })
  }
  isBroken = false
  t.equal((await ask(app, { method: 'POST', url: '/v1/work' })).status, 202)
  const told = logs.lines.filter(({ part }) => part === 'starts')
  t.match(told, [{ level: 50, err: { message: 'no such queue' } }, { level: 30 }])
  t.equal(told.length, 2)
})

t.test('what the store fails to write is in the log, once', async (t) => {
  const logs = keepLogs('info')
  const store = {
    ...memoryOperationStore(),
    create: async () => {
      throw new Error('OOM command not allowed')
    },
  }
  const app = await service(t, async () => undefined, { store }, { logger: logs.logger })
  for (let attempt = 0; attempt < 3; attempt += 1) {
    t.equal((await ask(app, { method: 'POST', url: '/v1/work' })).status, 503)
  }
  const told = logs.lines.filter(({ part, level }) => part === 'store' && level === 50)
  t.match(told, [{ err: { message: 'OOM command not allowed' } }])
  t.equal(told.length, 1)
})

t.test('a start that could not be undone is not reported as never started', async (t) => {
  const full = {
    ...inProcessEngine(),
    enqueue: async () => {
      throw new OperationQueueFullError('full')
    },
  }
  const removals: readonly (() => Promise<boolean>)[] = [
    async () => false,
    async () => {
      throw new Error('away')
    },
  ]
  for (const remove of removals) {
    const app = await service(t, async () => undefined, {
      engine: full,
      store: { ...memoryOperationStore(), remove },
    })
    const answer = await ask(app, { method: 'POST', url: '/v1/work' })
    isProblem(t, answer, { status: 503, code: 'operations-unavailable' })
    t.match(answer.body, /may or may not run/)
  }
})

t.test('a caller who starts more than their share gets 429, and the others are served', async (t) => {
  const app = await service(
    t,
    ({ signal }: OperationContext) =>
      new Promise<undefined>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
    {
      identify: ({ headers }) => String(headers['x-caller']),
      engine: inProcessEngine({ concurrency: 1, maxQueued: 20 }),
    },
  )
  const startAs = (name: string) =>
    ask(app, { method: 'POST', url: '/v1/work', headers: { 'x-caller': name } })
  const statuses: number[] = []
  for (let count = 0; count < 4; count += 1) statuses.push((await startAs('ada')).status)
  t.strictSame(statuses, [202, 202, 202, 429], 'one runs, two wait')
  const refused = await startAs('ada')
  isProblem(t, refused, { status: 429, code: 'quota-exceeded', detail: /your operations/ })
  t.match(refused.headers, { 'retry-after': /^[1-9]\d*$/ })
  t.match(await startAs('bob'), { status: 202 })
})

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}
