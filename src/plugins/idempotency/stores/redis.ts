import { type Check, type Checks, invalid, isObject, objectOf, text } from '../../../options.js'
import { evictionPolicy, type RedisInfoClient } from '../../../stores/redis-eviction.js'
import { type RedisScriptClient, redisScript } from '../../../stores/redis-script.js'
import type { IdempotencyRecord, IdempotencyStore } from './store.js'

/** The methods of a Redis client that the store uses. [ioredis](https://github.com/redis/ioredis) has them, also for a cluster. */
export interface RedisIdempotencyClient extends RedisScriptClient, RedisInfoClient {}

/** Options of {@link redisIdempotency}. */
export interface RedisIdempotencyOptions {
  /**
   * Prefix of all keys. Instances with the same prefix share their keys. A key prefix of the client comes before it.
   * @default 'fastify-conventions:idempotency:'
   */
  readonly keyPrefix?: string
}

/**
 * An {@link IdempotencyStore} in Redis (5 or later, or a compatible server), for several instances of a service. Each key is
 * one hash, which expires by the clock of the server; each step is one script: atomic, and one round trip. A cluster
 * spreads the keys over its nodes.
 *
 * The settings of Redis decide which keys survive a restart: without `appendonly yes`, those of the last snapshot, or none. A
 * failover loses keys that the replica had not received; their requests run again if they are repeated. Set
 * `maxmemory-policy` to `noeviction`: then a full server refuses new keys. With another policy it forgets keys; `check()`
 * rejects `allkeys-` and `volatile-` policies. Read from the primary: do not set `scaleReads` to replicas.
 *
 * Set a `commandTimeout` on the client, and `enableOfflineQueue: false`.
 *
 * Not for effects that must not happen twice, even if a process dies between the effect and its answer: use
 * `postgresIdempotency` and `request.idempotency.keep()`.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function redisIdempotency(
  client: RedisIdempotencyClient,
  options: RedisIdempotencyOptions = {},
): IdempotencyStore {
  const redis = clientWithCommands('redisIdempotency: the client', client)
  const { keyPrefix } = {
    keyPrefix: 'fastify-conventions:idempotency:',
    ...objectOf(optionChecks)('redisIdempotency', options),
  }
  const keysOf = (key: string) => [keyPrefix + key]

  return {
    isShared: true,
    async check() {
      // The script may write, so a replica refuses it.
      await releaseScript(redis, keysOf('check'), ['check'])
      const policy = await evictionPolicy(redis)
      if (policy !== null && policy !== 'noeviction') {
        throw new Error(
          `Redis would forget keys when it is full (maxmemory-policy ${policy}), and run requests twice: set noeviction`,
        )
      }
    },
    async claim({ key, token, fingerprint }, lease) {
      const found = await claimScript(redis, keysOf(key), [token, fingerprint, lease])
      if (!Array.isArray(found)) return null
      const [foundToken, foundFingerprint, answer = null] = found as (string | null)[]
      return { key, token: foundToken, fingerprint: foundFingerprint, answer } as IdempotencyRecord
    },
    renew: async ({ key, token }, lease) => isDone(await renewScript(redis, keysOf(key), [token, lease])),
    complete: async ({ key, token, fingerprint }, answer, keepFor) =>
      isDone(await completeScript(redis, keysOf(key), [token, fingerprint, answer, keepFor])),
    async release({ key, token }) {
      await releaseScript(redis, keysOf(key), [token])
    },
    expire: async () => 0,
  }
}

const optionChecks: Checks<RedisIdempotencyOptions> = { keyPrefix: text() }

const clientWithCommands: Check<RedisIdempotencyClient> = (label, received) =>
  isObject(received) && ['evalsha', 'eval', 'info'].every((name) => typeof received[name] === 'function')
    ? (received as unknown as RedisIdempotencyClient)
    : invalid(label, 'a client with evalsha(), eval(), info(), such as that of ioredis', received)

/** Claims a key; or returns token, fingerprint and answer of the request that has it. */
const claimScript = redisScript(`
local token, fingerprint, lease = unpack(ARGV)
local found = redis.call('HMGET', KEYS[1], 'token', 'fingerprint', 'answer')
if found[1] then return { found[1], found[2], found[3] } end
redis.call('HSET', KEYS[1], 'token', token)
redis.call('HSET', KEYS[1], 'fingerprint', fingerprint)
redis.call('PEXPIRE', KEYS[1], lease)
return 1
`)

const renewScript = redisScript(`
local token, lease = unpack(ARGV)
if redis.call('HGET', KEYS[1], 'token') ~= token then return 0 end
if redis.call('HEXISTS', KEYS[1], 'answer') == 1 then return 0 end
redis.call('PEXPIRE', KEYS[1], lease)
return 1
`)

// A full server refuses a script at its first command that takes memory, unless another has written before: hence PEXPIRE
// comes first in what must get through.
const completeScript = redisScript(`
local token, fingerprint, answer, keepFor = unpack(ARGV)
local found = redis.call('HGET', KEYS[1], 'token')
if found and found ~= token then return 0 end
redis.call('PEXPIRE', KEYS[1], keepFor)
redis.call('HSET', KEYS[1], 'token', token)
redis.call('HSET', KEYS[1], 'fingerprint', fingerprint)
redis.call('HSET', KEYS[1], 'answer', answer)
redis.call('PEXPIRE', KEYS[1], keepFor)
return 1
`)

const releaseScript = redisScript(`
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
if redis.call('HEXISTS', KEYS[1], 'answer') == 1 then return 0 end
redis.call('DEL', KEYS[1])
return 1
`)

// Some clients are configured to return numbers as text.
function isDone(reply: unknown): boolean {
  return Number(reply) === 1
}
