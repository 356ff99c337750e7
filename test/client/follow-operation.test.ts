/** `followOperation`: how a client follows an operation to its end, over sockets. */
import t, { type Test } from 'tap'
import {
  type FollowOptions,
  followOperation,
  type Operation,
  OperationError,
  type OperationState,
} from '../../src/client/index.js'
import {
  accepted,
  acceptedHeaders,
  type FakeService,
  failed,
  fakeService,
  link,
  locationPath,
  running,
  type Script,
  statusPath,
  succeeded,
  type Turn,
} from './fake-service.js'
import { countNaps, type Naps } from './naps.js'

const startPath = '/v1/payments/7/retry'
const poll = `GET ${statusPath}`
const pollLocation = `GET ${locationPath}`
const cancelCall = `DELETE ${locationPath}`

interface Followed extends FakeService {
  readonly operation: Operation
  readonly naps: Naps
}

/** Starts an operation of a service that answers by a script, and follows it from its 202. */
async function follow(
  t: Test,
  script: Script,
  options: FollowOptions = {},
  naps = countNaps(),
): Promise<Followed> {
  const service = await fakeService(t, { [`POST ${startPath}`]: accepted, ...script })
  const response = await fetch(service.origin + startPath, { method: 'POST' })
  const operation = followOperation(response, { sleep: naps.sleep, now: naps.now, ...options })
  return { ...service, operation, naps }
}

async function statusesOf(operation: AsyncIterable<OperationState>): Promise<readonly string[]> {
  const statuses: string[] = []
  for await (const { status } of operation) statuses.push(status)
  return statuses
}

function withStatus(status: number, retryAfter?: string): Turn {
  return {
    status,
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
    body: { status, code: `code-${status}` },
  }
}

t.test('from the 202 to the end', async (t) => {
  await t.test('its states come one by one, and the last one is the final one', async (t) => {
    const progress: unknown[] = []
    const { operation, calls, count } = await follow(
      t,
      { [poll]: [running, running, succeeded] },
      { onProgress: (state) => void progress.push(state.status) },
    )
    t.strictSame(await statusesOf(operation), ['In progress', 'In progress', 'Succeeded'])
    t.strictSame(progress, ['In progress', 'In progress', 'Succeeded'])
    t.strictSame(await operation.finished(), { status: 'Succeeded', result: { sent: true } })
    t.equal(count('GET', statusPath), 3, 'what is known is not asked again')
    t.equal(calls.length, 4)
  })

  await t.test('a state has all members that the service sends', async (t) => {
    const { operation } = await follow(t, { [poll]: [running, succeeded] })
    const states = operation[Symbol.asyncIterator]()
    t.strictSame((await states.next()).value, { status: 'In progress', progress: 0.5, link })
  })

  await t.test('a failure is an end like any other, not an exception', async (t) => {
    const { operation } = await follow(t, { [poll]: [running, failed] })
    t.match(await operation.finished(), { status: 'Failed', error: { code: 'operation-cancelled' } })
  })

  await t.test('what was created is named by its whole URL, and not fetched', async (t) => {
    const { operation, origin, count } = await follow(t, {
      [poll]: { body: { status: 'Succeeded', resourceLocation: '/v1/payments/8' } },
    })
    t.match(await operation.finished(), { status: 'Succeeded', resource: `${origin}/v1/payments/8` })
    t.equal(count('GET', '/v1/payments/8'), 0)
  })

  await t.test('a Location of a status that is not a 303 names no resource', async (t) => {
    const { operation } = await follow(t, {
      [poll]: { ...(running as object), headers: { location: locationPath } },
    })
    const states = operation[Symbol.asyncIterator]()
    t.strictSame((await states.next()).value, { status: 'In progress', progress: 0.5, link })
  })

  await t.test('a state of the future counts as in progress', async (t) => {
    const { operation } = await follow(t, {
      [poll]: [{ body: { status: 'Paused', progress: 1 } }, succeeded],
    })
    t.strictSame(await statusesOf(operation), ['In progress', 'Succeeded'])
  })

  await t.test('the body of the 202 stays the caller’s, read or not', async (t) => {
    const service = await fakeService(t, { [`POST ${startPath}`]: accepted, [poll]: succeeded })
    const { sleep } = countNaps()
    const read = await fetch(service.origin + startPath, { method: 'POST' })
    await read.text()
    t.equal((await followOperation(read, { sleep }).finished()).status, 'Succeeded')
    const unread = await fetch(service.origin + startPath, { method: 'POST' })
    await followOperation(unread, { sleep }).finished()
    t.strictSame(await unread.json(), { id: '1', status: 'In progress' })
  })

  await t.test('the URL of the status is enough; it is asked at once', async (t) => {
    for (const give of [(url: string) => url, (url: string) => new URL(url)]) {
      const { origin } = await fakeService(t, { [poll]: [running, succeeded] })
      const { lengths, sleep } = countNaps()
      const operation = followOperation<{ sent: boolean }>(give(origin + statusPath), { sleep })
      const end = await operation.finished()
      t.equal(end.status === 'Succeeded' && end.result?.sent, true)
      t.strictSame(lengths, [5_000])
    }
  })

  await t.test('it is asked only while somebody waits for a state', async (t) => {
    const { operation, count } = await follow(t, { [poll]: running })
    t.equal(count('GET', statusPath), 0)
    for await (const _state of operation) break
    t.equal(count('GET', statusPath), 1, 'an iteration that is left asks no more')
    const states = operation[Symbol.asyncIterator]()
    await states.next()
    t.equal(count('GET', statusPath), 1, 'a new one begins with what is known')
    await states.next()
    await states.return?.()
    t.equal(count('GET', statusPath), 2)
  })

  await t.test('several that wait cost no more than one, and each sees the end', async (t) => {
    const { operation, count } = await follow(t, { [poll]: [running, running, succeeded] })
    const [one, other, end] = await Promise.all([
      statusesOf(operation),
      statusesOf(operation),
      operation.finished(),
    ])
    t.strictSame(one, ['In progress', 'In progress', 'Succeeded'])
    t.strictSame(other, one)
    t.equal(end.status, 'Succeeded')
    t.equal(count('GET', statusPath), 3)
  })

  await t.test('what onProgress throws ends it', async (t) => {
    const onProgress = (): never => {
      throw new Error('mine')
    }
    const { operation } = await follow(t, { [poll]: running }, { onProgress })
    await t.rejects(operation.finished(), { message: 'mine' })
  })
})

t.test('how long it waits', async (t) => {
  const rows: readonly (readonly [name: string, turns: readonly Turn[], expected: readonly number[]])[] = [
    ['the 202 says two seconds', [succeeded], [2_000]],
    [
      'a status says otherwise',
      [{ ...(running as object), headers: { 'retry-after': '9' } }, succeeded],
      [2_000, 9_000],
    ],
    ['a status says nothing', [running, succeeded], [2_000, 5_000]],
    [
      'no less than a second',
      [{ ...(running as object), headers: { 'retry-after': '0' } }, succeeded],
      [2_000, 1_000],
    ],
    [
      'no more than a minute',
      [{ ...(running as object), headers: { 'retry-after': '61' } }, succeeded],
      [2_000, 60_000],
    ],
    ['a stop counts as long as it says', [withStatus(503, '600'), succeeded], [2_000, 600_000]],
    ['too many polls, likewise', [withStatus(429, '61'), succeeded], [2_000, 61_000]],
    ['a stop of a day is looked at each hour', [withStatus(503, '86400'), succeeded], [2_000, 3_600_000]],
    ['a stop that does not say', [withStatus(503), succeeded], [2_000, 5_000]],
    ['a fault of the server', [withStatus(500), withStatus(502), succeeded], [2_000, 5_000, 5_000]],
    ['a lost connection', ['cut', succeeded], [2_000, 5_000]],
    ['a connection that is lost while it answers', ['half a body', succeeded], [2_000, 5_000]],
    ['after a stop it is as before', [withStatus(503, '600'), running, succeeded], [2_000, 600_000, 5_000]],
  ]
  for (const [name, turns, expected] of rows) {
    await t.test(name, async (t) => {
      const { operation, naps, count } = await follow(t, { [poll]: turns })
      t.equal((await operation.finished()).status, 'Succeeded')
      t.strictSame(naps.lengths, expected)
      t.equal(count('GET', statusPath), turns.length)
    })
  }

  await t.test('a stop until a date, by the clock of the service', async (t) => {
    const headers = {
      date: 'Tue, 01 Dec 2026 00:00:00 GMT',
      'retry-after': 'Tue, 01 Dec 2026 00:10:00 GMT',
    }
    const { operation, naps } = await follow(t, { [poll]: [{ status: 503, headers }, succeeded] })
    await operation.finished()
    t.strictSame(naps.lengths, [2_000, 600_000])
  })

  await t.test(
    '`interval` is for where the service does not say, within a second and a minute',
    async (t) => {
      for (const [interval, expected] of [
        [20_000, 20_000],
        [0, 1_000],
        [Number.NaN, 1_000],
        [100_000, 60_000],
      ] as const) {
        const { operation, naps } = await follow(t, { [poll]: [running, 'cut', succeeded] }, { interval })
        await operation.finished()
        t.strictSame(naps.lengths, [2_000, expected, expected], String(interval))
      }
    },
  )

  await t.test('by the clock of the machine, without a `sleep`', async (t) => {
    const { origin } = await fakeService(t, { [poll]: [running, succeeded] })
    const began = performance.now()
    await followOperation(origin + statusPath, { interval: 1_000 }).finished()
    t.ok(performance.now() - began >= 990)
  })
})

t.test('what goes on for ever', async (t) => {
  await t.test('ends after the maximum of attempts, failed ones counted', async (t) => {
    const { operation, count } = await follow(t, { [poll]: [running, 'cut', running] }, { maxAttempts: 5 })
    await t.rejects(operation.finished(), { name: 'OperationError', code: 'attempts-exhausted' })
    t.equal(count('GET', statusPath), 5)
    await t.rejects(operation.finished(), { code: 'attempts-exhausted' }, 'and stays ended')
    t.equal(count('GET', statusPath), 5)
  })

  await t.test('ends after 240 attempts by default', async (t) => {
    const { operation, count } = await follow(t, { [poll]: running })
    await t.rejects(operation.finished(), { code: 'attempts-exhausted' })
    t.equal(count('GET', statusPath), 240)
  })

  await t.test('the last trouble is its cause', async (t) => {
    const stopped = await follow(t, { [poll]: withStatus(503, '1') }, { maxAttempts: 2 })
    await t.rejects(stopped.operation.finished(), {
      code: 'attempts-exhausted',
      cause: { code: 'refused', status: 503, problem: { code: 'code-503' } },
    })
    const lost = await follow(t, { [poll]: 'cut' }, { maxAttempts: 2 })
    await t.rejects(lost.operation.finished(), { code: 'attempts-exhausted', cause: TypeError })
  })

  await t.test('an answer that does not come counts as failed after `timeout`', async (t) => {
    const { operation } = await follow(t, { [poll]: ['silent', succeeded] }, { timeout: 50 })
    t.equal((await operation.finished()).status, 'Succeeded')
    const never = await follow(t, { [poll]: 'silent' }, { timeout: 50, maxAttempts: 2 })
    await t.rejects(never.operation.finished(), { code: 'attempts-exhausted', cause: { message: 'timeout' } })
  })

  for (const maxAttempts of [0, -1, Number.NaN]) {
    await t.test(`a maximum of ${maxAttempts} lets nothing through`, async (t) => {
      const { operation, count } = await follow(t, { [poll]: running }, { maxAttempts })
      await t.rejects(operation.finished(), { code: 'attempts-exhausted' })
      t.equal(count('GET', statusPath), 0)
    })
  }
})

t.test('a body without a valid status', async (t) => {
  for (const status of [400, 401, 403, 404, 410]) {
    await t.test(`a ${status} ends it, with what it says`, async (t) => {
      const { operation, count } = await follow(t, { [poll]: [withStatus(status, '1'), succeeded] })
      const error = await operation.finished().catch((error: unknown) => error)
      t.ok(error instanceof OperationError)
      t.match(error, { code: 'refused', status, problem: { code: `code-${status}` } })
      t.equal(count('GET', statusPath), 1)
    })
  }

  await t.test('a 4xx need not be a problem', async (t) => {
    for (const body of ['<h1>Not here</h1>', '"not here"', '']) {
      const { operation } = await follow(t, { [poll]: { status: 404, body } })
      await t.rejects(operation.finished(), { code: 'refused', status: 404, problem: undefined })
    }
  })

  const garbled: readonly (readonly [name: string, turn: Turn])[] = [
    ['JSON that is cut off', { body: '{"status":' }],
    ['a page', { headers: { 'content-type': 'text/html' }, body: '<!doctype html>' }],
    ['nothing', { body: '' }],
    ['no content', { status: 204 }],
    ['a list', { body: [{ status: 'Succeeded' }] }],
    ['null', { body: 'null' }],
    ['a number', { body: '1' }],
    ['a status that is not a text', { body: { status: 200 } }],
    ['no status', { body: { state: 'Succeeded' } }],
  ]
  for (const [name, turn] of garbled) {
    await t.test(`${name}: an error, and nothing is asked again`, async (t) => {
      const { operation, count } = await follow(t, { [poll]: [turn, succeeded] })
      await t.rejects(operation.finished(), { name: 'OperationError', code: 'malformed' })
      t.equal(count('GET', statusPath), 1)
    })
  }

  for (const status of [301, 302, 307, 308]) {
    await t.test(`a ${status} is not followed`, async (t) => {
      const { operation, count } = await follow(t, {
        [poll]: { status, headers: { location: '/v1/elsewhere' } },
      })
      await t.rejects(operation.finished(), { code: 'refused', status })
      t.equal(count('GET', '/v1/elsewhere'), 0)
    })
  }
})

t.test('a service that names no Operation-Location', async (t) => {
  const { 'operation-location': _, ...headers } = acceptedHeaders
  const only: Script = { [`POST ${startPath}`]: { status: 202, headers } }

  await t.test(
    'is asked at Location, whose 303 says what was created; nothing is fetched there',
    async (t) => {
      const { operation, origin, count } = await follow(t, {
        ...only,
        [pollLocation]: [running, { status: 303, headers: { location: '/v1/payments/8' } }],
        'GET /v1/payments/8': { body: { status: 'pending' } },
      })
      const end = await operation.finished()
      t.strictSame(end, { status: 'Succeeded', resource: `${origin}/v1/payments/8` })
      t.equal(count('GET', '/v1/payments/8'), 0)
    },
  )

  await t.test('what else a 303 says is there too', async (t) => {
    const document = { status: 'Succeeded', id: '1', resourceLocation: '/v1/payments/8' }
    const { operation, origin } = await follow(t, {
      ...only,
      [pollLocation]: { status: 303, headers: { location: '/v1/payments/8' }, body: document },
    })
    t.match(await operation.finished(), { id: '1', resource: `${origin}/v1/payments/8` })
  })

  await t.test('a 303 to nowhere is an error', async (t) => {
    const { operation } = await follow(t, { ...only, [pollLocation]: { status: 303 } })
    await t.rejects(operation.finished(), { code: 'malformed' })
  })
})

t.test('cancelling', async (t) => {
  await t.test('calls what the link of the last state names, with the headers of the caller', async (t) => {
    const { operation, calls } = await follow(
      t,
      { [poll]: [running, failed], [cancelCall]: { status: 204 } },
      { init: { headers: { authorization: 'Bearer mine' } } },
    )
    for await (const { status } of operation) if (status === 'In progress') await operation.cancel()
    t.match(await operation.finished(), { status: 'Failed', error: { code: 'operation-cancelled' } })
    t.match(
      calls.slice(1).map(({ method, path, headers }) => [method, path, headers.authorization]),
      [
        ['GET', statusPath, 'Bearer mine'],
        ['DELETE', locationPath, 'Bearer mine'],
        ['GET', statusPath, 'Bearer mine'],
      ],
    )
  })

  await t.test('another method and path are taken as they are', async (t) => {
    const other = { rel: 'cancel', method: 'POST', href: '../1/cancellations' }
    const { operation, count } = await follow(t, {
      [poll]: { body: { status: 'In progress', link: other } },
      'POST /v1/operations/1/cancellations': { status: 202 },
    })
    await operation.cancel()
    t.equal(count('POST', '/v1/operations/1/cancellations'), 1)
  })

  await t.test('before any state is known it takes the link of the 202, or looks at once', async (t) => {
    for (const [body, methods] of [
      [{ id: '1', status: 'In progress', link }, ['DELETE']],
      [{ id: '1', status: 'In progress' }, ['GET', 'DELETE']],
    ] as const) {
      for (const signal of [undefined, AbortSignal.abort()]) {
        const { origin, calls } = await fakeService(t, {
          'POST /v1/start': { status: 202, headers: acceptedHeaders, body },
          [poll]: running,
          [cancelCall]: { status: 204 },
        })
        const naps = countNaps(0)
        const response = await fetch(`${origin}/v1/start`, { method: 'POST' })
        const operation = followOperation(response, { signal, sleep: naps.sleep })
        await operation.cancel()
        t.strictSame(naps.lengths, [])
        t.strictSame(
          calls.slice(1).map(({ method }) => method),
          methods,
        )
      }
    }
  })

  await t.test('cuts the wait short: the next look is after a second', async (t) => {
    const naps = countNaps(1)
    const { operation } = await follow(
      t,
      { [poll]: [running, failed], [cancelCall]: { status: 204 } },
      {},
      naps,
    )
    const states = operation[Symbol.asyncIterator]()
    await states.next()
    const next = states.next()
    await operation.cancel()
    t.match((await next).value, { status: 'Failed' })
    t.strictSame(naps.lengths, [2_000, 5_000, 1_000])
  })

  await t.test('where there is no link it says so, and asks nothing', async (t) => {
    const lacking: readonly unknown[] = [
      undefined,
      null,
      { ...link, rel: 'next' },
      { ...link, method: undefined },
    ]
    for (const given of lacking) {
      const { operation, calls } = await follow(t, {
        [poll]: { body: { status: 'In progress', link: given } },
      })
      await t.rejects(operation.cancel(), { name: 'OperationError', code: 'not-cancellable' })
      t.equal(calls.length, 2)
    }
    const ended = await follow(t, { [poll]: succeeded })
    await ended.operation.finished()
    await t.rejects(ended.operation.cancel(), { code: 'not-cancellable' })
  })

  await t.test('a refusal says why, and the operation is followed on', async (t) => {
    const { operation } = await follow(t, { [poll]: [running, succeeded], [cancelCall]: withStatus(409) })
    await t.rejects(operation.cancel(), { code: 'refused', status: 409, problem: { code: 'code-409' } })
    t.equal((await operation.finished()).status, 'Succeeded')
  })

  await t.test('it is asked once, whatever comes of it', async (t) => {
    const rows: readonly (readonly [turn: Turn, expected: object])[] = [
      [
        { status: 307, headers: { location: '/v1/elsewhere' } },
        { code: 'refused', status: 307 },
      ],
      [withStatus(503, '60'), { code: 'refused', status: 503 }],
      ['cut', { name: 'TypeError' }],
    ]
    for (const [turn, expected] of rows) {
      const { operation, count } = await follow(t, { [poll]: running, [cancelCall]: turn })
      t.match(await operation.cancel().catch((error: unknown) => error), expected)
      t.equal(count('DELETE', locationPath), 1)
    }
  })

  await t.test('one that is not answered ends after `timeout`', async (t) => {
    const { operation } = await follow(t, { [poll]: running, [cancelCall]: 'silent' }, { timeout: 50 })
    await t.rejects(operation.cancel(), { message: 'timeout' })
  })
})

t.test('the signal', async (t) => {
  const reason = new Error('the page is left')

  await t.test('that has aborted already: nothing is asked', async (t) => {
    const { operation, calls } = await follow(t, { [poll]: running }, { signal: AbortSignal.abort(reason) })
    await t.rejects(operation.finished(), reason)
    t.equal(calls.length, 1)
  })

  await t.test('ends a wait at once', async (t) => {
    const { origin, called } = await fakeService(t, { [poll]: running })
    const controller = new AbortController()
    const operation = followOperation(origin + statusPath, { signal: controller.signal, interval: 60_000 })
    const finished = operation.finished()
    await called(1)
    for await (const _state of operation) break
    controller.abort(reason)
    await t.rejects(finished, reason)
    await t.rejects(operation.finished(), reason, 'and stays ended')
  })

  await t.test('ends a request that is under way', async (t) => {
    const controller = new AbortController()
    const { operation, called } = await follow(t, { [poll]: 'silent' }, { signal: controller.signal })
    const finished = operation.finished()
    await called(2)
    controller.abort(reason)
    await t.rejects(finished, reason)
  })

  await t.test('counts before the maximum of attempts', async (t) => {
    const controller = new AbortController()
    const options = { signal: controller.signal, maxAttempts: 1 }
    const { operation, called } = await follow(t, { [poll]: 'silent' }, options)
    const finished = operation.finished()
    await called(2)
    controller.abort(reason)
    await t.rejects(finished, reason)
  })

  await t.test('cancels nothing; cancelling is possible after it', async (t) => {
    const controller = new AbortController()
    const { operation, count } = await follow(
      t,
      { [poll]: running, [cancelCall]: { status: 204 } },
      { signal: controller.signal },
    )
    for await (const _state of operation) break
    controller.abort(reason)
    await t.rejects(operation.finished(), reason)
    t.equal(count('DELETE', locationPath), 0)
    await operation.cancel()
    t.equal(count('DELETE', locationPath), 1)
  })

  await t.test('is left as it was: nothing listens to it any more', async (t) => {
    const controller = new AbortController()
    let listeners = 0
    const { signal } = controller
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listeners += 1
      add(...given)
    }
    signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      listeners -= 1
      remove(...given)
    }
    const { operation } = await follow(t, { [poll]: [running, 'cut', succeeded] }, { signal })
    for await (const _state of operation) t.equal(listeners, 0)
    t.equal(listeners, 0)
  })
})

t.test('whom it trusts', async (t) => {
  const bearer = { init: { headers: { authorization: 'Bearer mine' } } }

  await t.test('a status URL of another origin gets no request', async (t) => {
    const other = await fakeService(t, { [poll]: succeeded })
    for (const name of ['operation-location', 'location']) {
      const headers = { [name]: other.origin + statusPath }
      await t.rejects(
        follow(t, { [`POST ${startPath}`]: { status: 202, headers } }, bearer),
        { name: 'OperationError', code: 'untrusted-url' },
        name,
      )
    }
    t.equal(other.calls.length, 0)
  })

  const named = [
    '//other.example/v1',
    'http://[',
    'javascript:alert(1)',
    'data:,x',
    'file:///etc',
    'ftp://127.0.0.1/',
  ]
  for (const location of named) {
    await t.test(`${location} is not a status URL`, async (t) => {
      const headers = { location }
      await t.rejects(follow(t, { [`POST ${startPath}`]: { status: 202, headers } }), {
        code: 'untrusted-url',
      })
    })
  }

  await t.test('a link to another origin gets no request', async (t) => {
    const other = await fakeService(t, {})
    for (const href of [other.origin + locationPath, 'javascript:alert(1)', 'http://[']) {
      const body = { status: 'In progress', link: { ...link, href } }
      const { operation } = await follow(t, { [poll]: { body } }, bearer)
      await t.rejects(operation.cancel(), { code: 'untrusted-url' }, href)
    }
    t.equal(other.calls.length, 0)
  })

  await t.test('a resource may be of another origin, but has to be of the web', async (t) => {
    const resourceLocation = 'https://files.example/7'
    const elsewhere = await follow(t, { [poll]: { body: { status: 'Succeeded', resourceLocation } } })
    t.match(await elsewhere.operation.finished(), { resource: resourceLocation })
    for (const bad of ['javascript:alert(1)', 'data:text/html,x', 'http://[']) {
      const { operation } = await follow(t, {
        [poll]: { body: { status: 'Succeeded', resourceLocation: bad } },
      })
      await t.rejects(operation.finished(), { code: 'untrusted-url' }, bad)
    }
  })

  await t.test(
    'absolute URLs of the same origin work like paths: of the status and of the cancellation',
    async (t) => {
      const origin = 'https://api.example'
      const href = `${origin}/base/v1/operations/1`
      for (const name of ['operation-location', 'location']) {
        const answers = [{ status: 'In progress', link: { ...link, href } }, {}, { status: 'Failed' }]
        const sent: unknown[] = []
        const own: typeof fetch = async (url, init) => {
          sent.push(`${init?.method} ${url}`)
          return Response.json(answers.shift())
        }
        const start = new Response(null, { status: 202, headers: { [name]: `${href}/status` } })
        Object.defineProperty(start, 'url', { value: origin + startPath })
        const operation = followOperation(start, { sleep: countNaps().sleep, fetch: own })
        for await (const { status } of operation) if (status === 'In progress') await operation.cancel()
        t.strictSame(sent, [`GET ${href}/status`, `DELETE ${href}`, `GET ${href}/status`], name)
      }
    },
  )
})

t.test('what it cannot follow it refuses at once', async (t) => {
  for (const status of [200, 201, 409, 503]) {
    await t.test(`a ${status}`, async (t) => {
      const turn: Turn = { status, headers: acceptedHeaders }
      await t.rejects(follow(t, { [`POST ${startPath}`]: turn }), {
        name: 'OperationError',
        code: 'not-accepted',
        status,
      })
    })
  }

  await t.test('a 202 that names no status URL', async (t) => {
    await t.rejects(follow(t, { [`POST ${startPath}`]: { status: 202 } }), {
      code: 'not-accepted',
      status: 202,
    })
  })

  await t.test('a URL or an `init` of which no request can be made', async (t) => {
    t.throws(() => followOperation('/v1/operations/1'), TypeError)
    t.throws(() => followOperation('http://user:secret@127.0.0.1/'), TypeError)
    t.throws(() => followOperation('ftp://127.0.0.1/'), { code: 'untrusted-url' })
    t.throws(
      () => followOperation('http://127.0.0.1/', { init: { headers: { authorization: 'a\nb' } } }),
      TypeError,
    )
  })
})

t.test('a `fetch` of the caller’s sends all that is sent', async (t) => {
  const sent: unknown[] = []
  const own: typeof fetch = (input, init) => {
    sent.push([init?.method, init?.redirect, init?.credentials])
    return fetch(input, init)
  }
  const { operation } = await follow(
    t,
    { [poll]: [running, failed], [cancelCall]: { status: 204 } },
    { fetch: own, init: { credentials: 'include' } },
  )
  await operation.cancel()
  await operation.finished()
  t.strictSame(sent, [
    ['GET', 'manual', 'include'],
    ['DELETE', 'manual', 'include'],
    ['GET', 'manual', 'include'],
  ])
})
