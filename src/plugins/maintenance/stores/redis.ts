import { isObject, objectWith } from '../../../options.js'
import type { MaintenanceNotice, MaintenanceStore } from '../notice.js'

/** The commands of a Redis client that the store uses; [ioredis](https://github.com/redis/ioredis) has them. */
export interface RedisMaintenanceClient {
  get(key: string): Promise<string | null>
  set(key: string, value: string): Promise<unknown>
  del(key: string): Promise<unknown>
}

/**
 * Returns a {@link MaintenanceStore} in Redis, for several instances of a service. One key has the notice as JSON,
 * `{ "version": 1, "notice": { "until": "…" } }`; without a notice there is no key. Services that share a Redis need a
 * `keyPrefix` of ioredis each.
 *
 * `get()` rejects if the key has any other value, so that the last known state stays in effect. The client decides how
 * long commands wait: with the defaults of ioredis, `enable()` waits until Redis is reachable. Set a `commandTimeout`. A
 * command that timed out may have reached Redis.
 *
 * For a single instance, use a file: it needs no server.
 *
 * @throws FST_CONV_OPTION_INVALID
 */
export function redisMaintenanceStore(client: RedisMaintenanceClient): MaintenanceStore {
  clientWithCommands('redisMaintenanceStore: the client', client)
  return {
    async get() {
      const value = await client.get(key)
      return value === null ? null : noticeIn(value)
    },
    async set(notice) {
      if (notice === null) await client.del(key)
      else await client.set(key, JSON.stringify({ version: 1, notice }))
    },
  }
}

const clientWithCommands = objectWith<RedisMaintenanceClient>(
  'a client with get(), set() and del(), such as that of ioredis',
  ['get', 'set', 'del'],
)

const key = 'fastify-conventions:maintenance'

function noticeIn(value: string): MaintenanceNotice {
  let document: unknown
  try {
    document = JSON.parse(value)
  } catch {
    // A value that is not JSON is refused below.
  }
  if (!isObject(document) || document.version !== 1 || !isObject(document.notice)) {
    throw new Error(`the value of the Redis key '${key}' is not a maintenance notice of version 1`)
  }
  return document.notice
}
