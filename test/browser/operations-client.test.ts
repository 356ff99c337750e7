// Own process: waits for a browser
/** The client in a browser: a page follows and cancels operations of a service of another origin. */
import { once } from 'node:events'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { bundleClient } from '../client/bundle-client.js'
import { freshContext, openPage, skipWithoutBrowser, startBrowser } from '../support/browser.js'
import { type Service, serveUsers } from './service.js'

/** What of the bundled client the page calls. */
type Client = typeof import('../../src/client/index.js')
declare const client: Client

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await startBrowser(t)
  const script = await bundleClient('iife')

  await t.test('a page of another origin follows an operation to the created resource', async (t) => {
    const { page, service } = await open(t)
    const seen = await page.evaluate(async (url) => {
      const response = await fetch(`${url}/v1/users/7/copy`, { method: 'POST' })
      const operation = client.followOperation(response)
      const statuses: string[] = []
      for await (const { status } of operation) statuses.push(status)
      return { statuses, end: await operation.finished() }
    }, service.url)
    t.equal(seen.statuses.at(-1), 'Succeeded')
    t.match(seen.end, { status: 'Succeeded', resource: `${service.url}/v1/users/8` })
    t.notOk(service.handled.includes('GET /v1/users/8'), 'which is not fetched')
    const polls = service.arrived.filter(({ url }) => url.endsWith('/status'))
    t.ok(polls.length > 0, 'it polls Operation-Location')
  })

  await t.test('it cancels an operation, with its token in the header', async (t) => {
    const { page, service } = await open(t)
    const seen = await page.evaluate(async (url) => {
      const init = { headers: { authorization: 'Bearer mine' } }
      const response = await fetch(`${url}/v1/users/7/wait`, { method: 'POST' })
      const operation = client.followOperation(response, { init })
      const finished = operation.finished()
      await operation.cancel()
      return { end: await finished, again: await operation.cancel().catch(({ code }) => code) }
    }, service.url)
    t.match(seen.end, { status: 'Failed', error: { code: 'operation-cancelled' } })
    t.equal(seen.again, 'not-cancellable')
    const cancels = service.arrived.filter(({ method }) => method === 'DELETE')
    t.match(cancels, [{ status: 204, headers: { authorization: 'Bearer mine' } }])
  })

  await t.test('a 303 that the browser hides is an error', async (t) => {
    const { page, service } = await open(t)
    const seen = await page.evaluate(async (url) => {
      const { headers } = await fetch(`${url}/v1/users/7/copy`, { method: 'POST' })
      const operation = client.followOperation(url + headers.get('location'))
      const { code, status } = await operation.finished().catch((error) => error)
      return { code, status }
    }, service.url)
    t.strictSame(seen, { code: 'refused', status: 0 }, 'at Location alone')
  })

  async function open(t: Test): Promise<{ page: Page; service: Service }> {
    const { page, origin } = await openPage(t, await freshContext(t, browser))
    await page.addScriptTag({ content: script })
    const operations = { retryAfter: 1 }
    const service = await serveUsers(t, { cors: { origin: [origin] }, operations }, (app) => {
      app.operations.define('copy', async () => ({ resource: '/v1/users/8' }))
      app.operations.define('wait', { cancellable: true }, async ({ signal }) => {
        await once(signal, 'abort')
        throw signal.reason
      })
      for (const verb of ['copy', 'wait']) {
        app.post(`/v1/users/:id/${verb}`, (_request, reply) => reply.startOperation(verb))
      }
    })
    return { page, service }
  }
})
