import { type Check, type Checks, invalid, isObject, resolveOptions, text } from '../../../options.js'
import { type MaintenanceNotice, readNotice } from '../notice.js'
import type { MaintenanceStore } from './store.js'

/** What the store needs of a Redis client; [ioredis](https://github.com/redis/ioredis) has it. */
export interface RedisMaintenanceClient {
  get(key: string): Promise<string | null>
  set(key: string, value: string): Promise<unknown>
  del(key: string): Promise<unknown>
}

/** Options of {@link redisMaintenanceStore}. */
export interface RedisMaintenanceStoreOptions {
  /**
   * The key that holds the notice; instances with the same key share it. A prefix that the client sets comes before it.
   * @default 'fastify-conventions:maintenance'
   */
  readonly key?: string
}

/**
 * A {@link MaintenanceStore} in Redis, for several instances of a service. One key holds the notice as JSON,
 * `{ "version": 1, "notice": { "until": "…" } }`, and there is no key while there is none.
 *
 * `get()` rejects where the key holds something else, so that an instance goes on with what it knows. The client says how
 * long it waits: with the defaults of ioredis an `enable()` waits as long as Redis is away. Give it a `commandTimeout`.
 * A command that was given up may have reached Redis all the same.
 *
 * Not for one instance alone: a file does there without a server.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function redisMaintenanceStore(
  client: RedisMaintenanceClient,
  options: RedisMaintenanceStoreOptions = {},
): MaintenanceStore {
  const redis = clientWithCommands('redisMaintenanceStore: the client', client)
  const { key } = resolveOptions('redisMaintenanceStore', options, optionChecks, optionDefaults)
  return {
    async get() {
      const value = await redis.get(key)
      return value === null ? null : noticeIn(value, `what the Redis key '${key}' holds`)
    },
    async set(notice) {
      if (notice === null) await redis.del(key)
      else await redis.set(key, JSON.stringify({ version, notice: usable(notice, 'the notice to store') }))
    },
  }
}

const version = 1

const optionChecks: Checks<RedisMaintenanceStoreOptions> = { key: text() }

const optionDefaults: Required<RedisMaintenanceStoreOptions> = Object.freeze({
  key: 'fastify-conventions:maintenance',
})

const clientWithCommands: Check<RedisMaintenanceClient> = (label, received) =>
  isObject(received) && ['get', 'set', 'del'].every((name) => typeof received[name] === 'function')
    ? (received as unknown as RedisMaintenanceClient)
    : invalid(label, 'a client with get(), set() and del(), such as that of ioredis', received)

function noticeIn(value: string, label: string): MaintenanceNotice {
  const document = parsed(value)
  if (!isObject(document)) throw new Error(`${label} is no maintenance notice`)
  if (document.version !== version) {
    throw new Error(`${label} is no maintenance notice of version ${version}`)
  }
  return usable(document.notice, label)
}

/** One that readers would refuse is neither read nor written. */
function usable(value: unknown, label: string): MaintenanceNotice {
  const { notice, fault } = readNotice(value)
  if (fault !== null) throw new Error(`${label} is no maintenance notice: ${fault}`)
  return notice
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}
