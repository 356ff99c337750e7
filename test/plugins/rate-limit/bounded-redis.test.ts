/** A Redis that fails, or does not answer, does not delay requests for longer than half a second. */
import { setImmediate as flush } from 'node:timers/promises'
import t from 'tap'
import { boundedRedis, patience } from '../../../src/plugins/rate-limit/bounded-redis.js'
import { manualClock } from '../../support/manual-clock.js'

type Done = (error: unknown, result?: unknown) => void
type Run = (key: string, done: Done) => void

/** A client that keeps what is asked of it, for the test to answer. */
function heldRedis() {
  const asked: Done[] = []
  const client = {
    defined: 0,
    defineCommand(name: string) {
      client.defined += 1
      Object.assign(client, { [name]: (_key: string, done: Done) => void asked.push(done) })
    },
  }
  return { client, asked }
}

function setUp() {
  const clock = manualClock('2026-11-20T08:00:00Z')
  const { client, asked } = heldRedis()
  const bounded = boundedRedis(client, clock.schedule)
  bounded.defineCommand('count', { lua: 'return 1' })
  const outcomes: unknown[] = []
  const run = (bounded as unknown as { count: Run }).count
  const count = () =>
    run('key', (error, result) => outcomes.push(error === null ? result : (error as Error).cause))
  return { clock, client, asked, outcomes, count }
}

t.test('a reply in time is returned, and no timer is left', async (t) => {
  const { clock, asked, outcomes, count } = setUp()
  count()
  await clock.advance(patience - 1)
  asked[0]?.(null, [1, 60_000])
  await flush()
  t.strictSame(outcomes, [[1, 60_000]])
  t.equal(clock.waiting(), 0)
})

t.test('a call without a reply in time fails once, whatever comes later', async (t) => {
  const { clock, asked, outcomes, count } = setUp()
  count()
  await clock.advance(patience)
  asked[0]?.(null, [1, 60_000])
  asked[0]?.(new Error('closed'))
  await flush()
  t.equal(outcomes.length, 1)
  t.match(outcomes[0], { message: 'an answer of Redis did not come within 500 ms' })
})

t.test('after a failure one call tries again, and the others fail until it has a reply', async (t) => {
  const { clock, asked, outcomes, count } = setUp()
  count()
  asked[0]?.(new Error('closed'))
  await flush()
  for (let calls = 0; calls < 100; calls += 1) count()
  await flush()
  t.equal(asked.length, 2, 'one asks')
  t.equal(outcomes.length, 100, 'the others have failed')
  await clock.advance(patience)
  await flush()
  t.equal(outcomes.length, 101)
  count()
  count()
  t.equal(asked.length, 3, 'the next one asks')
  asked[2]?.(null, [1, 60_000])
  await flush()
  count()
  count()
  t.equal(asked.length, 5, 'and once it is answered, all do')
})

t.test(
  'calls before the first failure all run, and do not end the wait of the one that tries again',
  async (t) => {
    const { asked, count } = setUp()
    count()
    count()
    t.equal(asked.length, 2, 'both run')
    asked[0]?.(new Error('closed'))
    await flush()
    count()
    t.equal(asked.length, 3, 'one tries again')
    asked[1]?.(new Error('closed'))
    await flush()
    count()
    await flush()
    t.equal(asked.length, 3, 'it still waits')
  },
)

t.test('each failure is the problem quota-unavailable, with its cause', async (t) => {
  const { client } = heldRedis()
  const bounded = boundedRedis(client, manualClock('2026-11-20T08:00:00Z').schedule)
  bounded.defineCommand('count', { lua: 'return 1' })
  Object.assign(client, {
    count: () => {
      throw new Error('thrown')
    },
  })
  const run = (bounded as unknown as { count: Run }).count
  const problem = await new Promise((resolve) => run('key', resolve))
  t.match(problem, {
    code: 'quota-unavailable',
    statusCode: 503,
    headers: { 'retry-after': /^[1-9]\d*$/, 'cache-control': 'no-store' },
    cause: { message: 'thrown' },
  })
})

t.test('a script that the client has defined is not defined again', async (t) => {
  const { client } = setUp()
  boundedRedis(client, manualClock('2026-11-20T08:00:00Z').schedule).defineCommand('count', { lua: '' })
  t.equal(client.defined, 1)
})
