import type { ConnectionOptions, IRedisClient, Queue, RedisConnectionClient, Worker } from 'bullmq'
import { inTime } from '../../../../time/in-time.js'

/** Milliseconds in which a queue has to answer. */
export const answerTimeout = 5_000

/** Takes an error that is reported elsewhere. */
export function ignore(): void {}

export function connectionTo(
  redis: string | ConnectionOptions,
  isForWork: boolean,
  givenUp: AbortSignal,
): ConnectionOptions {
  if (isClient(redis)) return redis
  const options = typeof redis === 'string' ? { url: redis } : redis
  const retryStrategy = 'retryStrategy' in options ? options.retryStrategy : undefined
  const pause = typeof retryStrategy === 'function' ? retryStrategy : growingPause
  return {
    ...options,
    retryStrategy: (times: number) => (givenUp.aborted ? null : pause(times)),
    ...(isForWork ? { maxRetriesPerRequest: null } : {}),
  }
}

function isClient(redis: string | ConnectionOptions): redis is IRedisClient | RedisConnectionClient {
  return typeof redis === 'object' && 'connect' in redis && typeof redis.connect === 'function'
}

function growingPause(times: number): number {
  return Math.min(50 * 2 ** times, 2_000)
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

/** Result of {@link checkRedis}. */
export interface RedisServer {
  /** Whether BullMQ writes a warning about the server to the console with each connection. */
  readonly isWarnedOf: boolean
}

/** Checks version and eviction policy of a Redis server. */
export async function checkRedis(client: Pick<IRedisClient, 'info'>): Promise<RedisServer> {
  const info = await client.info().catch(() => null)
  // The account may lack the right to INFO.
  if (info === null) return { isWarnedOf: true }
  const policy = fieldOf(info, 'maxmemory_policy')
  if (policy?.startsWith('allkeys-')) {
    throw new Error(
      `Redis throws operations away when its memory is full: set maxmemory-policy to noeviction; it is ${policy}`,
    )
  }
  const version = fieldOf(info, 'redis_version')
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number)
  if (version !== undefined && major < 5) throw new Error(`BullMQ needs Redis 5 or later; it is ${version}`)
  return { isWarnedOf: policy !== 'noeviction' || major < 6 || (major === 6 && minor < 2) }
}

function fieldOf(info: string, name: string): string | undefined {
  return info
    .split(/\r?\n/)
    .find((line) => line.startsWith(`${name}:`))
    ?.slice(name.length + 1)
}
