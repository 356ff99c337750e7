import { createHash } from 'node:crypto'
import { isObject } from '../options.js'
import { reasonOf } from './check-store.js'

/** The methods of a Redis client that run a script. */
export interface RedisScriptClient {
  evalsha(sha: string, keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
  eval(source: string, keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
}

/** The method of a Redis client that reports about its server. */
export interface RedisInfoClient {
  info(section: string): Promise<string>
}

export type RedisScript = (
  client: RedisScriptClient,
  keys: readonly string[],
  values: readonly (string | number)[],
) => Promise<unknown>

/** Returns a function that runs a Lua script. The whole script is sent only if the server does not have it, for example after a restart. */
export function redisScript(source: string): RedisScript {
  const sha = createHash('sha1').update(source).digest('hex')
  return async (client, keys, values) => {
    const rest = [...keys, ...values]
    try {
      return await client.evalsha(sha, keys.length, ...rest)
    } catch (error) {
      if (!isObject(error) || !String(error.message).startsWith('NOSCRIPT')) throw error
      return client.eval(source, keys.length, ...rest)
    }
  }
}

/** Waits for a reply in a check. A client without a connection says so in terms of its own. */
export async function checkedReply(reply: Promise<unknown>): Promise<void> {
  try {
    await reply
  } catch (cause) {
    // ioredis sets `command` on what Redis answers.
    if (isObject(cause) && 'command' in cause) throw cause
    throw new Error(`Redis does not answer (is it up, and the client connected?): ${reasonOf(cause)}`, {
      cause,
    })
  }
}

/** Returns the eviction policy of a server; `null` if its memory is not limited, or if it does not say. */
export async function evictionPolicy(client: RedisInfoClient): Promise<string | null> {
  const info = await client.info('memory').catch(() => '')
  const isBounded = /^maxmemory:[1-9]/m.test(info)
  return isBounded ? (/^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? null) : null
}
