/** How long the client waits after a response (RFC 9110 §10.2.3), and `whenReady`: a download that may not be ready, over sockets. */
import fc from 'fast-check'
import t from 'tap'
import { bounded, longestStop, shortestWait, waitAfter, whenReady } from '../../src/client/polling.js'
import { retryAfterField } from '../../src/plugins/maintenance/state.js'
import { countNaps, fakeService, type Turn } from './fake-service.js'

const now = Date.parse('2026-11-20T08:00:00.000Z')
const fallback = 5_000

t.test('seconds and IMF-fixdates are read, and nothing else', async (t) => {
  const rows: readonly (readonly [field: string, expected: number])[] = [
    ['0', 0],
    ['007', 7_000],
    ['9'.repeat(400), Number.POSITIVE_INFINITY],
    ['Fri, 20 Nov 2026 08:00:30 GMT', 30_000],
    ['Fri, 20 Nov 2026 07:59:00 GMT', -60_000],
    ...['', '-5', '1.5', '5, 5', 'soon', '2026-11-20T08:00:30Z', 'Fri, 20 Nov 2026 08:00:30 +0000'].map(
      (other) => [other, fallback] as const,
    ),
  ]
  for (const [field, expected] of rows)
    t.equal(waitAfter(new Headers({ 'retry-after': field }), fallback, now), expected, field)
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
  const { origin, calls } = await fakeService(t, { [download]: [notReady, stop, 'cut', csv] })
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
  t.strictSame([answers[0]?.bodyUsed, response.status, await response.text()], [true, 200, 'sku,quantity\n'])
  t.strictSame(lengths, [3_000, 600_000, 5_000])
  t.strictSame(
    Array.from(calls, ({ headers }) => headers.authorization),
    Array(4).fill('Bearer mine'),
  )
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

t.test('the time that a request has is not for the body of the download', async (t) => {
  const { origin } = await fakeService(t, { [download]: csv })
  const response = await whenReady(origin + path, { timeout: 200 })
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(await response.text(), 'sku,quantity\n')
})
