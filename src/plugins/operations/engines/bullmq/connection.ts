import type { ConnectionOptions, IRedisClient, Queue, RedisConnectionClient, Worker } from 'bullmq'
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
import { inTime } from '../../../../time/schedule.js'
import { answerTimeout } from '../engine.js'

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
}

export type BullmqSettings = Required<BullmqEngineOptions>

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
}

/** @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN */
export function resolveBullmqOptions(options: BullmqEngineOptions): BullmqSettings {
  const settings = resolveOptions(label, options, checks, {
    redis: options?.redis,
    queue: 'operations',
    work: true,
    concurrency: 10,
    maxQueued: 100_000,
  })
  redis(`${label}.redis`, settings.redis)
  return settings
}

/** Takes an error that is reported elsewhere. */
export function ignore(): void {}

/** @param givenUp aborts when nothing waits for the connection any more */
export function connectionTo(
  redis: string | ConnectionOptions,
  isForWork: boolean,
  givenUp: AbortSignal,
): ConnectionOptions {
  if (isClient(redis)) return redis
  return {
    ...(typeof redis === 'string' ? { url: redis } : redis),
    retryStrategy: (times: number) => (givenUp.aborted ? null : Math.min(50 * 2 ** times, 2_000)),
    ...(isForWork ? { maxRetriesPerRequest: null } : {}),
  }
}

function isClient(redis: string | ConnectionOptions): redis is IRedisClient | RedisConnectionClient {
  return typeof redis === 'object' && 'connect' in redis && typeof redis.connect === 'function'
}

/** Keeps ioredis from writing errors to the console after BullMQ has stopped listening. */
export function silence(part: Queue | Worker): void {
  const { client, blockingClient } = part.getBackend()
  for (const connection of [client, blockingClient]) {
    connection?.then((opened) => opened.on('error', ignore), ignore)
  }
}

/** Waits until a queue or a worker is closed; ends its connections if its server does not answer in time. */
export async function closeInTime(
  part: Queue | Worker,
  closed: Promise<void>,
  redis: string | ConnectionOptions,
  givenUp: AbortController,
): Promise<void> {
  try {
    await inTime(closed, answerTimeout, 'the end of a connection')
  } catch {
    const backend = part.getBackend()
    const { client, blockingClient } = backend
    // A connection that was never ready ends by this alone.
    backend.close(true).catch(ignore)
    for (const connection of isClient(redis) ? [blockingClient] : [client, blockingClient]) {
      connection?.then(end).catch(ignore)
    }
  } finally {
    givenUp.abort()
  }
}

// BullMQ waits for the end of a connection, which does not come while ioredis waits for the next attempt to connect.
async function end(client: IRedisClient): Promise<void> {
  await (client.status === 'reconnecting' ? client.connect() : client.disconnect())
}
