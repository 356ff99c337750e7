/** `followOperation` with `events`: the states come in a stream of server-sent events, or else by polls. */
import { getEventListeners, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleepMilliseconds } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type FollowOptions, followOperation, type OperationState } from '../../src/client/index.js'
import { until } from '../support/until.js'
import { accepted, fakeService, link, locationPath, statusPath } from './fake-service.js'
import { countNaps } from './naps.js'

const running = (progress: number) => ({ status: 'In progress', progress, link })
const succeeded = { status: 'Succeeded', result: { text: 'sent\u2028“größer”' } }

function eventOf(document: unknown, id = 1): string {
  return `event: status\nid: ${id}\ndata: ${JSON.stringify(document)}\n\n`
}

type Respond = (response: ServerResponse, request: IncomingMessage) => void

/** Writes a part of a stream, which stays open. */
function streamed(text: string): Respond {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'retry-after': '7' })
    response.write(text)
  }
}

function json(document: unknown, status = 200, retryAfter = '3'): Respond {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': retryAfter })
    response.end(JSON.stringify(document))
  }
}

/** Serves the responses one after the other. Follows the operation by the URL of its status. */
async function follow(t: Test, responds: readonly Respond[], options: FollowOptions = {}) {
  const accepts: (string | undefined)[] = []
  const requests: IncomingMessage[] = []
  let open = 0
  const server = createServer((request, response) => {
    const respond = responds[requests.length]
    accepts.push(request.headers.accept?.split(',')[0])
    requests.push(request)
    open += 1
    response.on('close', () => {
      open -= 1
    })
    if (respond === undefined) response.destroy()
    else respond(response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { lengths, sleep, now } = countNaps()
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const operation = followOperation(origin + statusPath, { events: true, sleep, now, ...options })
  return { operation, accepts, requests, lengths, open: () => open }
}

async function statesOf(operation: AsyncIterable<OperationState>): Promise<OperationState[]> {
  const states: OperationState[] = []
  for await (const state of operation) states.push(state)
  return states
}

/** Waits for something that the other end of a connection notices later. */
async function becomes(t: Test, actual: () => number, expected: number, about: string): Promise<void> {
  await until(async () => actual() === expected, Boolean, 2_000, 10)
  t.pass(about)
}

const event = 'text/event-stream'

t.test('a stream has all states in one response, and is closed after the final one', async (t) => {
  const text = `: hello\n\n${eventOf(running(0.1))}event: other\ndata: {"status":"Failed"}\n\n`
  const more = `: keep-alive\n\ndata: {}\n\n${eventOf(running(0.5), 2)}${eventOf(succeeded, 3)}`
  const init = { headers: { authorization: 'Bearer mine', accept: 'text/html' } }
  const stream = streamed(`retry: 10\n${text}${more}`)
  const { operation, accepts, requests, lengths, open } = await follow(t, [stream], { init })
  const expected = [running(0.1), running(0.5), succeeded]
  t.strictSame(await statesOf(operation), expected)
  t.strictSame([accepts, lengths], [[event], []])
  t.equal(requests[0]?.headers.authorization, 'Bearer mine')
  await becomes(t, open, 0, 'the connection is closed')
  t.strictSame(await operation.finished(), succeeded, 'without another request')
  t.equal(accepts.length, 1)
})

t.test('after a 202 the stream is requested at once', async (t) => {
  const body = eventOf(succeeded)
  const service = await fakeService(t, {
    'POST /v1/copies': accepted,
    [`GET ${statusPath}`]: { headers: { 'content-type': event }, body },
  })
  const { lengths, sleep } = countNaps()
  const response = await fetch(`${service.origin}/v1/copies`, { method: 'POST' })
  t.strictSame(await followOperation(response, { events: true, sleep }).finished(), succeeded)
  t.strictSame(lengths, [])
})

t.test('without the option no stream is requested', async (t) => {
  const { operation, accepts } = await follow(t, [json(succeeded)], { events: false })
  await operation.finished()
  t.notMatch(accepts[0], event)
})

t.test('the bytes may come in any parts, with any line ends', async () => {
  const states = [running(0.1), running(0.5), succeeded]
  const text = states.map((state) => `: ping\n\n${eventOf(state)}`).join('')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      async (sizes, lineEnd) => {
        const bytes = new TextEncoder().encode(text.replaceAll('\n', lineEnd))
        let at = 0
        let part = 0
        const body = new ReadableStream<Uint8Array>({
          pull(controller) {
            const size = sizes[part++ % sizes.length] ?? 1
            if (at >= bytes.length) return controller.close()
            controller.enqueue(bytes.subarray(at, at + size))
            at += size
          },
        })
        const respond = async () => new Response(body, { headers: { 'content-type': event } })
        const options = { events: true, fetch: respond, maxAttempts: 0 }
        const operation = followOperation('http://a.example/', options)
        return JSON.stringify(await statesOf(operation)) === JSON.stringify(states)
      },
    ),
    { numRuns: 60 },
  )
})

t.test('a JSON response is the first state, and the operation is polled from then on', async (t) => {
  const { operation, accepts, lengths } = await follow(t, [json(running(0.1)), json(succeeded)])
  t.strictSame(await statesOf(operation), [running(0.1), succeeded])
  t.strictSame(accepts, [event, '*/*'])
  t.strictSame(lengths, [3_000])
})

t.test('a stream that fails is replaced by polls, at their interval', async (t) => {
  const begun = eventOf(running(0.1))
  const thenEnds = (end: (response: ServerResponse) => unknown): Respond => {
    return (response, request) => {
      streamed(begun)(response, request)
      end(response)
    }
  }
  const tooLong = `event: status\ndata: ${'x'.repeat(1_100_000)}`
  type Row = readonly [name: string, respond: Respond, progress: readonly number[], wait: readonly number[]]
  const rows: readonly Row[] = [
    ['no stream for this client', json({ code: 'x' }, 406), [], [3_000]],
    ['maintenance', json({ code: 'maintenance' }, 503, '600'), [], [600_000]],
    ['a lost connection', (response) => response.destroy(), [], []],
    ['no response', () => {}, [], []],
    ['a stream without events', streamed(': hello\n\n'), [], [7_000]],
    [
      'a stream that ends',
      thenEnds((response) => response.end(eventOf(succeeded).slice(0, -1))),
      [0.1],
      [7_000],
    ],
    [
      'a stream that breaks',
      thenEnds((response) => setTimeout(() => response.destroy(), 20)),
      [0.1],
      [7_000],
    ],
    ['a stream that falls silent', streamed(begun), [0.1], [7_000]],
    ['data that is not a status document', streamed('event: status\ndata: <html>\n\n'), [], [7_000]],
    ['an event that is too long', streamed(tooLong), [], [7_000]],
    ['an event of too many lines', streamed(`event: status\n${'data: x\n'.repeat(600_000)}`), [], [7_000]],
  ]
  for (const [name, respond, progress, wait] of rows) {
    const responds = [respond, json(running(0.9)), json(succeeded)]
    const { operation, accepts, lengths, open } = await follow(t, responds, { timeout: 150 })
    t.strictSame(await statesOf(operation), [...[...progress, 0.9].map(running), succeeded], name)
    t.strictSame(accepts, [event, '*/*', '*/*'], name)
    t.strictSame(lengths, [...wait, 3_000], name)
    await becomes(t, open, 0, `${name}: the connection of the stream is closed`)
  }
})

t.test('a comment keeps a stream alive', async (t) => {
  const slow: Respond = async (response, request) => {
    streamed(eventOf(running(0.1)))(response, request)
    for (let turn = 0; turn < 8; turn += 1) {
      await sleepMilliseconds(50)
      response.write(': keep-alive\n\n')
    }
    response.end(eventOf(succeeded))
  }
  const { operation, accepts } = await follow(t, [slow], { timeout: 250 })
  t.strictSame(await operation.finished(), succeeded)
  t.strictSame(accepts, [event])
})

t.test('the signal ends a stream, also while no state is awaited', async (t) => {
  const reason = new Error('the page is left')
  for (const isAwaited of [true, false]) {
    const controller = new AbortController()
    const { operation, accepts, open } = await follow(t, [streamed(eventOf(running(0.1)))], {
      signal: controller.signal,
    })
    const states = operation[Symbol.asyncIterator]()
    await states.next()
    const next = isAwaited ? states.next().catch((error: unknown) => error) : null
    controller.abort(reason)
    await becomes(t, open, 0, 'the connection is closed')
    t.equal(await (next ?? states.next().catch((error: unknown) => error)), reason)
    await t.rejects(operation.finished(), reason)
    t.equal(accepts.length, 1)
  }
  const { operation, accepts } = await follow(t, [], { signal: AbortSignal.abort(reason) })
  await t.rejects(operation.finished(), reason)
  t.equal(accepts.length, 0, 'no request after it')
})

t.test('an iteration that is left closes the stream, and a new one opens another', async (t) => {
  const { operation, accepts, open } = await follow(t, [
    streamed(eventOf(running(0.1))),
    streamed(eventOf(running(0.5)) + eventOf(succeeded)),
  ])
  for await (const _state of operation) break
  await becomes(t, open, 0, 'the connection is closed')
  t.strictSame(await statesOf(operation), [running(0.1), running(0.5), succeeded])
  t.strictSame(accepts, [event, event])
})

t.test('several iterations share a stream, until the last one is left', async (t) => {
  const { operation, accepts } = await follow(t, [streamed(eventOf(running(0.1)) + eventOf(succeeded))])
  const leave = async () => {
    for await (const state of operation) return state
    return null
  }
  const seen = await Promise.all([statesOf(operation), leave(), operation.finished()])
  t.strictSame(seen, [[running(0.1), succeeded], running(0.1), succeeded])
  t.strictSame(accepts, [event])
})

t.test('cancel() uses the link of an event, and the end comes in the stream', async (t) => {
  let stream: ServerResponse | undefined
  const cancelled = { status: 'Failed', error: { code: 'operation-cancelled' } }
  const { operation, requests, open } = await follow(t, [
    (response, request) => {
      stream = response
      streamed(eventOf(running(0.1)))(response, request)
    },
    (response) => {
      response.writeHead(204).end()
      stream?.write(eventOf(cancelled))
    },
  ])
  for await (const { status } of operation) if (status === 'In progress') await operation.cancel()
  t.strictSame(await operation.finished(), cancelled)
  t.match(requests, [
    { method: 'GET', url: statusPath },
    { method: 'DELETE', url: locationPath },
  ])
  t.equal(requests.length, 2)
  await becomes(t, open, 0, 'no connection is left')
})

t.test('cancel() before any state is known leaves no stream open', async (t) => {
  const { operation, requests, open } = await follow(t, [json(running(0.1)), json({}, 204)])
  await operation.cancel()
  t.match(requests, [{ method: 'GET' }, { method: 'DELETE' }])
  await becomes(t, open, 0, 'no connection is left')
})

t.test('the signal has no listener after the end', async (t) => {
  const { signal } = new AbortController()
  const { operation } = await follow(t, [streamed(eventOf(succeeded))], { signal })
  await operation.finished()
  t.strictSame(getEventListeners(signal, 'abort'), [])
})
