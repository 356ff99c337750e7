// Own process: starts a process, and waits for it
/** Settings that a demo of its own process keeps: maintenance, quotas, proxies and origins. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { isProblem } from '../support/problem.js'
import { until } from '../support/until.js'
import { callerOf } from './client.js'
import { startDemo } from './run-demo.js'

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
  const from = (address: string, target = '/v1/terms', method = 'GET') =>
    caller.call(method, target, { headers: { 'x-forwarded-for': address, origin: 'https://app.example' } })
  const anyClient = () => from(`192.0.2.${++clients}`)

  await t.test('while the file exists, all requests are refused', async (t) => {
    for (const [method, target] of [
      ['GET', '/v1/terms'],
      ['DELETE', '/v1/users/1'],
      ['GET', '/v1/users/%zz'],
      ['GET', '/openapi.json'],
    ] as const) {
      const { status, headers, text, json } = await from('192.0.2.1', target, method)
      isProblem(t, { status, headers, body: text }, { status: 503, code: 'maintenance' }, target)
      t.equal(json.detail, 'The move')
      t.ok(Number(headers.get('retry-after')) > 500)
    }
    await rm(file)
    await until(anyClient, ({ status }) => status === 200)
    await writeFile(file, '')
    const { headers } = await until(anyClient, ({ status }) => status === 503)
    t.equal(headers.get('retry-after'), '60', 'an empty file says no end')
    await rm(file)
    await until(anyClient, ({ status }) => status === 200)
  })

  await t.test('requests beyond the quota of a client are a 429, whatever the resource', async (t) => {
    const first = await from('198.51.100.1')
    t.equal(first.headers.get('ratelimit-policy'), '"default";q=3;w=60')
    t.match(first.headers.get('ratelimit'), /^"default";r=2;t=\d+$/)
    t.equal((await from('198.51.100.1', '/nowhere')).status, 404)
    t.equal((await from('198.51.100.1', '/v1/users/1', 'DELETE')).status, 401)
    for (const target of ['/v1/users?limit=1', '/nowhere', '/openapi.json']) {
      const { status, headers, text } = await from('198.51.100.1', target)
      isProblem(t, { status, headers, body: text }, { status: 429, code: 'quota-exceeded' }, target)
      t.match(headers.get('retry-after'), /^([1-9]|[1-5]\d|60)$/)
    }
    const other = await from('198.51.100.2')
    t.equal(other.status, 200, 'another client of the proxy')
    t.equal(other.headers.get('access-control-allow-origin'), 'https://app.example')
  })
})
