import fc from 'fast-check'
import t from 'tap'
import { Quota, quotaProblem, sfString, wholeSeconds } from '../../../src/plugins/rate-limit/quota.js'

const state = (used: number, ttl: number) => ({ used, ttl, end: 0 })

t.test('the fields are written as in the draft', async (t) => {
  const quota = new Quota({ name: 'default', max: 1000, timeWindow: 60_000 })
  t.equal(quota.policy, '"default";q=1000;w=60')
  t.equal(quota.state(state(1, 59_001)), '"default";r=999;t=60')
  t.equal(quota.state(state(1001, 1000)), '"default";r=0;t=1', 'after its max was lowered')
})

t.test('the quota whose window ends last decides when a refused request is sent again', async (t) => {
  const quotas = [
    new Quota({ name: 'burst', max: 10, timeWindow: 1000 }),
    new Quota({ name: 'hourly', max: 100, timeWindow: 3_600_000 }),
    new Quota({ name: 'daily', max: 1000, timeWindow: 86_400_000 }),
  ]
  const fields = { 'ratelimit-policy': 'p', ratelimit: 's' }
  const of = (used: readonly [number, number, number], cost = 1) =>
    quotaProblem(
      quotas,
      [state(used[0], 700), state(used[1], 90_001), state(used[2], 80_000_000)],
      cost,
      fields,
      'v',
    )
  t.match(of([10, 100, 999]), {
    message: 'There were more than 100 requests in 3600 seconds; try again in 91',
    headers: { ...fields, 'retry-after': '91', 'cache-control': 'no-store' },
    extensions: { v: ['burst', 'hourly'] },
  })
  t.match(of([10, 5, 5]), { headers: { 'retry-after': '1' }, extensions: { v: ['burst'] } })
  t.match(of([1, 98, 5], 5), {
    message: 'The request costs 5, and 2 of 100 in 3600 seconds are left; try again in 91',
    extensions: { v: ['hourly'] },
  })
  t.match(
    of([1, 1, 1]),
    { extensions: { v: ['burst', 'hourly', 'daily'] } },
    'a store refuses for a reason of its own',
  )
})

t.test('any name is written as a string of RFC 9651', async (t) => {
  t.equal(sfString('POST /v1/orders/:id/retry'), '"POST /v1/orders/:id/retry"')
  t.equal(sfString('a "quoted" \\ one'), '"a \\"quoted\\" \\\\ one"')
  t.equal(sfString('/v1/bücher'), '"/v1/b%C3%BCcher"')
  t.equal(sfString('/v1/😀'), '"/v1/%F0%9F%98%80"')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => /^"(?:[ !#-[\]-~]|\\["\\])*"$/.test(sfString(name))),
  )
})

t.test('seconds are rounded up, so that no client retries too early', async (t) => {
  t.equal(wholeSeconds(60_000), 60)
  t.equal(wholeSeconds(59_001), 60)
  t.equal(wholeSeconds(1), 1)
  t.equal(wholeSeconds(0), 0)
  t.equal(wholeSeconds(-1, 1), 1)
  t.ok(Object.is(wholeSeconds(-1), 0), 'and never below zero')
})
