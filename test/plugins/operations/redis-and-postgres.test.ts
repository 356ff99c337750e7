// Own process: waits for Redis and PostgreSQL
/** The rows of the protocol on Redis through BullMQ, and on PostgreSQL through pg-boss. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { bullmqEngine } from '../../../src/plugins/operations/engines/bullmq.js'
import { pgBossEngine } from '../../../src/plugins/operations/engines/pg-boss.js'
import { postgresOperationStore } from '../../../src/stores/postgres.js'
import { redisOperationStore } from '../../../src/stores/redis.js'
import { poolOf, postgresOf, skipWithoutPostgres } from '../../support/postgres.js'
import { redisClient, redisOf, skipWithoutRedis } from '../../support/redis.js'
import { protocolRows } from './protocol-rows.js'

const ownName = () => `own${randomBytes(6).toString('hex')}`

t.test('on Redis, run by BullMQ', { skip: await skipWithoutRedis() }, async (t) => {
  const { url } = await redisOf(t)
  protocolRows(t, {
    openStore: (t) => redisOperationStore(redisClient(t, url), { keyPrefix: ownName() }),
    openEngine: () => bullmqEngine({ redis: url, queue: ownName() }),
  })
})

t.test('on PostgreSQL, run by pg-boss', { skip: await skipWithoutPostgres() }, async (t) => {
  const { url } = await postgresOf(t)
  protocolRows(t, {
    async openStore(t) {
      const schema = ownName()
      const pool = poolOf(t, url, { max: 4, options: `-c search_path=${schema}` })
      await pool.query(`CREATE SCHEMA ${schema}`)
      const store = postgresOperationStore(pool)
      await store.migrate()
      return store
    },
    openEngine: () => pgBossEngine({ postgres: url, queue: ownName(), migrate: true }),
  })
})
