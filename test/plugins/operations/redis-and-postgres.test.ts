// Own process: waits for Redis and PostgreSQL
/** The rows of the protocol on Redis and on PostgreSQL, in the process, through BullMQ and through pg-boss. */
import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { bullmqEngine } from '../../../src/plugins/operations/engines/bullmq.js'
import { pgBossEngine } from '../../../src/plugins/operations/engines/pg-boss.js'
import { inProcessEngine, type OperationStore } from '../../../src/plugins/operations/index.js'
import { postgresOperationStore } from '../../../src/stores/postgres.js'
import { redisOperationStore } from '../../../src/stores/redis.js'
import { obstacleToPostgres, startPostgres } from '../../support/postgres.js'
import { obstacleToRedis, startRedis } from '../../support/redis.js'
import { protocolRows } from './protocol-rows.js'

const obstacles = { redis: await obstacleToRedis(), postgres: await obstacleToPostgres() }
const skipOf = (obstacle: string | null) => (obstacle !== null && !process.env.CI ? obstacle : false)
const openEngine = () => inProcessEngine()
const ownName = () => `own${randomBytes(6).toString('hex')}`

t.test('on Redis', { skip: skipOf(obstacles.redis) }, async (t) => {
  const { url, stop } = await startRedis({})
  t.teardown(() => stop())
  const openStore = (t: Test): OperationStore => {
    const client = new Redis(url)
    t.teardown(() => client.disconnect())
    return redisOperationStore(client, { keyPrefix: ownName() })
  }
  await t.test('run in the process', async (t) => protocolRows(t, { openStore, openEngine }))
  await t.test('run by BullMQ', async (t) =>
    protocolRows(t, { openStore, openEngine: () => bullmqEngine({ redis: url, queue: ownName() }) }),
  )
  await t.test('run by BullMQ, over the connection of the records', async (t) => {
    const client = new Redis(url, { maxRetriesPerRequest: null })
    t.teardown(() => client.disconnect())
    await protocolRows(t, {
      openStore: () => redisOperationStore(client, { keyPrefix: ownName() }),
      openEngine: () => bullmqEngine({ redis: client, queue: ownName() }),
    })
  })
})

t.test('on PostgreSQL', { skip: skipOf(obstacles.postgres) }, async (t) => {
  const { url, stop } = await startPostgres()
  t.teardown(() => stop())
  const openStore = async (t: Test): Promise<OperationStore> => {
    const schema = ownName()
    const pool = new Pool({ connectionString: url, max: 4, options: `-c search_path=${schema}` })
    pool.on('error', () => {})
    t.teardown(() => pool.end())
    await pool.query(`CREATE SCHEMA ${schema}`)
    const store = postgresOperationStore(pool)
    await store.migrate()
    return store
  }
  await t.test('run in the process', async (t) => protocolRows(t, { openStore, openEngine }))
  await t.test('run by pg-boss', async (t) =>
    protocolRows(t, {
      openStore,
      openEngine: () => pgBossEngine({ postgres: url, queue: ownName(), migrate: true }),
    }),
  )
})
