import { createHash } from 'node:crypto'
import { isObject } from '../options.js'

/** The methods of a Redis client that run a script. */
export interface RedisScriptClient {
  evalsha(sha: string, keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
  eval(source: string, keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
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
      if (!isUnknownScript(error)) throw error
      return client.eval(source, keys.length, ...rest)
    }
  }
}

function isUnknownScript(error: unknown): boolean {
  return isObject(error) && String(error.message).startsWith('NOSCRIPT')
}
