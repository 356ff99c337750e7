// Own process: waits for a browser
/** What a page of another site can have a browser send, without consent. */
import type { Frame, Page } from 'playwright-core'
import t from 'tap'
import { fetchIn, freshContext, openPage, skipWithoutBrowser, startBrowser } from '../support/browser.js'
import { serveUsers } from './service.js'

const override = { 'x-http-method-override': 'DELETE' }

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const browser = await startBrowser(t)

  await t.test('a script of another origin cannot send the override header', async (t) => {
    const { page } = await openPage(t, await freshContext(t, browser), 'localhost')
    const { url, arrived, handled } = await serveUsers(t)
    const target = `${url}/v1/users/1`
    await t.rejects(fetchIn(page, target, { method: 'POST', headers: override }), /Failed to fetch/)
    t.match(arrived, { length: 1, 0: { method: 'OPTIONS' } }, 'it is asked for, and no more')
    // What is answered is kept from the page by another header of the preset.
    const opaque = { method: 'POST', mode: 'no-cors', headers: override } as const
    await t.rejects(fetchIn(page, target, opaque), /Failed to fetch/)
    t.match(arrived.at(-1), { method: 'POST', status: 405 })
    t.notOk('x-http-method-override' in (arrived.at(-1)?.headers ?? {}), 'the browser leaves it out')
    t.strictSame(handled, [])
  })

  await t.test('a form of another origin is not performed as DELETE', async (t) => {
    const context = await freshContext(t, browser)
    const { url, arrived, handled } = await serveUsers(t)
    const from = { 'cross-site': 'localhost', 'same-site': '127.0.0.1' } as const
    for (const [site, host] of Object.entries(from)) {
      const { page, origin } = await openPage(t, context, host)
      t.equal(await sendForm(page, page.mainFrame(), url), 400, site)
      t.match(arrived.at(-1), { method: 'POST', headers: { origin, 'sec-fetch-site': site } })
    }
    const { page } = await openPage(t, context)
    await page.setContent('<iframe sandbox="allow-forms allow-scripts" srcdoc="alone"></iframe>')
    const frame = page.frames()[1] ?? page.mainFrame()
    // What is written before its document is there would be replaced by it.
    await frame.getByText('alone').waitFor()
    t.equal(await sendForm(page, frame, url), 400, 'a frame in a sandbox')
    t.match(arrived.at(-1), { method: 'POST', headers: { origin: 'null' } })
    t.strictSame(handled, [])
  })

  await t.test('a form of the service itself is performed as DELETE', async (t) => {
    const page = await (await freshContext(t, browser)).newPage()
    const { url, arrived, handled } = await serveUsers(t)
    await page.goto(`${url}/v1/users/1`)
    t.equal(await sendForm(page, page.mainFrame(), url), 204)
    // By the referrer policy of the preset.
    t.match(arrived.at(-1), { headers: { origin: 'null', 'sec-fetch-site': 'same-origin' } })
    t.strictSame(handled, ['GET /v1/users/1', 'DELETE /v1/users/1'])
  })

  await t.test('over plain HTTP, without Sec-Fetch-Site, the Origin decides', async (t) => {
    const [service, other] = ['http://api.example', 'http://other.example']
    const cases = [
      // A page with the referrer policy of the preset does not say its origin, not even to itself.
      { securityHeaders: {}, from: service, origin: 'null', status: 400 },
      { securityHeaders: false, from: service, origin: service, status: 204 },
      { securityHeaders: false, from: other, origin: other, status: 400 },
    ] as const
    for (const { securityHeaders, from, origin, status } of cases) {
      const { url, arrived, handled } = await serveUsers(t, { securityHeaders })
      // The service stands for a proxy, and so for all hosts.
      const context = await browser.newContext({ proxy: { server: url } })
      t.teardown(() => context.close())
      const page = await context.newPage()
      await page.goto(`${from}/v1/users/1`)
      t.equal(await sendForm(page, page.mainFrame(), service), status, `${from} as ${origin}`)
      const { headers } = arrived.at(-1) ?? { headers: {} }
      t.match(headers, { host: 'api.example', origin })
      t.notOk('sec-fetch-site' in headers)
      t.equal(handled.includes(`DELETE ${service}/v1/users/1`), status === 204)
    }
  })
})

/** Sends a form that names the method DELETE from a page, or from a frame of it, and gives the status of the answer. */
async function sendForm(page: Page, from: Frame, url: string): Promise<number> {
  const answered = page.waitForResponse((response) => response.request().method() === 'POST')
  const field = '<input name="_method" value="DELETE"><button>send</button>'
  await from.setContent(`<form action="${url}/v1/users/1" method="post">${field}</form>`)
  await from.click('button')
  return (await answered).status()
}
