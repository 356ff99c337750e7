// Own process: starts a process, and waits for it
/** Settings that a demo of its own process keeps: maintenance, quotas, proxies and origins. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
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
  const from = (address: string) =>
    caller.call('GET', '/v1/terms', {
      headers: { 'x-forwarded-for': address, origin: 'https://app.example' },
    })
  const anyClient = () => from(`192.0.2.${++clients}`)

  await t.test('while the file exists, requests are refused', async (t) => {
    const { status, headers, json } = await from('192.0.2.1')
    t.match({ status, json }, { status: 503, json: { code: 'maintenance', detail: 'The move' } })
    t.ok(Number(headers.get('retry-after')) > 500)
    await rm(file)
    await until(anyClient, ({ status }) => status === 200)
  })

  await t.test('requests beyond the quota of a client are a 429', async (t) => {
    for (const left of [2, 1, 0])
      t.match((await from('198.51.100.1')).headers.get('ratelimit'), `"default";r=${left};`)
    t.match(await from('198.51.100.1'), { status: 429, json: { code: 'quota-exceeded' } })
    const other = await from('198.51.100.2')
    t.equal(other.status, 200, 'another client of the proxy')
    t.equal(other.headers.get('access-control-allow-origin'), 'https://app.example')
  })
})
