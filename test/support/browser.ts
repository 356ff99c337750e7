import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext } from 'playwright-core'
import { type Browser, type BrowserContextOptions, chromium, type Frame, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { findProgram } from './child.js'

/** What a page asks for, as `fetch` takes it. */
export interface PageRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly mode?: 'cors' | 'no-cors'
  readonly cache?: 'default' | 'no-cache'
  readonly credentials?: 'omit' | 'same-origin' | 'include'
}

const programs = ['chromium', 'chromium-browser', 'google-chrome']
// A guard against a hang. On a busy machine a page takes half a minute.
const timeout = 120_000

/** Is there no browser? Then its tests are skipped with these words; where `CI` is set they fail. */
export function skipWithoutBrowser(): string | false {
  if (findProgram(programs) !== null || process.env.CI) return false
  return 'there is no Chromium (Debian: apt-get install chromium)'
}

/** Starts a headless Chromium with an empty profile; it ends, and its profile goes, with the test. */
export async function startBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch(launchOptions())
  t.teardown(() => browser.close())
  return browser
}

/**
 * Starts a headless Chromium whose profile sends cookies to other sites too, as browsers did for decades, and some still do;
 * it trusts every certificate. It ends with the test.
 */
export async function startWithThirdPartyCookies(t: Test): Promise<BrowserContext> {
  const preferences = JSON.stringify({ profile: { cookie_controls_mode: 0 } })
  const folder = t.testdir({ Default: { Preferences: preferences } })
  const options = { ...launchOptions(), ignoreHTTPSErrors: true }
  return endingWith(t, await chromium.launchPersistentContext(folder, options))
}

/** Opens a profile for one test: its pages share cookies and cache with each other only. */
export async function freshContext(t: Test, browser: Browser, options: BrowserContextOptions = {}) {
  return endingWith(t, await browser.newContext(options))
}

/**
 * Serves an empty page under an origin of its own, and opens it. To a service at `127.0.0.1` a page of that host is of
 * another origin, but of the same site: cookies and the browser's cache count for both. One of `localhost` is of another
 * site.
 */
export async function openPage(t: Test, context: BrowserContext, host = '127.0.0.1') {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    // Else the browser would ask for an icon.
    response.end('<!doctype html><link rel="icon" href="data:,">')
  })
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://${host}:${(server.address() as AddressInfo).port}`
  const page = await context.newPage()
  await page.goto(origin)
  return { page, origin }
}

/**
 * Calls `fetch` in a page, or in a frame of it. Returns what the page can read of the response; rejects where the browser tells
 * it of a network error.
 */
export function fetchIn(page: Page | Frame, url: string, request: PageRequest = {}) {
  return page.evaluate(
    async ({ url, request }) => {
      const response = await fetch(url, request)
      const { status, headers } = response
      const readable: Readonly<Record<string, string>> = Object.fromEntries(headers)
      return { status, headers: readable, body: await response.text() }
    },
    { url, request },
  )
}

function endingWith(t: Test, context: BrowserContext): BrowserContext {
  context.setDefaultTimeout(timeout)
  t.teardown(() => context.close())
  return context
}

function launchOptions() {
  const executablePath = findProgram(programs)
  if (executablePath === null) throw new Error('there is no Chromium: install the Debian package chromium')
  // Besides what Playwright says itself: nothing of the browser's own goes into a network.
  return { executablePath, args: ['--disable-gpu', '--disable-quic', '--disable-sync'], timeout }
}
