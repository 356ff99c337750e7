/** `followOperation`: how a client follows an operation to its end, over sockets. */
import { getEventListeners } from 'node:events'
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
  countNaps,
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

const startPath = '/v1/payments/7/retry'
const poll = `GET ${statusPath}`
const cancelCall = `DELETE ${locationPath}`
const bearer = { init: { headers: { authorization: 'Bearer mine' } } }
const reason = new Error('the page is left')

/** Starts an operation of a service that answers polls by turns, and follows it from its 202. */
async function follow(
  t: Test,
  turns: Turn | readonly Turn[],
  options: FollowOptions = {},
  script: Script = {},
  naps = countNaps(),
) {
  const usual = { [`POST ${startPath}`]: accepted, [poll]: turns, [cancelCall]: { status: 204 } }
  const service = await fakeService(t, { ...usual, ...script })
  const response = await fetch(service.origin + startPath, { method: 'POST' })
  const operation = followOperation(response, { sleep: naps.sleep, now: naps.now, ...options })
  return { ...service, operation, lengths: naps.lengths, polls: () => service.count('GET', statusPath) }
}

const startedBy = (turn: Turn): Script => ({ [`POST ${startPath}`]: turn })

async function statusesOf(operation: Operation) {
  const statuses: string[] = []
  for await (const { status } of operation) statuses.push(status)
  return statuses
}

const firstOf = async (operation: Operation) => (await operation[Symbol.asyncIterator]().next()).value
const document = (body: unknown): Turn => ({ body })

function withStatus(status: number, retryAfter?: string): Turn {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  return { status, headers, body: { status, code: `code-${status}` } }
}

const runningFor = (retryAfter: string): Turn => ({ ...running, headers: { 'retry-after': retryAfter } })

t.test('its states come one by one, with all members, and the last one is the final one', async (t) => {
  const progress: unknown[] = []
  const onProgress = (state: OperationState) => void progress.push(state.status)
  const future = document({ status: 'Paused', progress: 1 })
  const { operation, calls, polls } = await follow(t, [running, future, succeeded], { onProgress })
  t.strictSame(await firstOf(operation), { status: 'In progress', progress: 0.5, link })
  t.strictSame(await statusesOf(operation), ['In progress', 'In progress', 'Succeeded'])
  t.strictSame(progress, ['In progress', 'In progress', 'Succeeded'])
  t.strictSame(await operation.finished(), { status: 'Succeeded', result: { sent: true } })
  t.equal(polls(), 3, 'what is known is not asked again')
  t.equal(calls.length, 4)
  const failing = (): never => {
    throw new Error('mine')
  }
  const another = await follow(t, running, { onProgress: failing })
  await t.rejects(another.operation.finished(), { message: 'mine' }, 'what it throws ends it')
})

t.test('what an end says; a failure is one like any other, not an exception', async (t) => {
  const elsewhere = document({ status: 'Succeeded', resourceLocation: 'https://files.example/7' })
  for (const [turn, end] of [
    [failed, { status: 'Failed', error: { code: 'operation-cancelled' } }],
    [elsewhere, { resource: 'https://files.example/7' }],
  ] as const)
    t.match(await (await follow(t, [running, turn])).operation.finished(), end)
  const created = await follow(t, document({ status: 'Succeeded', resourceLocation: '/v1/payments/8' }))
  const resource = `${created.origin}/v1/payments/8`
  t.match(await created.operation.finished(), { status: 'Succeeded', resource }, 'its whole URL')
  t.equal(created.count('GET', '/v1/payments/8'), 0, 'which is not fetched')
})

t.test('the body of the 202 stays the caller’s, read or not', async (t) => {
  const { origin } = await follow(t, [running, succeeded, running, succeeded])
  const { sleep } = countNaps()
  for (const isRead of [true, false]) {
    const response = await fetch(origin + startPath, { method: 'POST' })
    if (isRead) await response.text()
    const operation = followOperation(response, { sleep })
    await operation.cancel()
    t.equal((await operation.finished()).status, 'Succeeded')
    if (!isRead) t.strictSame(await response.json(), { id: '1', status: 'In progress' })
  }
})

t.test('the URL of the status is enough; it is asked at once', async (t) => {
  for (const give of [String, (url: string) => new URL(url)]) {
    const { origin } = await fakeService(t, { [poll]: [running, succeeded] })
    const { lengths, sleep } = countNaps()
    const end = await followOperation<{ sent: boolean }>(give(origin + statusPath), { sleep }).finished()
    t.equal(end.result?.sent, true)
    t.strictSame(lengths, [5_000])
  }
})

t.test('it is asked only while somebody waits for a state', async (t) => {
  const { operation, polls } = await follow(t, running)
  t.equal(polls(), 0)
  for await (const _state of operation) break
  t.equal(polls(), 1, 'an iteration that is left asks no more')
  const states = operation[Symbol.asyncIterator]()
  await states.next()
  t.equal(polls(), 1, 'a new one begins with what is known')
  await states.next()
  await states.return?.()
  t.equal(polls(), 2)
})

t.test('several that wait cost no more than one, and each sees the end', async (t) => {
  const { operation, polls } = await follow(t, [running, running, succeeded])
  const seen = await Promise.all([statusesOf(operation), statusesOf(operation), operation.finished()])
  const all = ['In progress', 'In progress', 'Succeeded']
  t.match(seen, [all, all, { status: 'Succeeded' }])
  t.equal(polls(), 3)
})

t.test('how long it waits', async (t) => {
  const dates = { date: 'Tue, 01 Dec 2026 00:00:00 GMT', 'retry-after': 'Tue, 01 Dec 2026 00:10:00 GMT' }
  const rows: [name: string, turns: Turn[], expected: number[], interval?: number][] = [
    ['the 202 says two seconds', [], []],
    ['a status says otherwise', [runningFor('9')], [9_000]],
    ['a status says nothing', [running], [5_000]],
    ['no less than a second', [runningFor('0')], [1_000]],
    ['no more than a minute', [runningFor('61')], [60_000]],
    ['a stop counts as long as it says', [withStatus(503, '600')], [600_000]],
    ['too many polls, likewise', [withStatus(429, '61')], [61_000]],
    ['a stop of a day is looked at each hour', [withStatus(503, '86400')], [3_600_000]],
    ['a stop until a date, by the clock of the service', [{ status: 503, headers: dates }], [600_000]],
    ['a stop that does not say', [withStatus(503)], [5_000]],
    ['a fault of the server', [withStatus(502)], [5_000]],
    ['a lost connection', ['cut'], [5_000]],
    ['a connection that is lost while it answers', ['half a body'], [5_000]],
    ['after a stop it is as before', [withStatus(503, '600'), running], [600_000, 5_000]],
    ['`interval`, where the service does not say', [running, 'cut'], [20_000, 20_000], 20_000],
    ['`interval`, no less than a second', [running, 'cut'], [1_000, 1_000], 0],
    ['`interval` that is not a number', [running, 'cut'], [1_000, 1_000], Number.NaN],
    ['`interval`, no more than a minute', [running, 'cut'], [60_000, 60_000], 100_000],
  ]
  for (const [name, turns, expected, interval] of rows) {
    const { operation, lengths, polls } = await follow(t, [...turns, succeeded], { interval })
    t.equal((await operation.finished()).status, 'Succeeded', name)
    t.strictSame(lengths, [2_000, ...expected], name)
    t.equal(polls(), turns.length + 1, name)
  }
})

t.test('without a `sleep` it waits by the clock of the machine', async (t) => {
  const { origin } = await fakeService(t, { [poll]: [running, succeeded] })
  const began = performance.now()
  await followOperation(origin + statusPath, { interval: 1_000 }).finished()
  t.ok(performance.now() - began >= 990)
})

t.test('it ends after the maximum of attempts, also failed ones; the last one is the cause', async (t) => {
  const refused = { code: 'refused', status: 503, problem: { code: 'code-503' } }
  const rows: [turns: Turn | Turn[], FollowOptions, times: number, cause?: unknown][] = [
    [[running, 'cut', running], { maxAttempts: 5 }, 5],
    [running, {}, 240],
    [running, { maxAttempts: -1 }, 0],
    [running, { maxAttempts: Number.NaN }, 0],
    [withStatus(503, '1'), { maxAttempts: 2 }, 2, refused],
    ['cut', { maxAttempts: 2 }, 2, TypeError],
    ['silent', { maxAttempts: 2, timeout: 300 }, 2, { message: 'timeout' }],
  ]
  for (const [turns, options, times, cause] of rows) {
    const { operation, polls } = await follow(t, turns, options)
    const error = { name: 'OperationError', code: 'attempts-exhausted' }
    await t.rejects(operation.finished(), cause === undefined ? error : { ...error, cause })
    await t.rejects(operation.finished(), error, 'it stays ended')
    t.equal(polls(), times)
  }
})

t.test('an answer without a valid status is an error, and nothing is asked again', async (t) => {
  const malformed = { name: 'OperationError', code: 'malformed' }
  const elsewhere = { location: '/v1/elsewhere' }
  const refusal = (status: number, problem?: object) => ({ code: 'refused', status, problem })
  const rows: readonly (readonly [name: string, turn: Turn, error: object])[] = [
    ['a 401, which says why', withStatus(401, '1'), refusal(401, { code: 'code-401' })],
    ['a 404 that is no problem', { status: 404, body: '"not here"' }, refusal(404)],
    ['a 302', { status: 302, headers: elsewhere }, refusal(302)],
    ['JSON that is cut off', { body: '{"status":' }, malformed],
    ['no content', { status: 204 }, malformed],
    ['a list', { body: [{ status: 'Succeeded' }] }, malformed],
    ['a status that is not a text', { body: { status: 200 } }, malformed],
  ]
  for (const [name, turn, expected] of rows) {
    const { operation, calls } = await follow(t, [turn, succeeded])
    const error = await operation.finished().catch((error: unknown) => error)
    t.ok(error instanceof OperationError, name)
    t.match(error, expected, name)
    t.equal(calls.length, 2, name)
  }
})

t.test('without an Operation-Location it asks the Location, whose 303 says what was created', async (t) => {
  const { 'operation-location': _, ...headers } = acceptedHeaders
  const end = { status: 303, headers: { location: '/v1/payments/8' } }
  const body = { status: 'Succeeded', id: '1', resourceLocation: '/v1/payments/8' }
  const followed = (turns: Turn | readonly Turn[]) =>
    follow(t, [], {}, { ...startedBy({ status: 202, headers }), [`GET ${locationPath}`]: turns })
  const { operation, origin, count } = await followed([running, end])
  const resource = `${origin}/v1/payments/8`
  t.strictSame(await operation.finished(), { status: 'Succeeded', resource })
  t.equal(count('GET', '/v1/payments/8'), 0, 'nothing is fetched there')
  const withBody = await followed({ ...end, body })
  const created = `${withBody.origin}/v1/payments/8`
  t.match(await withBody.operation.finished(), { id: '1', resource: created })
  const nowhere = await followed({ status: 303 })
  await t.rejects(nowhere.operation.finished(), { code: 'malformed' })
})

t.test('cancelling calls what the link of the last state names, as it is', async (t) => {
  const { operation, calls } = await follow(t, [running, failed], bearer)
  for await (const { status } of operation) if (status === 'In progress') await operation.cancel()
  t.match(await operation.finished(), { status: 'Failed', error: { code: 'operation-cancelled' } })
  const sent = calls.slice(1).map(({ method, path, headers }) => `${method} ${path} ${headers.authorization}`)
  t.strictSame(sent, [`${poll} Bearer mine`, `${cancelCall} Bearer mine`, `${poll} Bearer mine`])
  const other = { rel: 'cancel', method: 'POST', href: '../1/cancellations' }
  const call = 'POST /v1/operations/1/cancellations'
  const linked = document({ status: 'In progress', link: other })
  const another = await follow(t, linked, {}, { [call]: { status: 202 } })
  await another.operation.cancel()
  t.equal(another.count('POST', '/v1/operations/1/cancellations'), 1)
})

t.test('before any state is known, cancelling takes the link of the 202, or looks at once', async (t) => {
  for (const [more, methods] of [
    [{ link }, ['DELETE']],
    [{}, ['GET', 'DELETE']],
  ] as const) {
    for (const signal of [undefined, AbortSignal.abort()]) {
      const body = { id: '1', status: 'In progress', ...more }
      const script = startedBy({ status: 202, headers: acceptedHeaders, body })
      const { operation, lengths, calls } = await follow(t, running, { signal }, script, countNaps(0))
      await operation.cancel()
      t.strictSame(lengths, [])
      const sent = calls.slice(1).map(({ method }) => method)
      t.strictSame(sent, methods)
    }
  }
})

t.test('cancelling cuts the wait short: the next look is after a second', async (t) => {
  const { operation, lengths } = await follow(t, [running, failed], {}, {}, countNaps(1))
  const states = operation[Symbol.asyncIterator]()
  await states.next()
  const next = states.next()
  await operation.cancel()
  t.match((await next).value, { status: 'Failed' })
  t.strictSame(lengths, [2_000, 5_000, 1_000])
})

t.test('what cannot be cancelled says so, and nothing is asked', async (t) => {
  for (const given of [undefined, null, { ...link, rel: 'next' }, { ...link, method: undefined }]) {
    const { operation, calls } = await follow(t, document({ status: 'In progress', link: given }))
    await t.rejects(operation.cancel(), { name: 'OperationError', code: 'not-cancellable' })
    t.equal(calls.length, 2)
  }
  const created = await follow(t, { status: 303, headers: { location: '/v1/payments/8' } })
  await t.rejects(created.operation.cancel(), { code: 'not-cancellable' })
  const unknown = await follow(t, withStatus(404))
  await t.rejects(unknown.operation.cancel(), { code: 'refused', status: 404 })
})

t.test('a cancellation is sent once, whatever comes of it, and the operation is followed on', async (t) => {
  const rows: readonly (readonly [turn: Turn, error: object])[] = [
    [withStatus(409), { code: 'refused', status: 409, problem: { code: 'code-409' } }],
    [withStatus(503, '60'), { code: 'refused', status: 503 }],
    ['cut', { name: 'TypeError' }],
    ['silent', { message: 'timeout' }],
  ]
  for (const [turn, error] of rows) {
    const script = { [cancelCall]: turn }
    const { operation, count } = await follow(t, [running, succeeded], { timeout: 500 }, script)
    await t.rejects(operation.cancel(), error as Error)
    t.equal(count('DELETE', locationPath), 1)
    t.equal((await operation.finished()).status, 'Succeeded')
  }
})

t.test('the signal ends a wait at once', async (t) => {
  const { origin, called, count } = await fakeService(t, { [poll]: running, [cancelCall]: { status: 204 } })
  const controller = new AbortController()
  const operation = followOperation(origin + statusPath, { signal: controller.signal, interval: 60_000 })
  const finished = operation.finished()
  await called(1)
  for await (const _state of operation) break
  controller.abort(reason)
  await t.rejects(finished, reason)
  await t.rejects(operation.finished(), reason, 'and stays ended')
  t.equal(count('DELETE', locationPath), 0, 'it cancels nothing')
  await operation.cancel()
  t.equal(count('DELETE', locationPath), 1, 'which is possible after it')
  const another = await follow(t, running, { signal: AbortSignal.abort(reason) })
  await t.rejects(another.operation.finished(), reason)
  t.equal(another.calls.length, 1, 'nothing is asked for one that has aborted already')
})

t.test('the signal ends a request under way, and counts before the maximum of attempts', async (t) => {
  for (const maxAttempts of [undefined, 1]) {
    const controller = new AbortController()
    const { operation, called } = await follow(t, 'silent', { signal: controller.signal, maxAttempts })
    const finished = operation.finished()
    await called(2)
    controller.abort(reason)
    await t.rejects(finished, reason)
  }
})

t.test('the signal is left as it was: nothing listens to it any more', async (t) => {
  const { signal } = new AbortController()
  const { operation } = await follow(t, [running, 'cut', succeeded], { signal })
  for await (const _state of operation) t.equal(getEventListeners(signal, 'abort').length, 0)
})

t.test('no request goes to another origin; each URL, also of a resource, has to be of the web', async (t) => {
  const other = await fakeService(t, { [poll]: succeeded })
  const foreign = other.origin + statusPath
  const locations = [foreign, '//other.example/v1', 'http://[', 'javascript:alert(1)', 'file:///etc']
  const all = [{ 'operation-location': foreign }, ...locations.map((location) => ({ location }))]
  const untrusted = { name: 'OperationError', code: 'untrusted-url' }
  for (const headers of all as Record<string, string>[]) {
    const started = follow(t, succeeded, bearer, startedBy({ status: 202, headers }))
    await t.rejects(started, untrusted, JSON.stringify(headers))
  }
  for (const href of [other.origin + locationPath, 'javascript:alert(1)', 'http://[']) {
    const linked = document({ status: 'In progress', link: { ...link, href } })
    const { operation } = await follow(t, linked, bearer)
    await t.rejects(operation.cancel(), untrusted, href)
  }
  t.equal(other.calls.length, 0)
  for (const resourceLocation of ['javascript:alert(1)', 'data:text/html,x', 'http://[']) {
    const { operation } = await follow(t, document({ status: 'Succeeded', resourceLocation }))
    await t.rejects(operation.finished(), untrusted, resourceLocation)
  }
})

t.test('absolute URLs of the same origin work like paths, for the status and the cancellation', async (t) => {
  const href = 'https://api.example/base/v1/operations/1'
  const answers = [{ status: 'In progress', link: { ...link, href } }, {}, { status: 'Failed' }]
  const sent: unknown[] = []
  const own: typeof fetch = async (url, init) => {
    sent.push(`${init?.method} ${url}`)
    return Response.json(answers.shift())
  }
  const start = new Response(null, { status: 202, headers: { 'operation-location': `${href}/status` } })
  Object.defineProperty(start, 'url', { value: 'https://api.example/v1/payments/7' })
  const operation = followOperation(start, { sleep: countNaps().sleep, fetch: own })
  for await (const { status } of operation) if (status === 'In progress') await operation.cancel()
  t.strictSame(sent, [`GET ${href}/status`, `DELETE ${href}`, `GET ${href}/status`])
})

t.test('what it cannot follow it refuses at once', async (t) => {
  const rows = [...[201, 409].map((status) => ({ status, headers: acceptedHeaders })), { status: 202 }]
  for (const turn of rows) {
    const error = { name: 'OperationError', code: 'not-accepted', status: turn.status }
    await t.rejects(follow(t, succeeded, {}, startedBy(turn)), error)
  }
  const invalid = { init: { headers: { authorization: 'a\nb' } } }
  t.throws(() => followOperation('/v1/operations/1'), TypeError)
  t.throws(() => followOperation('http://user:secret@127.0.0.1/'), TypeError)
  t.throws(() => followOperation('ftp://127.0.0.1/'), { code: 'untrusted-url' })
  t.throws(() => followOperation('http://127.0.0.1/', invalid), TypeError)
})

t.test('a `fetch` of the caller’s sends all that is sent', async (t) => {
  const sent: string[] = []
  const own: typeof fetch = (input, init) => {
    sent.push(`${init?.method} ${init?.redirect} ${init?.credentials}`)
    return fetch(input, init)
  }
  const { operation } = await follow(t, [running, failed], { fetch: own, init: { credentials: 'include' } })
  await operation.cancel()
  await operation.finished()
  t.strictSame(sent, ['GET manual include', 'DELETE manual include', 'GET manual include'])
})
