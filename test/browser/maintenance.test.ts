// Own process: waits for a browser
/** Maintenance as a page of another origin sees it. */
import t from 'tap'
import { fetchIn, freshContext, openPage, skipWithoutBrowser, startBrowser } from '../support/browser.js'
import { isProblem } from '../support/problem.js'
import { serveUsers } from './service.js'

const json = { 'content-type': 'application/json' }

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await startBrowser(t)

  await t.test(
    'a page can read the 503, its reason and its Retry-After, whatever it requested',
    async (t) => {
      const { page, origin } = await openPage(t, await freshContext(t, browser))
      const { app, url, arrived, handled } = await serveUsers(t, { cors: { origin: [origin] } })
      await app.maintenance.enable({ retryAfter: 540, reason: 'The database moves' })
      const asked = [
        { path: '/v1/users/1', request: {} },
        { path: '/v1/nothing', request: {} },
        { path: '/%zz', request: {} },
        { path: '/v1/users/1', request: { method: 'PUT', headers: json, body: '{}' } },
        { path: '/%zz', request: { method: 'DELETE' } },
      ]
      for (const { path, request } of asked) {
        const answer = await fetchIn(page, url + path, request)
        const about = `${request.method ?? 'GET'} ${path}`
        isProblem(t, answer, { status: 503, code: 'maintenance', detail: 'The database moves' }, about)
        t.equal(answer.headers['retry-after'], '540', about)
      }
      const preflights = arrived.filter(({ method }) => method === 'OPTIONS')
      t.strictSame(
        preflights.map(({ status }) => status),
        [204, 204],
      )
      t.strictSame(handled, [])

      const { page: other } = await openPage(t, page.context())
      await t.rejects(
        fetchIn(other, `${url}/v1/users/1`),
        /TypeError: Failed to fetch/,
        'others read nothing',
      )
    },
  )

  await t.test('a page that waits for Retry-After continues after the maintenance', async (t) => {
    const { page, origin } = await openPage(t, await freshContext(t, browser))
    const { app, url, arrived } = await serveUsers(t, { cors: { origin: [origin] } })
    await app.maintenance.enable({ retryAfter: 1 })
    const refused = page.waitForResponse((response) => response.status() === 503)
    const seen = page.evaluate(async (target) => {
      const statuses: number[] = []
      for (;;) {
        const { status, headers } = await fetch(target, { method: 'PATCH', headers: { prefer: 'wait=1' } })
        statuses.push(status)
        if (status !== 503) return statuses
        await new Promise((resolve) => setTimeout(resolve, Number(headers.get('retry-after')) * 1000))
      }
    }, `${url}/v1/users/1`)
    await refused
    await app.maintenance.disable()
    t.strictSame(await seen, [503, 200])
    t.equal(arrived.filter(({ method }) => method === 'PATCH').length, 2)
  })
})
