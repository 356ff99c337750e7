import type { ConnectionOptions, PostgresPoolConfig } from 'bullmq'
import {
  type Check,
  type Checks,
  flag,
  integer,
  invalid,
  isObject,
  resolveOptions,
  text,
} from '../../../../options.js'

/** Options of {@link bullmqEngine} for all queues. */
export interface BullmqQueueOptions {
  /**
   * Name of the queue; engines with the same name, on the same server, share the work. On a Redis Cluster the name needs
   * braces: `'{operations}'`.
   * @default 'operations'
   */
  readonly queue?: string
  /**
   * Whether this process runs operations. If not, it only adds them to the queue, and another process has to run them.
   * @default true
   */
  readonly work?: boolean
  /**
   * Maximum number of operations that this process runs at the same time.
   * @default 10
   */
  readonly concurrency?: number
  /**
   * Maximum number of waiting operations of all processes; a start beyond it gets a 503. They are counted about once a
   * second, so several processes can exceed it by the operations that they start within a second.
   * @default 100_000
   */
  readonly maxQueued?: number
}

/** Options of {@link bullmqEngine} for a queue in Redis. */
export interface BullmqOnRedisOptions extends BullmqQueueOptions {
  /**
   * A URL, options of [ioredis](https://github.com/redis/ioredis), or a client of it. A client stays open when
   * the engine closes; in a process that runs operations it needs `maxRetriesPerRequest: null`.
   */
  readonly redis: string | ConnectionOptions
  readonly postgres?: never
  readonly migrate?: never
}

/** A pool of [pg](https://node-postgres.com). */
export interface BullmqPostgresPool {
  connect(): Promise<unknown>
  end(): Promise<void>
}

/** The address of a queue in PostgreSQL. */
export type PostgresAddress =
  | string
  | (PostgresPoolConfig & { readonly migrate?: never; readonly skipMigrations?: never })
  | BullmqPostgresPool

/** Options of {@link bullmqEngine} for a queue in PostgreSQL. */
export interface BullmqOnPostgresOptions extends BullmqQueueOptions {
  /**
   * A URL, options of a [pg](https://node-postgres.com) pool (and `schema`, by default `'bullmq'`), or a pool. A pool
   * stays open when the engine closes; it needs `options: '-c search_path=bullmq'`, and room for two
   * connections in a process that runs operations.
   */
  readonly postgres: PostgresAddress
  /**
   * Whether to create or update BullMQ's schema in the database at the start; the account needs the right to create it. If
   * not, and the schema is missing or old, the start fails with an error that says what to run.
   * @default false
   */
  readonly migrate?: boolean
  readonly redis?: never
}

/** Options of {@link bullmqEngine}. */
export type BullmqEngineOptions = BullmqOnRedisOptions | BullmqOnPostgresOptions

/** A queue in PostgreSQL. */
export interface PostgresPlace {
  readonly postgres: PostgresAddress
  readonly migrate: boolean
}

/** The address of a queue. */
export type QueuePlace = { readonly redis: string | ConnectionOptions } | PostgresPlace

/** Options of {@link bullmqEngine}, checked, with their defaults. */
export interface BullmqSettings extends Required<BullmqQueueOptions> {
  readonly place: QueuePlace
}

/** @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN */
export function resolveBullmqOptions(options: BullmqEngineOptions): BullmqSettings {
  const { redis, postgres, migrate, ...settings } = resolveOptions(label, options, checks, defaults)
  if (settings.work) assertCanWait(redis)
  return { ...settings, place: placeOf(redis, postgres, migrate) }
}

interface AnyOptions extends BullmqQueueOptions {
  readonly redis?: string | ConnectionOptions
  readonly postgres?: PostgresAddress
  readonly migrate?: boolean
}

const label = 'bullmqEngine'

const defaults: AnyOptions & Required<BullmqQueueOptions> = {
  queue: 'operations',
  work: true,
  concurrency: 10,
  maxQueued: 100_000,
}

const checks: Checks<AnyOptions> = {
  redis: address('a redis:// or rediss:// URL, options of ioredis, or a client', /^rediss?:\/\//),
  postgres: address('a postgres:// URL, options of a pg pool, or a pool', /^postgres(ql)?:\/\//),
  queue: text("a name without ':'", /^[^:]+$/),
  work: flag,
  concurrency: integer(1, 10_000),
  maxQueued: integer(1),
  migrate: flag,
}

function placeOf(
  redis: AnyOptions['redis'],
  postgres: AnyOptions['postgres'],
  migrate: boolean | undefined,
): QueuePlace {
  if (redis !== undefined && postgres === undefined && migrate === undefined) return { redis }
  if (redis === undefined && postgres !== undefined) return { postgres, migrate: migrate ?? false }
  if (redis === undefined) return invalid(label, 'one of redis and postgres', 'neither')
  return postgres === undefined
    ? invalid(`${label}.migrate`, 'nothing with a queue in Redis', migrate)
    : invalid(label, 'one of redis and postgres', 'both')
}

/** BullMQ refuses a client that gives up on commands, but leaves a copy of it open that cannot be closed. */
function assertCanWait(redis: AnyOptions['redis']): void {
  if (!isObject(redis) || typeof redis.connect !== 'function' || !isObject(redis.options)) return
  const { redisOptions } = redis.options
  const { maxRetriesPerRequest } = isObject(redisOptions) ? redisOptions : redis.options
  // Clients of other packages, and clusters, may not have it.
  if (maxRetriesPerRequest === null || maxRetriesPerRequest === undefined) return
  invalid(`${label}.redis`, 'a client with maxRetriesPerRequest: null', maxRetriesPerRequest)
}

function address<Address>(expected: string, url: RegExp): Check<Address> {
  return (label, received) => {
    if (isObject(received) || (typeof received === 'string' && url.test(received))) return received as Address
    // It may hold a password.
    const shown = typeof received === 'string' ? received.replace(/\/\/.*@/, '//…@') : received
    return invalid(label, expected, shown)
  }
}
