import type { IRedisClient } from 'bullmq'

/** What is known of a Redis server. */
export interface RedisServer {
  /** Would BullMQ write a warning about it to the console each time it connects? */
  readonly isWarnedOf: boolean
}

/**
 * Looks at what a Redis server says of itself.
 *
 * @throws Error that says what to do, for one that BullMQ cannot work with, or that may throw jobs away
 */
export async function checkRedis(client: Pick<IRedisClient, 'info'>): Promise<RedisServer> {
  const said = await client.info().catch(() => null)
  // An account may be kept from asking. Then nobody knows, BullMQ included.
  if (said === null) return { isWarnedOf: true }
  const policy = fieldOf(said, 'maxmemory_policy')
  if (policy?.startsWith('allkeys-')) {
    throw new Error(
      `Redis throws operations away when its memory is full: set maxmemory-policy to noeviction; it is ${policy}`,
    )
  }
  const version = fieldOf(said, 'redis_version')
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number)
  if (version !== undefined && major < 5) throw new Error(`BullMQ needs Redis 5 or later; it is ${version}`)
  return { isWarnedOf: policy !== 'noeviction' || major < 6 || (major === 6 && minor < 2) }
}

function fieldOf(said: string, name: string): string | undefined {
  return said
    .split(/\r?\n/)
    .find((line) => line.startsWith(`${name}:`))
    ?.slice(name.length + 1)
}
