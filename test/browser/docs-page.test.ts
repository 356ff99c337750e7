/** The page of the demo that describes its API, as a newcomer opens it. */
import t from 'tap'
import { openEmbeddedDatabase } from '../../examples/demo-server/database-embedded.js'
import { serve } from '../demo/client.js'
import { freshContext, skipWithoutBrowser, startBrowser } from '../support/browser.js'

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const database = await openEmbeddedDatabase()
  t.teardown(() => database.close())
  // Before the browser, and so stopped after it: nothing waits for connections that it holds.
  const { origin } = await serve(t, database)
  const browser = await startBrowser(t)
  const page = await (await freshContext(t, browser)).newPage()
  const faults: string[] = []
  const hosts = new Set<string>()
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('request', (request) => hosts.add(new URL(request.url()).host))

  await t.test('the page of the document shows the operations, and calls them', async (t) => {
    await page.goto(`${origin}/docs`)
    await page.getByText('List users').click()
    await page.getByRole('button', { name: 'Try it out' }).click()
    const answered = page.waitForResponse((response) => response.url().startsWith(`${origin}/v1/users`))
    await page.getByRole('button', { name: 'Execute' }).click()
    t.equal((await answered).status(), 200)
    await page.locator('.live-responses-table').getByText('"users"').waitFor()
  })

  t.strictSame(faults, [], 'nothing is refused by a policy, nothing fails')
  t.strictSame([...hosts], [new URL(origin).host], 'and nothing is loaded from elsewhere')
})
