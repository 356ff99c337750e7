import fc from 'fast-check'
import t from 'tap'
import { limitsWith, quotaFields, quotaProblem, sfString } from '../../../src/plugins/rate-limit/counter.js'

const quota = (name: string, max: number, timeWindow: number) => ({ name, max, timeWindow })

/** The policy of quotas, and their states as what is used of them. */
function stateOf(
  quotas: readonly ReturnType<typeof quota>[],
  ...used: readonly (readonly [used: number, ttl: number, isExceeded?: boolean | undefined])[]
) {
  const { list, policy } = limitsWith(
    quotas,
    quotas.map(({ max }) => max),
  )
  const states = list.flatMap((limit, index) => {
    const [count = 0, ttl = 0, isExceeded = false] = used[index] ?? []
    return [{ limit, used: count, ttl, isExceeded }]
  })
  return [policy, states] as const
}

t.test('the quota whose window ends last decides when a refused request is sent again', async (t) => {
  const quotas = [quota('burst', 10, 1000), quota('hourly', 100, 3_600_000), quota('daily', 1000, 86_400_000)]
  const of = (...exceeded: readonly boolean[]) =>
    quotaProblem(
      ...stateOf(quotas, [10, 700, exceeded[0]], [100, 90_001, exceeded[1]], [999, 80_000_000, exceeded[2]]),
      'v',
    )
  t.match(of(true, true), {
    message: 'There were more than 100 requests in 3600 seconds; try again in 91 seconds',
    headers: {
      'ratelimit-policy': '"burst";q=10;w=1, "hourly";q=100;w=3600, "daily";q=1000;w=86400',
      ratelimit: '"burst";r=0;t=1, "hourly";r=0;t=91, "daily";r=1;t=80000',
      'retry-after': '91',
      'cache-control': 'no-store',
    },
    extensions: { v: ['burst', 'hourly'] },
  })
  t.match(of(true), { headers: { 'retry-after': '1' }, extensions: { v: ['burst'] } })
  const reversed = stateOf(
    [quota('hourly', 9, 3_600_000), quota('burst', 1, 1000)],
    [9, 9001, true],
    [1, 7, true],
  )
  t.match(quotaProblem(...reversed, 'v'), { headers: { 'retry-after': '10' } }, 'in any order')
})

t.test('Retry-After is at least a second, and what is left at least none', async (t) => {
  const quotas = [quota('default', 1, 60_000)]
  t.match(quotaProblem(...stateOf(quotas, [1, 0, true]), 'v'), {
    message: 'There were more than 1 request in 60 seconds; try again in 1 second',
    headers: { 'retry-after': '1', ratelimit: '"default";r=0;t=0' },
  })
  const [policy, states] = stateOf(quotas, [1001, 1000])
  t.equal(quotaFields(policy, states).ratelimit, '"default";r=0;t=1', 'after its max was lowered')
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
