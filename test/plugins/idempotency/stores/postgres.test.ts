/** The store of keys in PostgreSQL: a real server and two pools of connections to it, and PGlite. */
import { PGlite } from '@electric-sql/pglite'
import { Pool, type PoolConfig } from 'pg'
import t, { type Test } from 'tap'
import { postgresIdempotency } from '../../../../src/plugins/idempotency/stores/postgres.js'
import { idempotencyStoreContract } from '../../../../src/testing/idempotency-store-contract.js'
import { obstacleToPostgres, startPostgres } from '../../../support/postgres.js'

const obstacle = await obstacleToPostgres()
const skip = obstacle !== null && !process.env.CI ? obstacle : false
const claim = { key: 'a', token: 'token', fingerprint: 'f' }

t.test('in PostgreSQL', { skip }, async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.stop())
  const connect = (config: PoolConfig = {}): Pool => {
    const pool = new Pool({ connectionString: postgres.url, max: 4, ...config })
    pool.on('error', () => {})
    t.teardown(() => pool.end())
    return pool
  }

  const pools = {
    'as pg makes them': {},
    'with serializable transactions': { options: '-c default_transaction_isolation=serializable' },
  } satisfies Readonly<Record<string, PoolConfig>>
  for (const [which, config] of Object.entries(pools)) {
    const [one, other] = [connect(config), connect(config)]
    const contract = idempotencyStoreContract({
      async open() {
        const stores = [postgresIdempotency(one), postgresIdempotency(other)] as const
        await stores[0].migrate()
        return stores
      },
      async transaction() {
        const connection = await one.connect()
        await connection.query('BEGIN')
        const end = async (how: 'COMMIT' | 'ROLLBACK') => {
          await connection.query(how)
          connection.release()
        }
        return { connection, end }
      },
    })
    for (const { name, run } of contract) {
      await t.test(`pools ${which}: ${name}`, async (t) => {
        await run()
        t.pass(name)
      })
    }
  }

  const pool = connect()

  await t.test('several processes migrate at the same time, also into a schema', async (t) => {
    await pool.query('CREATE SCHEMA app')
    const stores = Array.from({ length: 4 }, () => postgresIdempotency(pool, { table: 'app.Keys' }))
    await Promise.all(stores.map((store) => store.migrate()))
    await stores[0]?.check()
    t.equal(await stores[0]?.claim(claim, 1_000), null)
  })

  await t.test('`check` says what to do about a table that is missing', async (t) => {
    await t.rejects(async () => postgresIdempotency(pool, { table: 'missing' }).check(), /Run migrate\(\)/)
  })

  await t.test('`check` leaves nothing behind that counts', async (t) => {
    const store = postgresIdempotency(pool, { table: 'checked' })
    await store.migrate()
    await store.check()
    t.strictSame((await pool.query('SELECT key FROM checked WHERE expires_at > now()')).rows, [])
  })
})

t.test('in PGlite', async (t: Test) => {
  const database = new PGlite()
  t.teardown(() => database.close())
  const store = postgresIdempotency(database)
  await store.migrate()
  for (const { name, run } of idempotencyStoreContract({ open: async () => [store, store] })) {
    await t.test(name, async (t) => {
      await run()
      t.pass(name)
    })
  }

  await t.test('an answer belongs to the transaction', async (t) => {
    await store.claim(claim, 60_000)
    const rolledBack = database.transaction(async (transaction) => {
      t.equal(await store.within(transaction).complete(claim, 'kept', 60_000), true)
      throw new Error('undone')
    })
    await t.rejects(rolledBack, /undone/)
    t.equal((await store.claim(claim, 60_000))?.answer, null)
    await database.transaction((transaction) => store.within(transaction).complete(claim, 'kept', 60_000))
    t.equal((await store.claim(claim, 60_000))?.answer, 'kept')
  })
})

t.test('bad options throw', async (t) => {
  t.throws(() => postgresIdempotency({} as Pool), { code: 'FST_CONV_OPTION_INVALID' })
  t.throws(() => postgresIdempotency(new Pool(), { table: 'x; drop' }), { code: 'FST_CONV_OPTION_INVALID' })
})
