// Own process: waits for a browser
/**
 * What pages of other origins can do with the cookie of a user who is logged in: each way of sending a request, with each
 * method, to each route of the demo, over TLS.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { XsrfOptions } from 'fastify-conventions'
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { buildApp } from '../../examples/demo-server/app.js'
import type { Database } from '../../examples/demo-server/database.js'
import { migrate } from '../../examples/demo-server/migrations.js'
import { seal } from '../../examples/demo-server/sessions.js'
import { type Certificate, developmentCertificate } from '../../examples/demo-server/tls.js'
import { emptyDatabase, query } from '../demo/databases.js'
import { adminToken, issuer } from '../demo/issuer.js'
import { sampleOf } from '../demo/samples.js'
import { skipWithoutBrowser, startWithThirdPartyCookies } from '../support/browser.js'
import { serve } from '../support/serve.js'
import { until } from '../support/until.js'

type Demo = Awaited<ReturnType<typeof serveDemo>>

const secret = 'a secret of at least 32 characters'
// The demo sets it with SameSite=Lax. With None, the browser sends it with each attack.
const cookie = { name: '__Host-session', httpOnly: true, secure: true, sameSite: 'None' } as const
const elements = ['script', 'image', 'style', 'iframe', 'object', 'video']

t.test('in Chromium', { skip: skipWithoutBrowser() }, async (t) => {
  const certificate = await developmentCertificate('localhost')

  for (const host of ['localhost', '127.0.0.1']) {
    const site = host === 'localhost' ? 'another site' : 'another origin of the same site'
    await t.test(`a page of ${site} changes nothing and reads nothing`, async (t) => {
      const demo = await serveDemo(t, certificate)
      const context = await loggedIn(t, demo)
      const before = await demo.content()
      const page = await openAttackPage(t, context, certificate, host)
      const read = await attack(page, demo)

      t.strictSame(read, [], 'the page reads nothing')
      const unsafe = demo.calls.filter(({ method }) => method !== 'GET' && method !== 'HEAD')
      t.strictSame(unsafe, [], 'no handler of an unsafe method ran')
      const opened = openedBy(demo).filter(
        ({ destination, mode }) => destination !== 'empty' || mode === 'no-cors',
      )
      t.strictSame(opened, [], 'the cookie opens no JSON for an element, nor for a worker')
      t.equal(await demo.content(), before, 'all rows are as before')
      sentAll(t, demo)
    })
  }

  await t.test('without the plugin, the same attack opens JSON', async (t) => {
    const demo = await serveDemo(t, certificate, 'report')
    const context = await loggedIn(t, demo)
    // A few paths are enough to see that the attack works.
    const paths = demo.paths.filter((path) => /^\/v1\/(users|orders)(\/\d+)?$/.test(path))
    await attack(await openAttackPage(t, context, certificate, 'localhost'), { ...demo, paths })
    const destinations = openedBy(demo).map(({ destination }) => destination)
    for (const element of elements) t.ok(destinations.includes(element), element)
    sentAll(t, demo)
  })

  await t.test('a page of another origin cannot log the user in', async (t) => {
    const demo = await serveDemo(t, certificate)
    const context = await startWithThirdPartyCookies(t)
    const page = await openAttackPage(t, context, certificate, 'localhost')
    const answered = page.waitForResponse((response) => response.request().method() === 'POST')
    const action = `${demo.origin}/v1/sessions`
    await page.setContent(`<form action="${action}" method="post"><button>send</button></form>`)
    await page.click('button')
    t.equal((await answered).status(), 403)
    t.strictSame(demo.calls, [])
  })
})

const user = sampleOf.users('ada@forged.example')

/** Serves the demo with sessions, and records the handlers that run. */
async function serveDemo(t: Test, certificate: Certificate, mode: XsrfOptions['mode'] = 'enforce') {
  const database = await emptyDatabase(t)
  await migrate(database)
  const calls: ReturnType<typeof callOf>[] = []
  // What came in with the cookie: the method, and the destination by the browser.
  const arrived = new Set<string>()
  const urls = new Set<string>()
  const record = (message: unknown) => {
    const { fastify: app } = message as { fastify: FastifyInstance }
    app.addHook('onRoute', (route) => {
      const { handler } = route
      urls.add(route.url)
      route.handler = function recorded(request, reply) {
        calls.push(callOf(request))
        return handler.call(this, request, reply)
      }
    })
  }
  // Each Fastify app says there that it begins.
  subscribe('fastify.initialization', record)
  const { options: bearer } = await issuer()
  const sessions = { clientId: 'demo-app', secret, mode }
  const app = await buildApp({ database, bearer, certificate, sessions, rateLimitMax: 1_000_000, pace: 0.01 })
  const authorization = `Bearer ${await adminToken()}`
  unsubscribe('fastify.initialization', record)
  addLogin(app)
  app.server.prependListener('request', ({ method, headers }: FastifyRequest['raw']) => {
    if (!headers.cookie?.includes('session=')) return
    arrived.add(`${method} ${headers['sec-fetch-dest']}`)
  })
  const { port } = await serve(t, app)
  const payload = { ...user, email: 'ada@own.example' }
  const created = await app.inject({ method: 'POST', url: '/v1/users', headers: { authorization }, payload })
  t.equal(created.statusCode, 201, created.body)
  const id = /[^/]+$/.exec(String(created.headers.location))?.[0] ?? ''
  calls.splice(0)
  // A path for each route, with ids that exist.
  const paths = [...urls].map((url) => url.replace(/:\w+/g, id).replace('*', 'x'))
  return { origin: `https://127.0.0.1:${port}`, paths, calls, arrived, content: () => contentOf(database) }
}

/** Adds a route that begins a session. */
function addLogin(app: FastifyInstance): void {
  const login = { schema: { hide: true }, config: { bearer: false, xsrf: { login: true } } } as const
  const attributes = { ...cookie, sameSite: 'none', path: '/' } as const
  app.post('/v1/sessions', login, async (_request, reply) => {
    reply.setCookie(cookie.name, await adminSession(), attributes)
    return reply.code(204).send()
  })
}

function callOf({ method, url, headers }: FastifyRequest) {
  const destination = String(headers['sec-fetch-dest'])
  const mode = String(headers['sec-fetch-mode'])
  return { method, url, hasSession: /session=/.test(headers.cookie ?? ''), destination, mode }
}

/** The handlers of the API that ran with the cookie. */
const openedBy = ({ calls }: Demo) =>
  calls.filter(({ hasSession, url }) => hasSession && url.startsWith('/v1/'))

/** A new session of an admin. */
const adminSession = async () => seal(await adminToken(), secret, 3600)

async function contentOf(database: Database): Promise<string> {
  const text =
    "select table_name as name from information_schema.tables where table_schema = 'public' order by 1"
  const rows: unknown[] = []
  for (const { name } of await query(database, text))
    rows.push(await query(database, `select to_jsonb(r)::text as row from "${name}" r order by 1`))
  return JSON.stringify(rows)
}

/** A profile whose user is logged in to the demo. */
async function loggedIn(t: Test, { origin }: Demo): Promise<BrowserContext> {
  const context = await startWithThirdPartyCookies(t)
  await context.addCookies([{ ...cookie, value: await adminSession(), url: origin }])
  return context
}

async function openAttackPage(t: Test, context: BrowserContext, pems: Certificate, host: string) {
  const server = createServer(pems, (_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end('<!doctype html><link rel="icon" href="data:,">')
  })
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const page = await context.newPage()
  await page.goto(`https://${host}:${(server.address() as AddressInfo).port}`)
  return page
}

/** Sends each request that a page can, and returns what the page could read. */
async function attack(page: Page, { origin, paths, arrived }: Demo): Promise<readonly string[]> {
  const source = readFileSync('test/browser/attack-page.js', 'utf8').replace('export ', '')
  const read = await page.evaluate<readonly string[]>(
    `(() => { ${source}; return attack(${JSON.stringify(origin)}, ${JSON.stringify(paths)}) })()`,
  )
  // What was sent last may still be on its way.
  const haveArrived = async () => elements.every((element) => arrived.has(`GET ${element}`))
  await until(haveArrived, (have) => have)
  return read
}

/** Checks that the browser has sent the cookie in each way: otherwise the attack would prove nothing. */
function sentAll(t: Test, { arrived }: Demo): void {
  for (const element of elements) t.ok(arrived.has(`GET ${element}`), `${element} was sent with the cookie`)
  for (const sent of ['GET empty', 'POST empty', 'POST iframe']) t.ok(arrived.has(sent), sent)
}
