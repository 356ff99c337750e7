/** The authorization server that the demo has for development, and the browsers that log in by it. */
import { createHash } from 'node:crypto'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import t from 'tap'
import { buildApp } from '../../examples/demo-server/app.js'
import { clientSecrets, devIssuerOptions } from '../../examples/demo-server/authorization.js'
import { firstId, migrate } from '../../examples/demo-server/migrations.js'
import { seed } from '../../examples/demo-server/seed.js'
import { seal } from '../../examples/demo-server/sessions.js'
import { emptyDatabase, query } from './databases.js'
import { issuer, userToken } from './issuer.js'

const host = '127.0.0.1:3000'
const origin = `http://${host}`
const audience = `${origin}/v1`
const verifier = 'a-verifier-that-nobody-guesses-and-that-is-long-enough'
const challenge = createHash('sha256').update(verifier).digest('base64url')
const redirect_uri = `${origin}/docs/static/oauth2-redirect.html`
const secret = 'a secret of at least 32 characters'
const sessions = { clientId: 'demo-app', secret }
const own = `/v1/users/${firstId}`
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const page = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' }

t.test('the authorization server of the demo', async (t) => {
  const database = await emptyDatabase(t)
  await migrate(database)
  await seed(database)
  const devIssuer = devIssuerOptions(clientSecrets('127.0.0.1'), database)
  const app = await buildApp({ database, bearer: { issuer: origin, audience }, devIssuer, sessions })
  t.teardown(() => app.close())
  const post = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const payload = new URLSearchParams(fields).toString()
    return app.inject({ method: 'POST', url, headers: { ...form, ...headers }, payload })
  }
  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  })
  const admin = basic('demo-admin', 'demo-admin-secret')

  /** Verifies a token as a resource server does (RFC 9068 §4). */
  async function verified(token: string) {
    const keys = (await app.inject('/oauth/jwks')).json<JSONWebKeySet>()
    const expected = { issuer: origin, audience, typ: 'at+jwt' }
    return (await jwtVerify(token, createLocalJWKSet(keys), expected)).payload
  }

  await t.test('its metadata names its endpoints, and its keys nothing private', async (t) => {
    for (const name of ['oauth-authorization-server', 'openid-configuration']) {
      const answer = await app.inject({ url: `/.well-known/${name}`, headers: { host, accept: 'text/html' } })
      const [authorization_endpoint, token_endpoint, jwks_uri] = ['authorize', 'token', 'jwks'].map(
        (path) => `${origin}/oauth/${path}`,
      )
      t.match(answer.json(), { issuer: origin, authorization_endpoint, token_endpoint, jwks_uri })
    }
    const keys = await app.inject('/oauth/jwks')
    t.notMatch(keys.body, '"d"')
    t.equal(keys.headers['cache-control'], 'public, max-age=60')
  })

  await t.test('a program gets a token with the scopes it asks for, or all that it may have', async (t) => {
    const grant = { grant_type: 'client_credentials' }
    const ask = async (changes: Record<string, string>, client: Record<string, string> = admin) =>
      (await post('/oauth/token', { ...grant, ...changes }, client)).json()
    const scope = 'users:read admin'
    const { access_token } = await ask({ scope })
    t.match(await verified(access_token), { sub: 'demo-admin', client_id: 'demo-admin', scope })
    const service = basic('demo-service', 'demo-service-secret')
    t.match(await ask({}, service), { scope: 'orders:read payments:read payments:write admin' })
    t.match(await ask({ scope: 'users:read' }, service), { error: 'invalid_scope' })
    t.match(await ask({}, basic('demo-admin', 'wrong')), { error: 'invalid_client' })
    t.match(await ask({ resource: 'https://other.example/' }), { error: 'invalid_target' })
  })

  await t.test('one command gets a token of a user, without admin', async (t) => {
    const ask = async (changes: Record<string, string>) => {
      const grant = { client_id: 'demo-app', grant_type: 'urn:fastify-conventions:demo:user' }
      return (await post('/oauth/token', { ...grant, user_id: String(firstId), ...changes })).json()
    }
    const claims = await verified((await ask({})).access_token)
    t.match(claims, { sub: String(firstId), client_id: 'demo-app', scope: /^users:read .*payments:write$/ })
    t.equal((await ask({ scope: 'admin orders:read' })).scope, 'orders:read')
    for (const user_id of ['1', '', 'ada', '9999999999999999999', '99999999999999999999', '-1'])
      t.match(await ask({ user_id }), { error: 'invalid_request' }, user_id)
  })

  await t.test('the code flow: one click logs in, and the code is good once, for its verifier', async (t) => {
    const ask = async (code: string, code_verifier = verifier) => {
      const grant = { client_id: 'demo-app', grant_type: 'authorization_code', redirect_uri }
      return (await post('/oauth/token', { ...grant, code, code_verifier })).json()
    }
    const code = await logIn()
    t.match(await ask(await logIn(), `${verifier}x`), { error: 'invalid_grant' })
    const claims = await verified((await ask(code)).access_token)
    t.match(claims, { sub: String(firstId + 1n), scope: 'users:read orders:read' })
    t.match(await ask(code), { error: 'invalid_grant' }, 'a second time')
  })

  await t.test('a login needs PKCE, a known redirect URI, and scopes that the app may have', async (t) => {
    t.match((await authorize({ code_challenge: '' })).headers.location, /error=invalid_request/)
    t.match((await authorize({ scope: 'admin' })).headers.location, /error=invalid_scope/)
    const elsewhere = { redirect_uri: 'https://evil.example/' }
    const refused = await authorize(elsewhere)
    t.equal(refused.statusCode, 400)
    t.match(refused.json(), { error: 'invalid_redirect_uri', error_description: /redirect_uri/ })
    const shown = await authorize(elsewhere, { accept: 'text/html,*/*;q=0.8' })
    t.match(shown, { statusCode: 400, body: /invalid_redirect_uri/ })
    t.match(shown.headers['content-type'], /^text\/html/)
    t.match(shown.headers['content-security-policy'], /default-src 'none'/)
  })

  await t.test('the login page lists users, and refuses what is none', async (t) => {
    const text = `update users set name = '<script>alert("Ada")</script>' where id = $1`
    await query(database, text, [firstId])
    const { browser, location } = await begun()
    const shown = await browser.send({ url: location })
    t.equal(shown.statusCode, 200)
    const guards = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }
    t.match(shown.headers, { 'content-type': /^text\/html/, 'cache-control': 'no-store', ...guards })
    t.notMatch(shown.body, '<script>')
    t.match(shown.body, 'alert')
    t.match((await browser.post(location, 'user_id=1')).json(), { code: 'login-failed' })
    for (const [accept, type] of [
      ['text/html,*/*;q=0.8', 'text/html; charset=utf-8'],
      ['*/*', 'application/problem+json'],
    ] as const) {
      const read = await app.inject({ url: location, headers: { accept } })
      for (const answer of [read, await post(location, { user_id: String(firstId) }, { accept })]) {
        t.match(answer, { statusCode: 400, body: /begun elsewhere/ }, 'a login of another browser')
        t.equal(answer.headers['content-type'], type)
      }
    }
  })

  await t.test('a client that asks for no page gets errors as JSON, of whatever kind', async (t) => {
    const rows: readonly (readonly [string, number, Record<string, string>?, string?])[] = [
      ['GET /oauth/authorize', 400],
      ['POST /oauth/authorize', 405],
      ['GET /oauth/token', 405],
      ['POST /oauth/token', 400],
      ['POST /oauth/token', 413, form, `a=${'1'.repeat(200_000)}`],
      ['GET /oauth/userinfo', 401],
      ['GET /oauth/nothing', 404],
      ['GET /oauth/interaction/nothing', 400],
      ['POST /oauth/interaction/nothing', 400, form, 'user_id=1'],
      ['POST /oauth/interaction/nothing', 413, form, `user_id=${'1'.repeat(2_000)}`],
      ['POST /oauth/interaction/nothing', 415, { 'content-type': 'application/json' }, '{}'],
      ['POST /.well-known/openid-configuration', 405],
    ]
    for (const [asked, status, headers = {}, payload = ''] of rows) {
      const [method = '', url = ''] = asked.split(' ')
      const answer = await app.inject({ method: method as 'GET', url, headers, payload })
      t.equal(answer.statusCode, status, asked)
      t.match(answer.headers['content-type'], /^application\/(problem\+)?json/, asked)
      const { code, error } = answer.json()
      t.match(code ?? error, /^[a-z_-]+$/, asked)
      t.equal(answer.headers['cache-control'], 'no-store', asked)
    }
  })

  await t.test('a page of another origin may not read tokens', async (t) => {
    for (const [origin, allowed] of [
      ['http://localhost:3000', 'http://localhost:3000'],
      ['https://evil.example', undefined],
    ] as const) {
      const { headers } = await post('/oauth/token', { client_id: 'demo-app' }, { origin })
      t.equal(headers['access-control-allow-origin'], allowed)
    }
  })

  await t.test('a browser logs in by the issuer of the demo, and out', async (t) => {
    const browser = browserOf()
    t.equal((await browser.send({ url: own, headers: page })).statusCode, 401, 'there is no session before')
    const landed = await follow(browser)
    t.match(landed.headers['set-cookie'], [
      /^login=; /,
      /^session=[\w.-]+; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/,
      /^XSRF-TOKEN=[\w-]+; Path=\/; SameSite=Strict$/,
    ])

    const read = await browser.send({ url: own, headers: page })
    t.equal(read.statusCode, 200, read.body)
    t.equal(read.json().id_str, String(firstId), 'the session is that of the user')
    t.match(read.headers.vary, /cookie/i)

    const withToken = { ...page, 'x-xsrf-token': browser.cookies.get('XSRF-TOKEN') ?? '' }
    const patch = { method: 'PATCH', url: own, payload: { age: 41 } } as const
    const refused = await browser.send({ ...patch, headers: page })
    t.match(refused.json(), { status: 403, code: 'xsrf-token-invalid' })
    t.equal((await browser.send({ ...patch, headers: withToken })).statusCode, 200)

    const logout = { method: 'POST', url: '/logout' } as const
    t.equal((await browser.send({ ...logout, headers: page })).statusCode, 403, 'no other page logs out')
    t.equal((await browser.send({ ...logout, headers: withToken })).statusCode, 303)
    t.equal((await browser.send({ url: own, headers: page })).statusCode, 401, 'the session has ended')
  })

  await t.test('a login that was not begun in this browser is refused', async (t) => {
    const sealed = await seal('c d', secret, 60)
    for (const cookies of [{}, { login: 'forged' }, { login: sealed }] as Record<string, string>[]) {
      const url = '/login/callback?code=a&state=b'
      const answer = await app.inject({ url, headers: { host }, cookies })
      t.match(answer.json(), { status: 400, code: 'login-failed' })
      t.notMatch(String(answer.headers['set-cookie']), 'session=', url)
    }
    const browser = browserOf()
    const { headers } = await follow(browser, '/login/callback')
    const url = String(headers.location).slice(origin.length)
    const forged = await browser.send({ url: url.replace(/state=[^&]+/, 'state=another') })
    t.match(forged.json(), { status: 400, code: 'login-failed' }, 'a code of another login')
    t.equal((await browser.send({ url })).statusCode, 302, 'but for its state, it is right')
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

  function authorize(changes: Record<string, string> = {}, headers = {}, send = browserOf().send) {
    const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
    const asked = { client_id: 'demo-app', response_type: 'code', redirect_uri, ...pkce }
    const state = { scope: 'users:read orders:read', state: 'a state' }
    return send({
      url: `/oauth/authorize?${new URLSearchParams({ ...asked, ...state, ...changes })}`,
      headers,
    })
  }

  /** A browser that is asked who its user is. */
  async function begun() {
    const browser = browserOf()
    const { headers } = await authorize({}, {}, browser.send)
    return { browser, location: String(headers.location) }
  }

  async function logIn(): Promise<string> {
    const { browser, location } = await begun()
    const next = await browser.post(location, `user_id=${firstId + 1n}`)
    const end = await browser.send({ url: String(next.headers.location).slice(origin.length) })
    t.match(String(end.headers['set-cookie']), /_session=[^;]+; path=\/oauth; .*samesite=lax; httponly/i)
    const target = new URL(String(end.headers.location))
    t.equal(target.origin + target.pathname, redirect_uri)
    t.match(Object.fromEntries(target.searchParams), { state: 'a state', iss: origin })
    return target.searchParams.get('code') ?? ''
  }

  function browserOf() {
    const cookies = new Map<string, string>()
    const send = async (request: InjectOptions): Promise<LightMyRequestResponse> => {
      const headers = { host, ...request.headers }
      const answer = await app.inject({ ...request, headers, cookies: Object.fromEntries(cookies) })
      for (const { name, value } of answer.cookies) {
        if (value === '') cookies.delete(name)
        else cookies.set(name, value)
      }
      return answer
    }
    const post = (url: string, payload: string) => send({ method: 'POST', url, headers: form, payload })
    return { cookies, send, post }
  }

  /** Follows the redirects of a login as the first user. Returns the response that leads to the end, or to another path. */
  async function follow({ send, post }: ReturnType<typeof browserOf>, end = '/') {
    let answer = await send({ url: '/login' })
    for (let step = 0; step < 6; step += 1) {
      const { pathname, search } = new URL(String(answer.headers.location), origin)
      if (pathname === end) return answer
      const isChoice = pathname.startsWith('/oauth/interaction/')
      answer = isChoice ? await post(pathname, `user_id=${firstId}`) : await send({ url: pathname + search })
    }
    throw new Error(`the login ends with ${answer.statusCode} ${answer.body}`)
  }
})

t.test('secrets are known ones only where nobody else can reach the demo', async (t) => {
  for (const name of ['127.0.0.1', 'localhost', '::1']) {
    t.equal(clientSecrets(name).admin, 'demo-admin-secret')
  }
  const [one, other] = [clientSecrets('0.0.0.0'), clientSecrets('192.168.0.2')]
  for (const secret of [one.admin, one.service, other.admin, other.service]) t.match(secret, /^[\w-]{32}$/)
  t.not(one.admin, other.admin)
})
