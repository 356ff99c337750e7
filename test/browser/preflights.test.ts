// Own process: waits for a browser
/** What a browser asks before a page of another origin may send what no form could. */
import t from 'tap'
import {
  fetchIn,
  freshContext,
  openPage,
  type PageRequest,
  skipWithoutBrowser,
  startBrowser,
} from '../support/browser.js'
import { type Arrival, serveUsers } from './service.js'

const json = { 'content-type': 'application/json' }

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await startBrowser(t)

  await t.test(
    'a page of an allowed origin can send each method and header of the conventions',
    async (t) => {
      const { page, origin } = await openPage(t, await freshContext(t, browser))
      const { url, arrived, handled } = await serveUsers(t, { cors: { origin: [origin] } })
      const sent: readonly [request: PageRequest, status: number, handled: string][] = [
        [{ method: 'PUT', headers: json, body: '{}' }, 200, 'PUT'],
        [{ method: 'PATCH', headers: json, body: '{}' }, 200, 'PATCH'],
        [{ method: 'PATCH', headers: { ...json, 'if-match': '"of old"' }, body: '{}' }, 412, ''],
        [{ method: 'DELETE' }, 204, 'DELETE'],
        [{ method: 'POST', headers: { 'x-http-method-override': 'DELETE' } }, 204, 'DELETE'],
        [{ headers: { prefer: 'return=minimal', 'x-requested-with': 'XMLHttpRequest' } }, 200, 'GET'],
      ]
      for (const [index, [request, status, method]] of sent.entries()) {
        // Each its own URL: what a browser has been told of one, it does not ask again.
        const path = `/v1/users/${index}`
        const about = JSON.stringify(request)
        t.equal((await fetchIn(page, url + path, request)).status, status, about)
        const ofPath = arrived.filter((arrival) => arrival.url === path)
        t.strictSame(methodsOf(ofPath), ['OPTIONS', request.method ?? 'GET'], `${about}: a preflight first`)
        t.strictSame(
          handled.filter((call) => call.endsWith(path)),
          method === '' ? [] : [`${method} ${path}`],
          about,
        )
      }
    },
  )

  await t.test('a page of an allowed origin reads the status of a refused write', async (t) => {
    const context = await freshContext(t, browser)
    const { page, origin } = await openPage(t, context)
    const { page: other } = await openPage(t, context)
    const { url } = await serveUsers(t, { cors: { origin: [origin] } })
    const targets: readonly [target: string, status: number][] = [
      ['/v1/nothing', 404],
      ['/v1/users', 405],
      // What no hook sees.
      ['/%zz', 400],
      [`/v1/users/${'1'.repeat(5000)}`, 414],
    ]
    const put = { method: 'PUT', headers: json, body: '{}' }
    for (const [target, status] of targets) {
      t.equal((await fetchIn(page, url + target, put)).status, status)
      await t.rejects(
        fetchIn(other, url + target, put),
        /TypeError: Failed to fetch/,
        'other origins cannot read the response',
      )
    }
  })

  await t.test('a browser does not send a request that its preflight did not allow', async (t) => {
    const context = await freshContext(t, browser)
    const { page, origin } = await openPage(t, context)
    const { page: other } = await openPage(t, context)
    const { url, arrived } = await serveUsers(t, { cors: { origin: [origin] } })
    const refused: readonly PageRequest[] = [
      { method: 'DELETE' },
      { method: 'POST', headers: json, body: '{}' },
      { method: 'POST', headers: { 'x-http-method-override': 'DELETE' } },
    ]
    for (const request of refused) {
      const about = JSON.stringify(request)
      await t.rejects(fetchIn(other, `${url}/v1/users/1`, request), /TypeError: Failed to fetch/, about)
    }
    t.strictSame(
      methodsOf(arrived),
      refused.map(() => 'OPTIONS'),
    )
    t.equal(
      (await fetchIn(page, `${url}/v1/users/1`, { method: 'PUT', headers: json, body: '{}' })).status,
      200,
    )
  })

  await t.test('a browser sends one preflight per URL within two hours', async (t) => {
    const { page, origin } = await openPage(t, await freshContext(t, browser))
    const { url, arrived } = await serveUsers(t, { cors: { origin: [origin] } })
    for (const method of ['PUT', 'PUT', 'PATCH']) {
      await fetchIn(page, `${url}/v1/users/1`, { method, headers: json, body: '{}' })
    }
    t.equal(methodsOf(arrived).filter((method) => method === 'OPTIONS').length, 1)
    await fetchIn(page, `${url}/v1/users/1`, { method: 'DELETE', headers: { 'if-match': '"1"' } })
    t.strictSame(methodsOf(arrived).slice(-2), ['OPTIONS', 'DELETE'], 'of a header it has not heard yet')
  })
})

function methodsOf(arrived: readonly Arrival[]): string[] {
  return arrived.map(({ method }) => method)
}
