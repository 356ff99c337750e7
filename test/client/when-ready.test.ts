/** `whenReady`: a download that may not be ready, over sockets. */
import t from 'tap'
import { whenReady } from '../../src/client/index.js'
import { fakeService, type Turn } from './fake-service.js'
import { countNaps } from './naps.js'

const path = '/v1/orders/7/invoice'
const download = `GET ${path}`
const notReady: Turn = { status: 202, headers: { 'retry-after': '3' }, body: { status: 'In progress' } }
const csv: Turn = { headers: { 'content-type': 'text/csv' }, body: 'sku,quantity\n' }

t.test('a 202 is asked again after its Retry-After, until there is something else', async (t) => {
  const { origin, calls } = await fakeService(t, { [download]: [notReady, notReady, csv] })
  const { lengths, sleep } = countNaps()
  const response = await whenReady(origin + path, { sleep })
  t.equal(response.status, 200)
  t.equal(await response.text(), 'sku,quantity\n')
  t.strictSame(lengths, [3_000, 3_000])
  t.equal(calls.length, 3)
})

t.test('an answer that is not the download is read to its end, which frees its connection', async (t) => {
  const { origin } = await fakeService(t, { [download]: [notReady, csv] })
  const answers: Response[] = []
  const own: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    answers.push(response)
    return response
  }
  await whenReady(origin + path, { sleep: countNaps().sleep, fetch: own })
  t.strictSame(
    answers.map(({ bodyUsed }) => bodyUsed),
    [true, false],
  )
})

t.test('what is ready is there at once, with the headers that the caller sends', async (t) => {
  const { origin, calls } = await fakeService(t, { [download]: csv })
  const { lengths, sleep } = countNaps()
  const init = { headers: { authorization: 'Bearer mine' } }
  await (await whenReady(new URL(path, origin), { sleep, init })).text()
  t.strictSame(lengths, [])
  t.equal(calls[0]?.headers.authorization, 'Bearer mine')
})

t.test('a stop, too many requests and a lost connection are waited out', async (t) => {
  const stop: Turn = { status: 503, headers: { 'retry-after': '600' } }
  const tooMany: Turn = { status: 429, headers: { 'retry-after': '70' } }
  const { origin } = await fakeService(t, { [download]: [stop, tooMany, 'cut', csv] })
  const { lengths, sleep } = countNaps()
  t.equal((await whenReady(origin + path, { sleep })).status, 200)
  t.strictSame(lengths, [600_000, 70_000, 5_000])
})

t.test('one that is never ready ends after the maximum of attempts', async (t) => {
  const { origin, calls } = await fakeService(t, { [download]: notReady })
  const { sleep } = countNaps()
  await t.rejects(whenReady(origin + path, { sleep, maxAttempts: 4 }), { code: 'attempts-exhausted' })
  t.equal(calls.length, 4)
})

t.test('a 4xx and a redirect end it', async (t) => {
  for (const status of [302, 401, 404, 410]) {
    const headers = { location: '/v1/elsewhere' }
    const { origin, calls } = await fakeService(t, {
      [download]: [{ status, headers, body: { code: 'c' } }, csv],
    })
    await t.rejects(whenReady(origin + path), { code: 'refused', status, problem: { code: 'c' } })
    t.equal(calls.length, 1)
  }
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

t.test('an `init` of which no request can be made is refused at once', async (t) => {
  await t.rejects(whenReady('/v1/orders/7/invoice'), TypeError)
})
