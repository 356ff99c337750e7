/** The `EventSource` of a browser follows an operation of a service of another origin. */
import t from 'tap'
import { freshContext, openPage, skipWithoutBrowser, startBrowser } from '../support/browser.js'
import { serveUsers } from './service.js'

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await startBrowser(t)

  await t.test('it gets the progress and the end, and does not come again', async (t) => {
    const { page, origin } = await openPage(t, await freshContext(t, browser))
    const service = await serveUsers(
      t,
      { cors: { origin: [origin] }, operations: { retryAfter: 1 } },
      (app) => {
        app.operations.define('copy', async ({ progress }) => {
          progress(0.5)
          await new Promise((resolve) => setTimeout(resolve, 1_000))
          return { resource: '/v1/users/8' }
        })
        app.post('/v1/users/:id/copy', (_request, reply) => reply.startOperation('copy'))
      },
    )
    const seen = await page.evaluate(async (url) => {
      const response = await fetch(`${url}/v1/users/7/copy`, { method: 'POST' })
      const events = new EventSource(new URL(response.headers.get('operation-location') ?? '', response.url))
      const documents: { status: string; progress?: number; resourceLocation?: string }[] = []
      events.addEventListener('status', (event) => documents.push(JSON.parse((event as MessageEvent).data)))
      // The stream ends, the browser connects again, and the 204 closes it for good.
      await new Promise<void>((resolve) => {
        events.addEventListener('error', () => {
          if (events.readyState === EventSource.CLOSED) resolve()
        })
      })
      return documents
    }, service.url)
    t.match(seen[0], { status: 'In progress' })
    t.ok(seen.some(({ status, progress }) => status === 'In progress' && progress === 0.5))
    t.match(seen.at(-1), { status: 'Succeeded', resourceLocation: '/v1/users/8' })
    t.equal(seen.filter(({ status }) => status === 'Succeeded').length, 1)
    const streams = service.arrived.filter(({ url }) => url.endsWith('/status'))
    t.strictSame(
      streams.map(({ status }) => status),
      [200, 204],
    )
  })
})
