import { createHash } from 'node:crypto'
import { isObject } from '../options.js'

/** What running a script takes of a Redis client. */
export interface RedisScriptClient {
  evalsha(sha: string, keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
  eval(source: string, keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
}

/** Runs a script as one step, which nothing comes between. */
export type RedisScript = (
  client: RedisScriptClient,
  keys: readonly string[],
  values: readonly (string | number)[],
) => Promise<unknown>

/** A script in Lua, sent whole only to a server that does not know it: a new one, or one that was started again. */
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
