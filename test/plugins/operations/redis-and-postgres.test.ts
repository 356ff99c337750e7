// Own process: waits for Redis and PostgreSQL
/** The rows of the protocol on Redis and on PostgreSQL, in the process, through BullMQ and through pg-boss. */
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { bullmqEngine } from '../../../src/plugins/operations/engines/bullmq.js'
import { pgBossEngine } from '../../../src/plugins/operations/engines/pg-boss.js'
import { inProcessEngine, type OperationStore } from '../../../src/plugins/operations/index.js'
import { postgresOperationStore } from '../../../src/stores/postgres.js'
import { redisOperationStore } from '../../../src/stores/redis.js'
import { poolOf, postgresOf, skipWithoutPostgres } from '../../support/postgres.js'
import { redisClient, redisOf, skipWithoutRedis } from '../../support/redis.js'
import { protocolRows } from './protocol-rows.js'

const openEngine = () => inProcessEngine()
const ownName = () => `own${randomBytes(6).toString('hex')}`

t.test('on Redis', { skip: await skipWithoutRedis() }, async (t) => {
  const { url } = await redisOf(t)
  const openStore = (t: Test): OperationStore =>
    redisOperationStore(redisClient(t, url), { keyPrefix: ownName() })
  await t.test('run in the process', async (t) => protocolRows(t, { openStore, openEngine }))
  await t.test('run by BullMQ', async (t) =>
    protocolRows(t, { openStore, openEngine: () => bullmqEngine({ redis: url, queue: ownName() }) }),
  )
  await t.test('run by BullMQ, over the connection of the records', async (t) => {
    const client = redisClient(t, url, { maxRetriesPerRequest: null })
    await protocolRows(t, {
      openStore: () => redisOperationStore(client, { keyPrefix: ownName() }),
      openEngine: () => bullmqEngine({ redis: client, queue: ownName() }),
    })
  })
})

t.test('on PostgreSQL', { skip: await skipWithoutPostgres() }, async (t) => {
  const { url } = await postgresOf(t)
  const openStore = async (t: Test): Promise<OperationStore> => {
    const schema = ownName()
    const pool = poolOf(t, url, { max: 4, options: `-c search_path=${schema}` })
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
