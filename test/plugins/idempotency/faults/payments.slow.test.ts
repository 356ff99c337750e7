// Own process: it is slow
/** Payments with a key: pairs at once on two processes, and a server that is killed at random moments. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { postgresIdempotency } from '../../../../src/stores/postgres.js'
import { poolOf, postgresOf, skipWithoutPostgres } from '../../../support/postgres.js'
import { endProgram } from '../../../support/program.js'
import { redisOf, skipWithoutRedis } from '../../../support/redis.js'
import { type Paid, pay, startServer } from './payments.js'

const skip = (await skipWithoutPostgres()) || (await skipWithoutRedis())

t.test('payments', { skip, timeout: 600_000 }, async (t) => {
  const [postgres, redis] = await Promise.all([postgresOf(t), redisOf(t)])
  const pool = poolOf(t, postgres.url)
  await pool.query('CREATE TABLE payments (id bigserial PRIMARY KEY, key text NOT NULL)')
  await postgresIdempotency(pool).migrate()

  /** Returns how often the payment of each key was made. */
  async function timesOf(keys: readonly string[]): Promise<readonly number[]> {
    const { rows } = await pool.query(
      'SELECT key, count(*)::int AS times FROM payments WHERE key = ANY ($1) GROUP BY key',
      [keys],
    )
    const times = new Map(rows.map((row: { key: string; times: number }) => [row.key, row.times]))
    return keys.map((key) => times.get(key) ?? 0)
  }

  const stores = {
    Redis: { redis: redis.url, isTransactional: false, lease: '20 s' },
    PostgreSQL: { redis: null, isTransactional: true, lease: '20 s' },
  }
  for (const [name, setUp] of Object.entries(stores)) {
    await t.test(`${name}: 500 identical pairs at once on two processes have one effect each`, async (t) => {
      const start = () => startServer(t, { ...setUp, postgres: postgres.url })
      const servers = [await start(), await start()]
      const keys = Array.from({ length: 500 }, () => randomUUID())
      const pairs: (readonly Paid[])[] = []
      for (let from = 0; from < keys.length; from += 25) {
        const pair = (key: string) => Promise.all(servers.map((server) => pay(() => server, key)))
        pairs.push(...(await Promise.all(keys.slice(from, from + 25).map(pair))))
      }
      const concurrent = pairs.filter((pair) => pair.some(({ attempts }) => attempts > 1)).length
      for (const [one, other] of pairs) if (one?.body !== other?.body) t.fail('both get one answer')
      t.equal(pairs.flat().filter(({ isReplayed }) => isReplayed).length, 500, 'one of two is a replay')
      t.ok(concurrent > 100, `${concurrent} of 500 pairs met while the first one ran`)
      t.strictSame([...new Set(await timesOf(keys))], [1], 'each payment was made once')
    })
  }

  const ways = {
    'a transaction in PostgreSQL': { redis: null, isTransactional: true, lease: '1 s' },
    'a lease in Redis': { redis: redis.url, isTransactional: false, lease: '1 s' },
  }
  for (const [name, setUp] of Object.entries(ways)) {
    await t.test(`${name}: the server is killed at random moments during 300 payments`, async (t) => {
      const keys = Array.from({ length: 300 }, () => randomUUID())
      const { kills, paid, server } = await payWhileKilled(t, { ...setUp, postgres: postgres.url }, keys)
      const times = await timesOf(keys)
      const twice = times.filter((count) => count > 1).length
      t.comment(`${kills} kills; payments made twice: ${twice}`)
      t.ok(kills >= 3, `${kills} kills`)
      t.ok(paid.filter(({ attempts }) => attempts > 1).length > 0, 'some payments were interrupted')
      t.notOk(times.includes(0), 'no payment is lost')
      if (setUp.isTransactional) t.equal(twice, 0, 'no payment was made twice')
      for (const [index, key] of keys.entries()) {
        const again = await pay(() => server, key)
        if (again.body !== paid[index]?.body) t.fail(`another answer to ${key}: ${again.body}`)
      }
    })
  }
})

/** Sends payments with 10 clients, and kills the server again and again until all are answered. */
async function payWhileKilled(t: Test, setUp: Parameters<typeof startServer>[1], keys: readonly string[]) {
  let server = await startServer(t, setUp)
  let [kills, isDone] = [0, false]
  const paid: Paid[] = []
  const answered = () => Object.keys(paid).length
  const killing = (async () => {
    while (!isDone) {
      const before = answered()
      await pause(30 + Math.random() * 150)
      // On a busy machine, a server that is killed before it has answered anything never ends the test.
      while (!isDone && answered() < before + 5) await pause(10)
      if (isDone) return
      await endProgram(server.process)
      kills += 1
      server = await startServer(t, setUp)
    }
  })()
  const left = [...keys.entries()]
  const client = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop())
      paid[next[0]] = await pay(() => server, next[1])
  }
  await Promise.all(Array.from({ length: 10 }, client))
  isDone = true
  await killing
  return { kills, paid, server }
}
