// Own process: starts processes, and waits for them
/** The demo as a process: what it prints, the settings that it keeps, and how it ends. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { Agent, fetch as fetchThrough } from 'undici'
import { endChild } from '../support/child.js'
import { until } from '../support/until.js'
import { callerOf } from './client.js'
import { failureOf, spawnDemo, startDemo } from './run-demo.js'

t.test('the demo prints its URL and examples that work, and stops at SIGINT', async (t) => {
  const { origin, process, printed } = await startDemo(t, { ISSUER_URL: '', DATABASE_URL: '' })
  t.match(origin, /^http:\/\/127\.0\.0\.1:\d+$/)
  t.equal((await fetch(`${origin}/v1/users?limit=1`)).status, 401)
  const lines = await until(
    async () => printed.filter((line) => line.includes('curl ')),
    (commands) => commands.length === 6,
  )
  const [admin, user] = lines.filter((line) => line.startsWith('  TOKEN='))
  const commands = ['email', 'PATCH', 'retry'].map((word) => lines.find((line) => line.includes(word)))
  for (const [token, seen, retried] of [
    [user, 1, /^404 /],
    [admin, 2, /^303 /],
  ] as const) {
    const { stdout } = await promisify(execFile)('bash', ['-c', [token, ...commands].join('\n')])
    const [, users = '', patch, retry] = stdout.split('HTTP/1.1 ')
    t.match(users, /^200 OK\r\n[\s\S]*"users":\[/)
    t.equal(users.match(/"email"/g)?.length, seen)
    t.match(patch, /"age":37/)
    t.match(retry, retried)
  }
  t.equal(await endChild(process, 'SIGINT'), 0)
})

t.test('an invalid setting is an error of one line, with exit code 1', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  for (const [variables, failure] of [
    [{ PORT: 'http' }, /^demo server: PORT: expected .* received 'http'$/],
    [{ DATABASE_URL: 'postgres://localhost:1/none' }, /^demo server: .*ECONNREFUSED.*$/],
    [{ PORT: String(port) }, /^demo server: listen EADDRINUSE.*$/],
  ] as const)
    t.match(await failureOf(spawnDemo({ ...variables })), failure)
})

t.test('MAINTENANCE_FILE, RATE_LIMIT_MAX, TRUST_PROXY and CORS_ORIGIN', async (t) => {
  const notice = JSON.stringify({ until: new Date(Date.now() + 600_000), reason: 'The move' })
  const file = join(t.testdir({ maintenance: notice }), 'maintenance')
  const { origin } = await startDemo(t, {
    MAINTENANCE_FILE: file,
    RATE_LIMIT_MAX: '3',
    TRUST_PROXY: '127.0.0.1',
    CORS_ORIGIN: 'https://app.example',
  })
  const caller = callerOf(origin, { token: null })
  let clients = 0
  const from = (address: string, target = '/v1/terms') =>
    caller.call('GET', target, { headers: { 'x-forwarded-for': address, origin: 'https://app.example' } })
  const anyClient = () => from(`192.0.2.${++clients}`)

  await t.test('while the file exists, requests are refused', async (t) => {
    const { status, headers, json } = await from('192.0.2.1')
    t.match({ status, json }, { status: 503, json: { code: 'maintenance', detail: 'The move' } })
    t.ok(Number(headers.get('retry-after')) > 500)
    t.equal((await from('192.0.2.1', '/health')).status, 200, 'but for probes')
    await rm(file)
    await until(anyClient, ({ status }) => status === 200)
  })

  await t.test('requests beyond the quota of a client are a 429', async (t) => {
    for (const left of [2, 1, 0])
      t.match((await from('198.51.100.1')).headers.get('ratelimit'), `"default";r=${left};`)
    t.match(await from('198.51.100.1'), { status: 429, json: { code: 'quota-exceeded' } })
    t.equal((await from('198.51.100.1', '/health')).status, 200, 'a probe has no quota')
    const other = await from('198.51.100.2')
    t.equal(other.status, 200, 'another client of the proxy')
    t.equal(other.headers.get('access-control-allow-origin'), 'https://app.example')
  })
})

t.test('the demo serves a certificate of its own, over HTTP/2 and HTTP/1.1', async (t) => {
  const dev = await startDemo(t, { HTTPS: 'dev', ISSUER_URL: '' })
  t.match(dev.origin, /^https:\/\/127\.0\.0\.1:\d+$/)
  const untrusting = await fetch(`${dev.origin}/v1/terms`).catch((error: Error) => error.cause)
  t.match(untrusting, { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'nobody vouches for it')
  for (const allowH2 of [true, false]) {
    const dispatcher = new Agent({ allowH2, connect: { rejectUnauthorized: false } })
    t.teardown(() => dispatcher.close())
    const { status, headers } = await fetchThrough(`${dev.origin}/login`, { dispatcher, redirect: 'manual' })
    t.equal(status, 302)
    t.ok(headers.has('strict-transport-security'))
    t.equal(headers.has('connection'), !allowH2, 'HTTP/2 has no such field')
    t.match(headers.get('location'), `${dev.origin}/oauth/authorize?`, 'over TLS')
    const cookies = headers.getSetCookie()
    t.ok(cookies.length > 0 && cookies.every((field) => /; secure/i.test(field)))
  }
  t.equal(await endChild(dev.process, 'SIGTERM'), 0, 'an open HTTP/2 session does not keep it')
})
