import { objectWith } from '../../../options.js'
import {
  checkedReply,
  evictionPolicy,
  type RedisInfoClient,
  type RedisScript,
  type RedisScriptClient,
  redisScript,
} from '../../../stores/redis-client.js'
import type { IdempotencyStore } from './store.js'

/** The methods of a Redis client that the store uses. [ioredis](https://github.com/redis/ioredis) has them, also for a cluster. */
export interface RedisIdempotencyClient extends RedisScriptClient, RedisInfoClient {}

/**
 * An {@link IdempotencyStore} in Redis (5 or later, or a compatible server), for several instances of a service. Each step is
 * one script: atomic, and one round trip. A cluster spreads the keys over its nodes.
 *
 * Keys that a restart or a failover loses are free: their requests run again if they are repeated. Set `maxmemory-policy` to
 * `noeviction`, as `check()` rejects the others: a full server then refuses new keys. Set a `commandTimeout` on the client, and
 * `enableOfflineQueue: false`; do not set `scaleReads` to replicas. Services that share a Redis need a `keyPrefix` of ioredis each.
 *
 * Not for effects that must not happen twice, even if a process dies between the effect and its answer: use
 * `postgresIdempotency` and `request.idempotency.keep()`.
 *
 * @throws FST_CONV_OPTION_INVALID
 */
export function redisIdempotency(client: RedisIdempotencyClient): IdempotencyStore {
  clientWithCommands('redisIdempotency: the client', client)
  const run = async (script: RedisScript, key: string, ...values: (string | number)[]): Promise<unknown> =>
    script(client, [`fastify-conventions:idempotency:${key}`], values)

  return {
    isShared: true,
    async check() {
      // The script may write, so a replica refuses it.
      await checkedReply(run(releaseScript, 'check', 'check'))
      const policy = await evictionPolicy(client)
      if (policy !== null && policy !== 'noeviction') {
        throw new Error(
          `Redis would forget keys when it is full (maxmemory-policy ${policy}), and run requests twice: set noeviction`,
        )
      }
    },
    async claim({ key, token, fingerprint }, lease) {
      const found = await run(claimScript, key, token, fingerprint, lease)
      if (!Array.isArray(found)) return null
      const [foundFingerprint, answer = null] = found as [string, string | null | undefined]
      return { fingerprint: foundFingerprint, answer }
    },
    // Some clients are configured to return numbers as text.
    renew: async ({ key, token }, lease) => Number(await run(renewScript, key, token, lease)) === 1,
    complete: async ({ key, token, fingerprint }, answer, keepFor) =>
      Number(await run(completeScript, key, token, fingerprint, answer, keepFor)) === 1,
    async release({ key, token }) {
      await run(releaseScript, key, token)
    },
    expire: () => {},
  }
}

const clientWithCommands = objectWith<RedisIdempotencyClient>(
  'a client with evalsha(), eval(), info(), such as that of ioredis',
  ['evalsha', 'eval', 'info'],
)

/** Claims a key; or returns fingerprint and answer of the request that has it. */
const claimScript = redisScript(`
local token, fingerprint, lease = unpack(ARGV)
local found = redis.call('HMGET', KEYS[1], 'fingerprint', 'answer')
if found[1] then return found end
redis.call('HSET', KEYS[1], 'token', token, 'fingerprint', fingerprint)
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
redis.call('HSET', KEYS[1], 'token', token, 'fingerprint', fingerprint, 'answer', answer)
redis.call('PEXPIRE', KEYS[1], keepFor)
return 1
`)

const releaseScript = redisScript(`
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
if redis.call('HEXISTS', KEYS[1], 'answer') == 1 then return 0 end
redis.call('DEL', KEYS[1])
return 1
`)
