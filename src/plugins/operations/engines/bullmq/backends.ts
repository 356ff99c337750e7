import {
  type BackendFactory,
  type ConnectionOptions,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  type IRedisClient,
  type PgPool,
  type PostgresConnectionOptions,
  type RedisConnectionClient,
} from 'bullmq'
import { inTime } from '../../../../time/in-time.js'
import type { PostgresAddress, QueuePlace } from './options.js'

/** Milliseconds in which a queue has to answer. */
export const answerTimeout = 5_000

/** Takes an error that is reported elsewhere. */
export function ignore(): void {}

/** What BullMQ reaches queues through. */
export interface Backends {
  /** Makes one, whatever connection BullMQ was told of. */
  readonly make: BackendFactory<IQueueBackend, object>
  /** Ends all attempts to connect again: BullMQ goes on with them after it is closed. */
  giveUp(): void
}

/** The backends of queues in a place. */
export function backendsIn(place: QueuePlace): Backends {
  if ('postgres' in place) {
    const connection = postgresConnection(place.postgres)
    return {
      make: (name, options, given) => createPostgresBackend(name, { ...options, connection }, given),
      giveUp() {},
    }
  }
  const givenUp = new AbortController()
  return {
    make(name, options, given) {
      const connection = redisConnection(place.redis, given?.withBlockingConnection === true, givenUp.signal)
      const backend = createRedisBackend(name, { ...options, connection }, given)
      silence(backend.blockingClient)
      if (!isClient(connection)) silence(backend.client)
      return backend
    },
    giveUp: () => givenUp.abort(),
  }
}

/** The client of a place that was given one. */
export function clientIn(place: QueuePlace): object | undefined {
  return 'redis' in place && typeof place.redis === 'object' && isClient(place.redis)
    ? place.redis
    : undefined
}

/** Has connections to a server that does not answer give up; a pool that was given stays as it is. */
export function postgresConnection(given: PostgresAddress): PostgresConnectionOptions {
  const options = typeof given === 'string' ? { connectionString: given } : given
  // BullMQ's type of a pool is narrower than what it asks of one.
  if (typeof options.connect === 'function') return options as PgPool
  return { connectionTimeoutMillis: answerTimeout, query_timeout: answerTimeout * 2, ...options }
}

function redisConnection(
  given: string | ConnectionOptions,
  isForWork: boolean,
  givenUp: AbortSignal,
): ConnectionOptions {
  const options = typeof given === 'string' ? { url: given } : given
  if (isClient(options)) return options
  const { retryStrategy = growingPause, ...others } = options
  return {
    ...others,
    retryStrategy: (times) => (givenUp.aborted ? null : retryStrategy(times)),
    // The result of a run must be stored, however long Redis is unreachable.
    ...(isForWork ? { maxRetriesPerRequest: null } : {}),
  }
}

function isClient(given: ConnectionOptions): given is IRedisClient | RedisConnectionClient {
  return 'connect' in given && typeof given.connect === 'function'
}

function growingPause(times: number): number {
  return Math.min(50 * 2 ** times, 3_000)
}

/** Keeps ioredis from writing errors to the console once BullMQ has stopped listening. */
function silence(client: Promise<IRedisClient> | undefined): void {
  client?.then((opened) => opened.on('error', ignore), ignore)
}

/** A queue or a worker of BullMQ. */
export interface Closable {
  close(): Promise<void>
  disconnect(): Promise<void>
  getBackend(): IQueueBackend
}

/**
 * Closes a queue or a worker. Disconnects it if its server does not answer in time.
 *
 * @param closed the end of a close that has begun
 * @returns whether it closed in time
 */
export async function closeInTime(
  part: Closable,
  backends: Backends,
  closed = part.close(),
): Promise<boolean> {
  try {
    await inTime(closed, answerTimeout, 'the end of a connection')
    return true
  } catch {
    backends.giveUp()
    // Which of the two gets through depends on where BullMQ is stuck.
    part.getBackend().close(true).catch(ignore)
    part.disconnect().catch(ignore)
    return false
  }
}
