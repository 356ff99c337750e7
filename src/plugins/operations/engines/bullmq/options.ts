import type { ConnectionOptions, Telemetry } from 'bullmq'
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

/** Options of {@link bullmqEngine}. */
export interface BullmqEngineOptions {
  /**
   * A URL, options of [ioredis](https://github.com/redis/ioredis), or a client of it. A client stays open when
   * the engine closes; in a process that runs operations it needs `maxRetriesPerRequest: null`.
   */
  readonly redis: string | ConnectionOptions
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
   * Maximum number of waiting operations of all processes; a start beyond it gets a 503. They are counted once a second, so
   * several processes can exceed it by the operations that they start within a second.
   * @default 100_000
   */
  readonly maxQueued?: number
  /**
   * Telemetry of BullMQ, such as `new BullMQOtel('my-service')` of `bullmq-otel`: spans for added and processed jobs.
   * @default none
   */
  readonly telemetry?: Telemetry | undefined
}

/** Options of {@link bullmqEngine}, checked, with their defaults. */
export type BullmqSettings = Required<BullmqEngineOptions>

/** @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN */
export function resolveBullmqOptions(options: BullmqEngineOptions): BullmqSettings {
  const settings = resolveOptions(label, options, checks, {
    redis: options?.redis,
    queue: 'operations',
    work: true,
    concurrency: 10,
    maxQueued: 100_000,
    telemetry: undefined,
  })
  redis(`${label}.redis`, settings.redis)
  if (settings.work) assertCanWait(settings.redis)
  return settings
}

const label = 'bullmqEngine'

const redis: Check<BullmqSettings['redis']> = (label, received) => {
  if (isObject(received)) return received
  if (typeof received === 'string' && /^rediss?:\/\//.test(received)) return received
  // It may hold a password.
  const shown = typeof received === 'string' ? received.replace(/\/\/.*@/, '//…@') : received
  return invalid(label, 'a redis:// or rediss:// URL, options of ioredis, or a client', shown)
}

const checks: Checks<BullmqEngineOptions> = {
  redis,
  queue: text("a name without ':'", /^[^:]+$/),
  work: flag,
  concurrency: integer(1, 10_000),
  maxQueued: integer(1),
  telemetry: (label, received) =>
    isObject(received)
      ? (received as unknown as Telemetry)
      : invalid(label, 'a telemetry of BullMQ', received),
}

/** BullMQ refuses a client that gives up on commands, but leaves a copy of it open that cannot be closed. */
function assertCanWait(redis: BullmqSettings['redis']): void {
  if (!isObject(redis) || typeof redis.connect !== 'function' || !isObject(redis.options)) return
  const { redisOptions } = redis.options
  const { maxRetriesPerRequest } = isObject(redisOptions) ? redisOptions : redis.options
  // Clients of other packages, and clusters, may not have it.
  if (maxRetriesPerRequest === null || maxRetriesPerRequest === undefined) return
  invalid(`${label}.redis`, 'a client with maxRetriesPerRequest: null', maxRetriesPerRequest)
}
