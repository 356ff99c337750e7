import { Redis } from 'ioredis'
import { complain, messageOf } from './complain.js'

// A command that cannot be sent fails at once: what a request waits for is not sent later.
const options = {
  lazyConnect: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 2_000,
  commandTimeout: 1_000,
  // A connection whose other end is gone without a word is opened anew.
  socketTimeout: 5_000,
  retryStrategy: (attempt: number) => Math.min(100 * attempt, 2_000),
}

// Only what goes wrong before it is ready is thrown.
export async function openRedis(url: string): Promise<Redis> {
  const redis = new Redis(url, options)
  const faults: Error[] = []
  const keepFault = (error: Error) => void faults.push(error)
  redis.on('error', keepFault)
  try {
    await redis.connect()
  } catch (error) {
    keepFault(error as Error)
  }
  // It is ready also where the database of the URL cannot be selected, and uses another one then.
  const [fault] = faults
  if (fault !== undefined) {
    redis.disconnect()
    throw new Error(`REDIS_URL: ${messageOf(fault)}`)
  }
  redis.off('error', keepFault)
  tellChanges(redis)
  return redis
}

/** Every attempt to connect is an error of its own; the first one is told. */
function tellChanges(redis: Redis): void {
  let isAway = false
  redis.on('error', (error) => {
    if (!isAway) complain(`Redis is away: ${messageOf(error)}`)
    isAway = true
  })
  redis.on('ready', () => {
    if (isAway) complain('Redis is back')
    isAway = false
  })
}
