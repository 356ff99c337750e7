/** Browsers that log in to the demo, and the cookie with their session. */
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { buildApp } from '../../examples/demo-server/app.js'
import { clientSecrets, devIssuerOptions } from '../../examples/demo-server/authorization.js'
import type { Database } from '../../examples/demo-server/database.js'
import { firstId, migrate } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { seal } from '../../examples/demo-server/sessions.js'
import { emptyDatabase } from './databases.js'
import { issuer, userToken } from './issuer.js'

const host = '127.0.0.1:3000'
const origin = `http://${host}`
const secret = 'a secret of at least 32 characters'
const sessions = { clientId: 'demo-app', secret }
const own = `/v1/users/${firstId}`
const page = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' }

t.test('sessions of browsers', async (t) => {
  const database = await seeded(t)

  await t.test('a browser logs in by the issuer of the demo, and out', async (t) => {
    const browser = browserOf(await start(t, database))
    t.equal((await browser.send({ url: own, headers: page })).statusCode, 401, 'there is no session before')
    const landed = await logIn(browser)
    t.match(landed.headers['set-cookie'], [
      /^login=; /,
      /^session=[\w.-]+; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/,
      /^XSRF-TOKEN=[\w-]+; Path=\/; SameSite=Strict$/,
    ])

    const read = await browser.send({ url: own, headers: page })
    t.equal(read.statusCode, 200, read.body)
    t.equal(read.json().id_str, String(firstId), 'the session is that of the user')
    t.match(read.headers.vary, /cookie/i)

    const patch: InjectOptions = {
      method: 'PATCH',
      url: own,
      headers: { ...page, 'content-type': 'application/merge-patch+json' },
      payload: '{"age":41}',
    }
    t.match((await browser.send(patch)).json(), { status: 403, code: 'xsrf-token-invalid' })
    const token = browser.cookies.get('XSRF-TOKEN') ?? ''
    const changed = await browser.send({ ...patch, headers: { ...patch.headers, 'x-xsrf-token': token } })
    t.equal(changed.statusCode, 200, changed.body)

    const logout: InjectOptions = { method: 'POST', url: '/logout', headers: page }
    t.equal((await browser.send(logout)).statusCode, 403, 'no other page logs the user out')
    const left = await browser.send({ ...logout, headers: { ...page, 'x-xsrf-token': token } })
    t.equal(left.statusCode, 303)
    t.equal((await browser.send({ url: own, headers: page })).statusCode, 401, 'the session has ended')
  })

  await t.test('a login that was not begun in this browser is refused', async (t) => {
    const app = await start(t, database)
    for (const [url, login] of [
      ['/login/callback', undefined],
      ['/login/callback?code=a&state=b', undefined],
      ['/login/callback?code=a&state=b', 'forged'],
      ['/login/callback?code=a&state=b', await seal('c d', secret, 60)],
      ['/login/callback?code=a&state=c', await seal('c d', secret, 60)],
    ] as const) {
      const answer = await app.inject({
        url,
        headers: { host },
        cookies: login === undefined ? {} : { login },
      })
      t.match(answer.json(), { status: 400, code: 'login-failed' })
      t.notMatch(String(answer.headers['set-cookie']), 'session=', url)
    }
  })

  await t.test('the cookie opens what its access token opens', async (t) => {
    const { options: bearer } = await issuer()
    const app = await buildApp({ database, bearer, sessions })
    t.teardown(() => app.close())
    const token = await userToken(firstId)
    const statusWith = async (session: string, headers: Record<string, string> = {}) =>
      (await app.inject({ url: own, headers: { ...page, ...headers }, cookies: { session } })).statusCode

    t.equal(await statusWith(await seal(token, secret, 60)), 200)
    t.equal(await statusWith(token), 401, 'a token that is not encrypted')
    t.equal(await statusWith(await seal(token, `${secret}!`, 60)), 401, 'another secret')
    t.equal(await statusWith(await seal(token, secret, -1)), 401, 'it has expired')
    t.equal(await statusWith(await seal('no-token', secret, 60)), 401, 'it has no access token')
    const headers = { authorization: 'Bearer no-token' }
    t.equal(await statusWith(await seal(token, secret, 60), headers), 401, 'Authorization goes first')
  })
})

async function seeded(t: Test): Promise<Database> {
  const database = await emptyDatabase(t)
  await migrate(database)
  await seed(database)
  return database
}

async function start(t: Test, database: Database): Promise<FastifyInstance> {
  const bearer = { issuer: origin, audience: `${origin}/v1` }
  const devIssuer = devIssuerOptions(clientSecrets('127.0.0.1'), database)
  const app = await buildApp({ database, bearer, devIssuer, sessions })
  t.teardown(() => app.close())
  return app
}

/** A client that keeps cookies. */
function browserOf(app: FastifyInstance) {
  const cookies = new Map<string, string>()
  return {
    cookies,
    async send(request: InjectOptions): Promise<LightMyRequestResponse> {
      const headers = { host, ...request.headers }
      const answer = await app.inject({ ...request, headers, cookies: Object.fromEntries(cookies) })
      for (const { name, value } of answer.cookies) {
        if (value === '') cookies.delete(name)
        else cookies.set(name, value)
      }
      return answer
    },
  }
}

/** Follows the redirects of a login as the first user. Returns the response that leads to the service. */
async function logIn(browser: ReturnType<typeof browserOf>): Promise<LightMyRequestResponse> {
  let answer = await browser.send({ url: '/login' })
  for (let step = 0; step < 6; step += 1) {
    const { pathname, search } = new URL(String(answer.headers.location), origin)
    if (pathname === '/') return answer
    const choice: InjectOptions = {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: `user_id=${firstId}`,
    }
    const isChoice = pathname.startsWith('/oauth/interaction/')
    answer = await browser.send({ url: pathname + search, ...(isChoice ? choice : {}) })
  }
  throw new Error(`the login ends with ${answer.statusCode} ${answer.body}`)
}
