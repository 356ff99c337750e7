import { createHash } from 'node:crypto'
import { isObject } from '../options.js'

/** The methods of a Redis client that run a script. */
export interface RedisScriptClient {
  evalsha(sha: string, keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
  eval(source: string, keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
}

/** The method of a Redis client that reports about its server. */
export interface RedisInfoClient {
  info(section: string): Promise<string>
}

/** A connection to Redis for a subscription, such as that of `duplicate()` of ioredis. */
export interface RedisSubscriber {
  readonly status: string
  connect(): Promise<unknown>
  disconnect(): void
  subscribe(channel: string): Promise<unknown>
  on(event: 'message', listener: (channel: string, message: string) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'ready' | 'close', listener: () => void): unknown
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

/** Returns the eviction policy of a server; `null` if its memory is not limited, or if it does not say. */
export async function evictionPolicy(client: RedisInfoClient): Promise<string | null> {
  const info = await client.info('memory').catch(() => '')
  const isBounded = /^maxmemory:[1-9]/m.test(info)
  return isBounded ? (/^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? null) : null
}

/** Subscribes to a channel, on a connection of its own. Returns a function that ends it. */
export async function subscribeTo(
  subscriber: RedisSubscriber,
  channel: string,
  hear: (message: string) => void,
): Promise<() => void> {
  let isOver = false
  let fault: Error | undefined
  // An `error` event without a listener ends the process.
  subscriber.on('error', (error) => {
    fault = error
  })
  subscriber.on('message', (_channel, message) => {
    if (!isOver) hear(message)
  })
  const stop = () => {
    isOver = true
    subscriber.disconnect()
  }
  try {
    await new Promise<void>((resolve, reject) => {
      // At each connection, because the app may have turned off automatic resubscription.
      subscriber.on('ready', () => void subscriber.subscribe(channel).then(() => resolve(), reject))
      subscriber.on('close', () =>
        reject(new Error('Redis cannot be reached to listen to it', { cause: fault })),
      )
      if (subscriber.status === 'wait') subscriber.connect().catch(reject)
    })
  } catch (error) {
    stop()
    throw error
  }
  return stop
}
