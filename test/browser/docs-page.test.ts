// Own process: waits for a browser
/** The page of the demo that describes its API, as a newcomer opens it. */
import type { Browser } from 'playwright-core'
import t, { type Test } from 'tap'
import { developmentCertificate } from '../../examples/demo-server/tls.js'
import { emptyDatabase } from '../demo/databases.js'
import { serveEmbedded } from '../demo/embedded.js'
import { freshContext, skipWithoutBrowser, startBrowser } from '../support/browser.js'

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const database = await emptyDatabase(t)
  const certificate = await developmentCertificate('127.0.0.1')
  // Before the browser, and so stopped after it: nothing waits for connections that it holds.
  const demos = [await serveEmbedded(t, database), await serveEmbedded(t, database, certificate)]
  const browser = await startBrowser(t)
  for (const { origin } of demos) {
    // The page is opened by another name of the machine than the one that the issuer is known by.
    await logsInByOneClick(t, browser, origin, origin.replace('127.0.0.1', 'localhost'))
  }
})

/** The authorization code flow, as a person sees it. */
async function logsInByOneClick(t: Test, browser: Browser, issuer: string, origin: string): Promise<void> {
  // Nobody vouches for the certificate.
  const page = await (await freshContext(t, browser, { ignoreHTTPSErrors: true })).newPage()
  const faults: string[] = []
  const hosts = new Set<string>()
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('request', (request) => hosts.add(new URL(request.url()).host))

  await t.test(`${origin}: one click logs in, and the page sends the token`, async (t) => {
    await page.goto(`${origin}/docs`)
    await page.locator('.btn.authorize').click()
    const dialog = page.locator('.modal-ux')
    const opened = page.waitForEvent('popup')
    await dialog.locator('.btn.authorize').first().click()
    const login = await opened
    const closed = login.waitForEvent('close')
    await login.getByRole('button', { name: 'Ada Allen' }).click()
    await closed
    await dialog.getByText('Logout').first().waitFor()
    await dialog.locator('.btn-done').first().click()

    await page.getByText('List users').click()
    await page.getByRole('button', { name: 'Try it out' }).click()
    const answered = page.waitForResponse((response) => response.url().startsWith(`${origin}/v1/users`))
    await page.getByRole('button', { name: 'Execute' }).click()
    const answer = await answered
    t.equal(answer.status(), 200)
    const { users } = (await answer.json()) as { users: readonly { readonly name: string }[] }
    t.match(users, { length: 1, 0: { name: 'Ada Allen' } }, 'a user sees no record but their own')
    await page.locator('.live-responses-table').getByText('"users"').waitFor()
  })

  t.strictSame(faults, [], 'nothing is refused by a policy, nothing fails')
  const known = [origin, issuer].map((url) => new URL(url).host)
  for (const host of hosts) t.ok(known.includes(host), `nothing is loaded from elsewhere: ${host}`)
}
