/** How long the client waits after a response (RFC 9110 §10.2.3), and `whenReady`: a download that may not be ready, over sockets. */
import fc from 'fast-check'
import t from 'tap'
import { bounded, longestStop, shortestWait, waitAfter, whenReady } from '../../src/client/polling.js'
import { retryAfterField } from '../../src/plugins/maintenance/state.js'
import { countNaps, fakeService, type Turn } from './fake-service.js'

const now = Date.parse('2026-11-20T08:00:00.000Z')
const fallback = 5_000

function waitOf(field: string | null, date?: string): number {
  const headers = new Headers(date === undefined ? {} : { date })
  if (field !== null) headers.set('retry-after', field)
  return waitAfter(headers, fallback, now)
}

t.test('seconds and IMF-fixdates are read, and nothing else', async (t) => {
  const rows: readonly (readonly [field: string | null, expected: number])[] = [
    ['0', 0],
    ['7', 7_000],
    ['007', 7_000],
    ['9'.repeat(400), Number.POSITIVE_INFINITY],
    ['Fri, 20 Nov 2026 08:00:30 GMT', 30_000],
    ['Fri, 20 Nov 2026 07:59:00 GMT', -60_000],
  ]
  for (const [field, expected] of rows) t.equal(waitOf(field), expected, String(field))
  for (const other of [
    ...[null, '', '-5', '1.5', '1e3', '0x10', '5, 5', 'soon', 'NaN', 'Invalid Date', '2026-11-20T08:00:30Z'],
    ...['Fri, 20 Nov 2026 08:00:30 +0000', 'Thu, 20 Nov 2026 08:00:30 GMT', 'Tue, 31 Feb 2026 08:00:30 GMT'],
    ...['Friday, 20-Nov-26 08:00:30 GMT', 'Fri Nov 20 08:00:30 2026'],
  ]) {
    t.equal(waitOf(other), fallback, String(other))
  }
})

t.test('a date counts from the clock of the service, where the answer tells it', async (t) => {
  const anHourLater = 'Fri, 20 Nov 2026 09:00:30 GMT'
  t.equal(waitOf(anHourLater, 'Fri, 20 Nov 2026 09:00:00 GMT'), 30_000)
  t.equal(waitOf(anHourLater, 'of old'), 3_630_000, 'a Date that is none counts for nothing')
  t.equal(waitOf('7', 'Fri, 20 Nov 2026 09:00:00 GMT'), 7_000)
})

t.test('a wait keeps within its bounds', async (t) => {
  const rows: readonly (readonly [wait: number, longest: number, expected: number])[] = [
    [-60_000, 60_000, 1_000],
    [1_001, 60_000, 1_001],
    [60_001, 60_000, 60_000],
    [60_001, longestStop, 60_001],
    [Number.POSITIVE_INFINITY, longestStop, 3_600_000],
    [Number.NaN, 60_000, 1_000],
  ]
  for (const [wait, longest, expected] of rows)
    t.equal(bounded(wait, longest), expected, `${wait} of ${longest}`)
})

t.test('whatever a service sends, the next poll is neither at once nor never', async () => {
  const field = fc.oneof(fc.string(), fc.bigInt().map(String), fc.constantFrom('', '0'))
  fc.assert(
    fc.property(field, fc.date(), fc.double(), (text, date, interval) => {
      const headers = new Headers()
      // What no header can hold does not come.
      if (/^[\x21-\x7e]*$/.test(text)) headers.set('retry-after', text)
      if (!Number.isNaN(date.getTime())) headers.set('date', date.toUTCString())
      const wait = bounded(waitAfter(headers, interval, now), longestStop)
      return wait >= shortestWait && wait <= longestStop
    }),
  )
})

t.test('who keeps to what this package sends comes no sooner than it says, and no second later', async () => {
  const left = fc.integer({ min: 1_000, max: 3_000_000 })
  const skew = fc.integer({ min: -10_000_000, max: 10_000_000 })
  fc.assert(
    fc.property(left, skew, fc.constantFrom('seconds', 'http-date'), (left, skew, format) => {
      const sent = retryAfterField(now, now + left, 0, { retryAfter: 60, retryAfterFormat: format })
      const headers = new Headers({ 'retry-after': sent, date: new Date(now).toUTCString() })
      const wait = waitAfter(headers, fallback, now + skew)
      return wait >= left && wait < left + 1_000
    }),
  )
})

const path = '/v1/orders/7/invoice'
const download = `GET ${path}`
const notReady: Turn = { status: 202, headers: { 'retry-after': '3' }, body: { status: 'In progress' } }
const csv: Turn = { headers: { 'content-type': 'text/csv' }, body: 'sku,quantity\n' }

t.test('it is asked until there is something else than a 202, and each 202 is read to its end', async (t) => {
  const stop: Turn = { status: 503, headers: { 'retry-after': '600' } }
  const tooMany: Turn = { status: 429, headers: { 'retry-after': '70' } }
  const rows: readonly (readonly [turns: readonly Turn[], waits: readonly number[]])[] = [
    [[], []],
    [[notReady], [3_000]],
    [
      [stop, tooMany],
      [600_000, 70_000],
    ],
    [['cut'], [5_000]],
  ]
  for (const [turns, waits] of rows) {
    const { origin, calls } = await fakeService(t, { [download]: [...turns, csv] })
    const { lengths, sleep } = countNaps()
    const answers: Response[] = []
    const own: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      answers.push(response)
      return response
    }
    const init = { headers: { authorization: 'Bearer mine' } }
    const response = await whenReady(new URL(path, origin), { sleep, fetch: own, init })
    // Which frees its connection.
    for (const { bodyUsed } of answers.slice(0, -1)) t.ok(bodyUsed)
    t.strictSame([response.status, await response.text()], [200, 'sku,quantity\n'])
    t.strictSame(lengths, waits)
    t.equal(calls.length, turns.length + 1)
    for (const { headers } of calls) t.equal(headers.authorization, 'Bearer mine')
  }
})

t.test('one that is never ready ends after the maximum of attempts', async (t) => {
  const { origin, calls } = await fakeService(t, { [download]: notReady })
  const { sleep } = countNaps()
  await t.rejects(whenReady(origin + path, { sleep, maxAttempts: 4 }), { code: 'attempts-exhausted' })
  t.equal(calls.length, 4)
})

t.test('a 4xx and a redirect end it', async (t) => {
  for (const status of [302, 404]) {
    const headers = { location: '/v1/elsewhere' }
    const refused = { status, headers, body: { code: 'c' } }
    const { origin, calls } = await fakeService(t, { [download]: [refused, csv] })
    await t.rejects(whenReady(origin + path), { code: 'refused', status, problem: { code: 'c' } })
    t.equal(calls.length, 1)
  }
  await t.rejects(whenReady(path), TypeError, 'a request that cannot be made')
})

t.test('the signal ends the waiting', async (t) => {
  const reason = new Error('the page is left')
  const { origin, called } = await fakeService(t, { [download]: notReady })
  const controller = new AbortController()
  const waiting = whenReady(origin + path, { signal: controller.signal })
  await called(1)
  controller.abort(reason)
  await t.rejects(waiting, reason)
})

t.test('the time that a request has is not for the body of the download', async (t) => {
  const { origin } = await fakeService(t, { [download]: csv })
  const response = await whenReady(origin + path, { timeout: 200 })
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(await response.text(), 'sku,quantity\n')
})
