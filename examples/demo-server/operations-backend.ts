import { randomUUID } from 'node:crypto'
import type { OperationsOptions } from 'fastify-conventions'
import { bullmqEngine } from 'fastify-conventions/engines/bullmq'
import { pgBossEngine } from 'fastify-conventions/engines/pg-boss'
import { postgresOperationStore } from 'fastify-conventions/stores/postgres'
import { redisOperationStore } from 'fastify-conventions/stores/redis'
import type { Redis } from 'ioredis'
import pg from 'pg'
import { complain } from './complain.js'
import { databaseTimeouts } from './database-server.js'
import type { Settings } from './settings.js'

export interface OperationsBackend {
  readonly options: Pick<OperationsOptions, 'store' | 'engine'>
  close(): Promise<void>
}

/**
 * Opens what the settings name: this process alone, Redis with BullMQ, or PostgreSQL with pg-boss.
 *
 * @param redis the client of the service, where there is one
 */
export async function openOperations(
  { operations, work, redisUrl, databaseUrl }: Settings,
  redis: Redis | null,
): Promise<OperationsBackend> {
  if (operations === 'redis' && redis !== null && redisUrl !== null) {
    // Who runs an operation has to see its data.
    const name = databaseUrl === null ? `operations-${randomUUID()}` : 'operations'
    const store = redisOperationStore(redis, { keyPrefix: `demo:${name}` })
    // Who works waits for its next job, where requests must not wait: it has connections of its own.
    const engine = bullmqEngine({ redis: work ? redisUrl : redis, queue: name, work })
    return { options: { store, engine }, close: async () => {} }
  }
  if (operations === 'postgres' && databaseUrl !== null) {
    const pool = new pg.Pool({ connectionString: databaseUrl, ...databaseTimeouts })
    pool.on('error', complain)
    const store = postgresOperationStore(pool)
    try {
      await store.migrate()
    } catch (error) {
      await pool.end()
      throw error
    }
    const engine = pgBossEngine({ postgres: pool, migrate: true, work })
    return { options: { store, engine }, close: () => pool.end() }
  }
  return { options: {}, close: async () => {} }
}
