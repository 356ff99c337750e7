// Own process: waits for a browser
/** The pages of the demo: its playground, as a visitor uses it, and the description of its API, as a newcomer opens it. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { clientIds } from '../../examples/demo-server/authorization.js'
import { firstId } from '../../examples/demo-server/migrations.js'
import { developmentCertificate } from '../../examples/demo-server/tls.js'
import { emptyDatabase } from '../demo/databases.js'
import { serveEmbedded } from '../demo/embedded.js'
import { freshContext, skipWithoutBrowser, startBrowser } from '../support/browser.js'

/** What each button of a card shows: the statuses of its responses, and what the card says of them. */
const shown: Readonly<Record<string, Readonly<Record<string, readonly [statuses: string, said: RegExp]>>>> = {
  routes: { Boot: ['', /The app does not boot:[\s\S]*pathGuard\.uppercase[\s\S]*\/v1\/orders?/i] },
  paths: { Send: ['404', /^$/] },
  problems: { Send: ['400', /^$/] },
  fields: { Send: ['200 200', /^\d+ of \d+ bytes saved\.$/] },
  integers: { Send: ['200', new RegExp(`id +${firstId - 1n} ✗\n.*id_str +${firstId} ✓`)] },
  caching: { 'Send twice': ['200 304', /^\d+ bytes of content saved\.$/] },
  races: { Race: ['200 200 412', /^Writer [12] was first\. Writer [12] has to read again\.$/] },
  idempotency: { 'Send twice': ['200 201 201', /^The same bytes, one order\.$/] },
  operations: {
    Start: ['200 202 200', /^It has succeeded\.$/],
    'Start and cancel': ['200 202 204 200', /^It has failed: operation-cancelled\.$/],
  },
  pages: { 'Follow all links': ['200 200', /^2 pages: the last one has no link\.$/] },
  formats: { Send: ['200', /^$/] },
  overrides: { Submit: ['200', /^$/] },
  forgery: { 'Send without the token': ['403', /^$/], 'Send with it': ['200', /^$/] },
  quotas: { 'Send 6': ['200 200 200 200 200 429', /^0 left/] },
  // Last: until it ends, all other cards get a 503.
  maintenance: { 'Begin maintenance': ['200 503 200', /^Retry-After has passed:$/] },
}

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const database = await emptyDatabase(t)
  const { origin } = await serveEmbedded(t, database)
  // Before the browser, and so stopped after it: nothing waits for connections that it holds.
  const { origin: secure } = await serveEmbedded(t, database, await developmentCertificate('127.0.0.1'))
  const browser = await startBrowser(t)
  // The page is opened by another name of the machine than the one that the issuer is known by.
  for (const issuer of [origin, secure])
    await logsInByOneClick(t, browser, issuer, issuer.replace('127.0.0.1', 'localhost'))

  // The rules of accessibility are a script that the policy of the page would stop.
  const context = await freshContext(t, browser, { bypassCSP: true })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    // Chromium says so of each 4xx and 5xx.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text())
  })
  await page.goto(origin)

  await t.test('a visitor without a login sees a 401, and how to log in', async (t) => {
    await press(page, 'fields', 'Send')
    t.equal(await statusesOf(page, 'fields'), '401 401')
    t.match(await page.locator('#fields [aria-live]').innerText(), /Log in by one click/)
  })

  await t.test('one click logs in', async (t) => {
    await page.locator('#session').getByRole('link', { name: 'Log in' }).click()
    await page.getByRole('button', { name: 'Ada Allen' }).click()
    await page.getByText('You are Ada Allen').waitFor()
    t.equal(page.url(), `${origin}/`)
  })

  await t.test('the cards have the tests of this file', async (t) => {
    const ids = await page.locator('article').evaluateAll((articles) => articles.map(({ id }) => id))
    t.strictSame(ids, Object.keys(shown))
  })

  for (const [id, buttons] of Object.entries(shown)) {
    for (const [button, [statuses, said]] of Object.entries(buttons)) {
      await t.test(`${id}: ${button}`, async (t) => {
        await press(page, id, button)
        t.equal(await statusesOf(page, id), statuses)
        t.match((await page.locator(`#${id} [aria-live]`).innerText()).trim(), said)
      })
    }
  }

  await t.test('the path of each request marks who answered it', async (t) => {
    t.match(await page.locator('#overrides').innerText(), /_method=PATCH[\s\S]*"age":37/)
    const ends = {
      paths: ['pathGuard 404 path-uppercase'],
      problems: ['Fastify 400 validation'],
      caching: ['handler 200', 'caching 304'],
    }
    for (const [id, answered] of Object.entries(ends))
      t.strictSame(await page.locator(`#${id} .path .ends`).allInnerTexts(), answered, id)
  })

  await t.test('the line for curl sends the same request', async (t) => {
    const token = await tokenOf(origin)
    const session = (await context.cookies()).find(({ name }) => name === 'session')?.value
    const env = { ...process.env, TOKEN: token, SESSION: session }
    for (const id of ['paths', 'problems', 'formats', 'forgery']) {
      const line = await page.locator(`#${id} .curl pre`).last().innerText()
      const { stdout } = await promisify(execFile)('sh', ['-c', line.replace('curl', 'curl -s')], { env })
      const [status] = (await statusesOf(page, id)).split(' ').slice(-1)
      t.match(stdout, `HTTP/1.1 ${status} `, line)
    }
  })

  await t.test('a keyboard reaches and presses every button, and scrolls what is longer', async (t) => {
    await page.locator('#paths input').focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await settled(page, 'paths')
    t.equal(await page.locator(':focus').innerText(), 'Send', 'the focus stays')
    const controls = page.locator('button, a, input, select, summary, pre')
    const order = await controls.evaluateAll((nodes) => nodes.map((node) => Reflect.get(node, 'tabIndex')))
    t.ok(order.every((index) => index >= 0))
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [360, 1200]) {
      await t.test(`accessible, ${colorScheme}, ${width} px`, async (t) => {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 800 })
        t.strictSame(await violationsIn(page), [])
        const scrollWidth = await page.locator('html').evaluate((root) => root.scrollWidth)
        t.equal(scrollWidth, width, 'nothing is cut off')
      })
    }
  }

  t.strictSame(faults, [])
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
  })

  t.strictSame(faults, [], 'nothing is refused by a policy, nothing fails')
  const known = [origin, issuer].map((url) => new URL(url).host)
  for (const host of hosts) t.ok(known.includes(host), `nothing is loaded from elsewhere: ${host}`)
}

async function press(page: Page, id: string, name: string): Promise<void> {
  await page.locator(`#${id} .controls`).getByRole('button', { name, exact: true }).click()
  await settled(page, id)
}

async function settled(page: Page, id: string): Promise<void> {
  await page.locator(`#${id} .controls button:disabled`).first().waitFor({ state: 'detached' })
}

/** The statuses of the responses that a card shows, in their order. */
async function statusesOf(page: Page, id: string): Promise<string> {
  const lines = await page.locator(`#${id} .exchange strong`).allInnerTexts()
  return lines.map((line) => line.slice(0, 3)).join(' ')
}

async function violationsIn(page: Page): Promise<string[]> {
  const path = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
  await page.addScriptTag({ content: await readFile(path, 'utf8') })
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
    }
    const { violations } = await axe.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
  })
}

async function tokenOf(origin: string): Promise<string> {
  const grant_type = 'urn:fastify-conventions:demo:user'
  const body = new URLSearchParams({ client_id: clientIds.app, grant_type, user_id: String(firstId) })
  const response = await fetch(`${origin}/oauth/token`, { method: 'POST', body })
  return ((await response.json()) as { access_token: string }).access_token
}
