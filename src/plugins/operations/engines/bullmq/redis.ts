import type { ConnectionOptions, IRedisClient, Queue, Worker } from 'bullmq'
import { inTime } from '../../../../time/in-time.js'

/** Milliseconds in which a queue has to answer. */
export const answerTimeout = 5_000

/** Takes an error that is reported elsewhere. */
export function ignore(): void {}

/**
 * Returns the connection of a queue or a worker.
 *
 * @param isForWork whether the result of a run must be stored, however long Redis is unreachable
 * @param givenUp aborts when there is no use in connecting again: ioredis does so without end
 */
export function connectionTo(
  redis: string | ConnectionOptions,
  isForWork: boolean,
  givenUp: AbortSignal,
): ConnectionOptions {
  const options = typeof redis === 'string' ? { url: redis } : redis
  if ('connect' in options && typeof options.connect === 'function') return options
  const retryStrategy = 'retryStrategy' in options ? options.retryStrategy : undefined
  const pause = typeof retryStrategy === 'function' ? retryStrategy : growingPause
  return {
    ...options,
    retryStrategy: (times: number) => (givenUp.aborted ? null : pause(times)),
    ...(isForWork ? { maxRetriesPerRequest: null } : {}),
  }
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

/**
 * Waits until a queue or a worker is closed; disconnects it if its server does not answer in time.
 *
 * @param closed the end of its close
 * @param giveUp stops the attempts to connect again
 */
export async function closeInTime(
  part: Queue | Worker,
  closed: Promise<void>,
  giveUp: () => void,
): Promise<void> {
  try {
    await inTime(closed, answerTimeout, 'the end of a connection')
  } catch {
    giveUp()
    part.disconnect().catch(ignore)
  }
}

/**
 * Checks version and eviction policy of a Redis server.
 *
 * @throws Error that names the remedy if BullMQ does not work with the server, or if the server may evict jobs
 */
export async function checkRedis(client: Pick<IRedisClient, 'info'>): Promise<void> {
  // The account may lack the right to INFO.
  const info = await client.info().catch(() => '')
  const policy = fieldOf(info, 'maxmemory_policy')
  if (policy?.startsWith('allkeys-')) {
    throw new Error(
      `Redis throws operations away when its memory is full: set maxmemory-policy to noeviction; it is ${policy}`,
    )
  }
  const version = fieldOf(info, 'redis_version')
  if (Number.parseInt(version ?? '5', 10) < 5) {
    throw new Error(`BullMQ needs Redis 5 or later; it is ${version}`)
  }
}

function fieldOf(info: string, name: string): string | undefined {
  return info
    .split(/\r?\n/)
    .find((line) => line.startsWith(`${name}:`))
    ?.slice(name.length + 1)
}
