/** The method of a Redis client that reports about its server. */
export interface RedisInfoClient {
  info(section: string): Promise<string>
}

/** Returns the eviction policy of a server; `null` if its memory is not limited, or if it does not say. */
export async function evictionPolicy(client: RedisInfoClient): Promise<string | null> {
  const info = await client.info('memory').catch(() => '')
  const isBounded = /^maxmemory:[1-9]/m.test(info)
  return isBounded ? (/^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? null) : null
}
