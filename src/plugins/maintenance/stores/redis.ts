import { type Check, invalid, isObject, resolveOptions, text } from '../../../options.js'
import { type MaintenanceNotice, readNotice } from '../notice.js'
import type { MaintenanceStore } from './store.js'

/** The commands of a Redis client that the store uses; [ioredis](https://github.com/redis/ioredis) has them. */
export interface RedisMaintenanceClient {
  get(key: string): Promise<string | null>
  set(key: string, value: string): Promise<unknown>
  del(key: string): Promise<unknown>
}

/** Options of {@link redisMaintenanceStore}. */
export interface RedisMaintenanceStoreOptions {
  /**
   * The key of the notice; instances with the same key share it. A key prefix of the client is added in front.
   * @default 'fastify-conventions:maintenance'
   */
  readonly key?: string
}

/**
 * Returns a {@link MaintenanceStore} in Redis, for several instances of a service. One key has the notice as JSON,
 * `{ "version": 1, "notice": { "until": "…" } }`; without a notice there is no key.
 *
 * `get()` rejects if the key has any other value, so that the last known state stays in effect. The client decides how
 * long commands wait: with the defaults of ioredis, `enable()` waits until Redis is reachable. Set a `commandTimeout`. A
 * command that timed out may have reached Redis.
 *
 * For a single instance, use a file: it needs no server.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function redisMaintenanceStore(
  client: RedisMaintenanceClient,
  options: RedisMaintenanceStoreOptions = {},
): MaintenanceStore {
  const redis = clientWithCommands('redisMaintenanceStore: the client', client)
  const { key } = resolveOptions(
    'redisMaintenanceStore',
    options,
    { key: text() },
    { key: 'fastify-conventions:maintenance' },
  )
  return {
    async get() {
      const value = await redis.get(key)
      return value === null ? null : noticeIn(value, `the value of the Redis key '${key}'`)
    },
    async set(notice) {
      if (notice === null) await redis.del(key)
      else
        await redis.set(key, JSON.stringify({ version, notice: validNotice(notice, 'the notice to store') }))
    },
  }
}

const version = 1

const clientWithCommands: Check<RedisMaintenanceClient> = (label, received) =>
  isObject(received) && ['get', 'set', 'del'].every((name) => typeof received[name] === 'function')
    ? (received as unknown as RedisMaintenanceClient)
    : invalid(label, 'a client with get(), set() and del(), such as that of ioredis', received)

/** Returns the notice in the value of a key. @throws Error for any other value */
function noticeIn(value: string, label: string): MaintenanceNotice {
  let document: unknown
  try {
    document = JSON.parse(value)
  } catch {
    // A value that is not JSON is refused below.
  }
  if (!isObject(document)) throw new Error(`${label} is not a maintenance notice`)
  if (document.version !== version) {
    throw new Error(`${label} is not a maintenance notice of version ${version}`)
  }
  return validNotice(document.notice, label)
}

/** Returns a notice without faults. @throws Error for any other value, when it is read and when it is written */
function validNotice(value: unknown, label: string): MaintenanceNotice {
  const { notice, fault } = readNotice(value)
  if (fault !== null) throw new Error(`${label} is not a maintenance notice: ${fault}`)
  return notice
}
