/** `RATE_LIMIT_MAX` of the demo: requests per minute and caller. */
import t from 'tap'
import { isProblem } from '../support/problem.js'
import { callerOf } from './client.js'
import { startDemo } from './run-demo.js'

t.test('requests beyond the quota are a 429 with Retry-After, whatever the resource', async (t) => {
  const { origin } = await startDemo(t, { RATE_LIMIT_MAX: '3' })
  const caller = callerOf(origin, { token: null })
  const first = await caller.get('/v1/terms')
  t.equal(first.status, 200)
  t.equal(first.headers.get('ratelimit-policy'), '"default";q=3;w=60')
  t.match(first.headers.get('ratelimit'), /^"default";r=2;t=\d+$/)
  t.equal((await caller.get('/nowhere')).status, 404)
  t.equal((await caller.delete('/v1/users/1')).status, 401)

  for (const target of ['/v1/users?limit=1', '/nowhere', '/openapi.json']) {
    const { status, headers, text } = await caller.get(target)
    isProblem(t, { status, headers, body: text }, { status: 429, code: 'quota-exceeded' }, target)
    const seconds = Number(headers.get('retry-after'))
    t.ok(seconds >= 1 && seconds <= 60, `seconds to wait: ${seconds}`)
  }
})

t.test('behind a proxy of TRUST_PROXY, each client has a quota of its own', async (t) => {
  const { origin } = await startDemo(t, { RATE_LIMIT_MAX: '1', TRUST_PROXY: '127.0.0.1' })
  const caller = callerOf(origin, { token: null })
  const statusFor = async (address: string) =>
    (await caller.call('GET', '/v1/terms', { headers: { 'x-forwarded-for': address } })).status
  t.strictSame(await statusFor('192.0.2.1'), 200)
  t.strictSame(await statusFor('192.0.2.2'), 200, 'another client')
  t.strictSame(await statusFor('192.0.2.1'), 429)
})
