/** The caller that a request counts for, and how long a looked-up `max` is waited for and kept. */
import Fastify from 'fastify'
import t from 'tap'
import { callers, limitsOf } from '../../../src/plugins/rate-limit/caller.js'
import type { RateLimitMax } from '../../../src/plugins/rate-limit/options.js'
import { manualClock } from '../../support/manual-clock.js'

const ip = '203.0.113.7'

t.test('a key of up to 64 characters is kept, and a longer one becomes a digest', async (t) => {
  const callerOf = (key: string) =>
    callers(
      () => key,
      (ip) => ip,
    )({ ip } as never)
  t.strictSame(callerOf('k'.repeat(64)), { key: `key:${'k'.repeat(64)}`, id: 'k'.repeat(64) })
  t.match(callerOf('k'.repeat(65)), { key: /^key:[\w-]{43}$/, id: 'k'.repeat(65) })
  t.notSame(callerOf(`${'k'.repeat(65)}a`), callerOf(`${'k'.repeat(65)}b`))
})

t.test('an invented address has a bounded key, and is never equal to another kind', async (t) => {
  const callerOf = callers(undefined, (ip) => ip)
  const keyOf = async (address: string | undefined) =>
    (await callerOf({ ip: address, server: Fastify() } as never))?.key
  t.equal(await keyOf('key:admin'), 'address:key:admin')
  t.equal(await keyOf('subject:admin'), 'address:subject:admin')
  t.match(await keyOf('1'.repeat(10_000)), /^address:[\w-]{43}$/)
  t.equal(await keyOf(undefined), 'address:unix')
})

function setUp(max: RateLimitMax) {
  const clock = manualClock('2026-11-20T08:00:00Z')
  const limits = limitsOf([{ name: 'default', max, timeWindow: 60_000 }], clock.now, clock.schedule)
  return { clock, limits: async (id: string) => limits({} as never, { key: `key:${id}`, id }) }
}

t.test('a max that does not come within half a second is a failure, and is looked up again', async (t) => {
  let calls = 0
  const { clock, limits } = setUp(() => {
    calls += 1
    return calls === 1 ? new Promise(() => {}) : Promise.resolve(5)
  })
  const first = limits('ann')
  const second = limits('ann')
  t.equal(calls, 1, 'both wait for one result')
  const failures = [t.rejects(first, { message: /did not come within 500 ms/ }), t.rejects(second)]
  await clock.advance(500)
  await Promise.all(failures)
  t.match(await limits('ann'), { policy: '"default";q=5;w=60' })
  t.equal(calls, 2)
  t.equal(clock.waiting(), 0)
})

t.test('a result is kept for a minute, also if the clock is set back', async (t) => {
  let max = 0
  const { clock, limits } = setUp(() => ++max)
  const maxOf = async () => (await limits('ann')).list[0]?.max
  t.equal(await maxOf(), 1)
  clock.skip(59_999)
  t.equal(await maxOf(), 1)
  clock.skip(1)
  t.equal(await maxOf(), 2)
  clock.skip(-3_600_000)
  t.equal(await maxOf(), 3)
})
