/** The store of keys in PostgreSQL: a real server and two pools of connections to it, and PGlite. */
import { PGlite } from '@electric-sql/pglite'
import type { Pool, PoolConfig } from 'pg'
import t from 'tap'
import { postgresIdempotency } from '../../../../src/plugins/idempotency/stores/postgres.js'
import { idempotencyStoreContract } from '../../../../src/testing/idempotency-store-contract.js'
import { keepsContract } from '../../../support/contract.js'
import { poolOf, postgresOf, skipWithoutPostgres } from '../../../support/postgres.js'

const skip = await skipWithoutPostgres()

t.test('in PostgreSQL', { skip }, async (t) => {
  const { url } = await postgresOf(t)
  const connect = (config: PoolConfig = {}) => poolOf(t, url, { max: 4, ...config })
  const configs: PoolConfig[] = [{}, { options: '-c default_transaction_isolation=serializable' }]
  for (const config of configs) {
    const [one, other] = [connect(config), connect(config)]
    const contract = idempotencyStoreContract({
      async open() {
        await postgresIdempotency(one).migrate()
        return [postgresIdempotency(one), postgresIdempotency(other)]
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
    await keepsContract(t, contract, `${config.options ?? 'pools as pg makes them'}: `)
  }

  const pool = connect()

  await t.test('several processes migrate at once, and `check` says what to do without', async (t) => {
    const store = postgresIdempotency(pool)
    await pool.query('DROP TABLE fastify_conventions_idempotency')
    await t.rejects(async () => store.check(), /Run migrate\(\)/)
    await Promise.all(Array.from({ length: 4 }, () => store.migrate()))
    await store.check()
    const { rows } = await pool.query('SELECT FROM fastify_conventions_idempotency WHERE expires_at > now()')
    t.strictSame(rows, [], 'it leaves nothing that counts')
  })
})

t.test('in PGlite', async (t) => {
  const database = new PGlite()
  t.teardown(() => database.close())
  const store = postgresIdempotency(database)
  await store.migrate()
  await keepsContract(t, idempotencyStoreContract({ open: async () => [store, store] }))
  t.throws(() => postgresIdempotency({} as Pool), { code: 'FST_CONV_OPTION_INVALID' })
})
