/** The client in a browser: a page follows and cancels operations of a service of another origin. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { ProblemError } from '../../src/index.js'
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
    t.ok(
      service.arrived.some(({ url }) => url.endsWith('/status')),
      'it polls Operation-Location',
    )
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

  await t.test('the stored URL is enough to follow an operation; a signal ends the waiting', async (t) => {
    const { page, service } = await open(t)
    const seen = await page.evaluate(async (url) => {
      const response = await fetch(`${url}/v1/users/7/wait`, { method: 'POST' })
      const kept = new URL(response.headers.get('operation-location') ?? '', response.url)
      const controller = new AbortController()
      const operation = client.followOperation(kept, { signal: controller.signal, interval: 60_000 })
      for await (const _state of operation) break
      const finished = operation.finished()
      controller.abort()
      const reason = await finished.catch(({ name }) => name)
      await operation.cancel()
      return reason
    }, service.url)
    t.equal(seen, 'AbortError')
  })

  await t.test('the client waits until the maintenance is over', async (t) => {
    const { page, service } = await open(t)
    const started = await page.evaluate(async (url) => {
      const response = await fetch(`${url}/v1/users/7/copy`, { method: 'POST' })
      return new URL(response.headers.get('operation-location') ?? '', response.url).href
    }, service.url)
    await service.app.maintenance.enable({ until: new Date(Date.now() + 4_000) })
    const end = await page.evaluate(async (url) => client.followOperation(url).finished(), started)
    t.equal(end.status, 'Succeeded')
    const polls = service.arrived.filter(({ url }) => url.endsWith('/status'))
    t.strictSame(
      polls.map(({ status }) => status),
      [503, 200],
      'it came once while it lasted, and not too early',
    )
  })

  await t.test('a 303 that the browser hides is an error', async (t) => {
    const { page, service } = await open(t)
    const location = await page.evaluate(async (url) => {
      const response = await fetch(`${url}/v1/users/7/copy`, { method: 'POST' })
      return new URL(response.headers.get('location') ?? '', response.url).href
    }, service.url)
    const seen = await page.evaluate(async (url) => {
      const { code, status } = await client
        .followOperation(url)
        .finished()
        .catch((error) => error)
      return { code, status }
    }, location)
    t.strictSame(seen, { code: 'refused', status: 0 }, 'at Location alone')
  })

  await t.test('with server-sent events, one request brings the progress and the end', async (t) => {
    const { page, service } = await open(t)
    const seen = await page.evaluate(async (url) => {
      const ends: object[] = []
      const progress: (number | undefined)[] = []
      for (const verb of ['copy', 'count', 'fail']) {
        const response = await fetch(`${url}/v1/users/7/${verb}`, { method: 'POST' })
        const operation = client.followOperation(response, { events: true })
        for await (const state of operation) {
          if (verb === 'count' && state.status === 'In progress') progress.push(state.progress)
        }
        ends.push(await operation.finished())
      }
      return { ends, progress }
    }, service.url)
    t.match(seen.ends, [
      { status: 'Succeeded', resource: `${service.url}/v1/users/8` },
      { status: 'Succeeded', result: { payment_id_str: '9007199254740993' } },
      { status: 'Failed', error: { code: 'insufficient-funds', status: 409 } },
    ])
    t.ok(seen.progress.includes(0.5))
    t.strictSame(
      service.arrived.filter(({ url }) => url.endsWith('/status')).map(({ headers }) => headers.accept),
      Array(3).fill('text/event-stream, application/json;q=0.9'),
    )
  })

  await t.test(
    'with server-sent events, it cancels an operation, with its token in the header',
    async (t) => {
      const { page, service } = await open(t)
      const end = await page.evaluate(async (url) => {
        const init = { headers: { authorization: 'Bearer mine' } }
        const response = await fetch(`${url}/v1/users/7/wait`, { method: 'POST' })
        const operation = client.followOperation(response, { init, events: true })
        const finished = operation.finished()
        await operation.cancel()
        return finished
      }, service.url)
      t.match(end, { status: 'Failed', error: { code: 'operation-cancelled' } })
      // The two requests have a connection each, so that either can arrive first.
      const requests = service.arrived
        .filter(({ method }) => method === 'GET' || method === 'DELETE')
        .sort((one, other) => one.method.localeCompare(other.method))
      t.match(requests, [
        { method: 'DELETE', status: 204, headers: { authorization: 'Bearer mine' } },
        { method: 'GET', status: 200, headers: { authorization: 'Bearer mine' } },
      ])
    },
  )

  await t.test('after a stream that breaks, it polls at the interval of the service', async (t) => {
    const { page, service } = await open(t)
    const statuses = await page.evaluate(async (url) => {
      const response = await fetch(`${url}/v1/users/7/count`, { method: 'POST' })
      const seen: string[] = []
      for await (const { status } of client.followOperation(response, { events: true })) {
        if (seen.push(status) === 1)
          await fetch(`${url}/v1/users/7/break`, { method: 'POST' }).catch(() => {})
      }
      return seen
    }, service.url)
    t.equal(statuses.at(-1), 'Succeeded')
    const accepts = service.arrived
      .filter(({ method, url }) => method === 'GET' && url.endsWith('/status'))
      .map(({ headers }) => headers.accept)
    t.strictSame([accepts[0], accepts[1]], ['text/event-stream, application/json;q=0.9', '*/*'])
  })

  await t.test('a page waits for a download', async (t) => {
    const { page, service } = await open(t)
    const text = await page.evaluate(async (url) => {
      const response = await client.whenReady(`${url}/v1/users/7/export`)
      return response.text()
    }, service.url)
    t.equal(text, 'name\n')
    const asked = service.arrived.filter(({ url }) => url.endsWith('/export'))
    t.strictSame(
      asked.map(({ status }) => status),
      [202, 200],
    )
  })

  async function open(t: Test): Promise<{ page: Page; service: Service }> {
    const { page, origin } = await openPage(t, await freshContext(t, browser))
    await page.addScriptTag({ content: script })
    let isReady = false
    const operations = { retryAfter: 1 }
    const service = await serveUsers(t, { cors: { origin: [origin] }, operations }, (app) => {
      app.operations.define('copy', async () => ({ resource: '/v1/users/8' }))
      app.operations.define('wait', { cancellable: true }, async ({ signal }) => {
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      })
      app.operations.define('count', async ({ progress }) => {
        progress(0.5)
        await pause(1_000)
        return { result: { payment_id: 9007199254740993n } }
      })
      app.operations.define('fail', async () => {
        throw new ProblemError('insufficient-funds', { status: 409 })
      })
      app.post('/v1/users/:id/break', () => app.server.closeAllConnections())
      for (const verb of ['copy', 'count', 'fail']) {
        app.post(`/v1/users/:id/${verb}`, (_request, reply) => reply.startOperation(verb))
      }
      app.post('/v1/users/:id/wait', (_request, reply) => reply.startOperation('wait'))
      app.get(
        '/v1/users/:id/export',
        { schema: { response: { 200: { content: { 'text/csv': { schema: { type: 'string' } } } } } } },
        (_request, reply) => {
          if (isReady) return reply.type('text/csv').send('name\n')
          isReady = true
          return reply.notReady(1)
        },
      )
    })
    return { page, service }
  }
})
