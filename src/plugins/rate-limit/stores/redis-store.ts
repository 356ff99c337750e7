import type { RedisScriptClient } from '../../../stores/redis-script.js'
import { redisScript } from '../../../stores/redis-script.js'
import type { QuotaState, QuotaStore } from './store.js'

/** The part of a client of [ioredis](https://github.com/redis/ioredis) that counting needs. */
export interface RateLimitRedis {
  /** Defines a method that runs a Lua script. */
  defineCommand(name: string, definition: { numberOfKeys?: number; lua: string }): void
}

/** The part of a client of [node-redis](https://github.com/redis/node-redis) that counting needs. */
export interface RateLimitNodeRedis {
  /** Runs a Lua script that the server has. */
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  /** Runs a Lua script. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/**
 * Returns a {@link QuotaStore} in Redis 5 or later, for several instances. A call is one script, so one round trip. The
 * keys of a caller have the same hash tag, so that a cluster has them on one node. The clock is that of Redis.
 *
 * @param nameSpace prefix of the keys
 */
export function redisQuotaStore(redis: RateLimitRedis | RateLimitNodeRedis, nameSpace: string): QuotaStore {
  const run = scriptRunner(redis)
  const keysOf = (caller: string, quotas: readonly { readonly name: string }[]) =>
    quotas.map(({ name }) => `${nameSpace}{${caller}} ${name}`)
  return {
    async take(caller, quotas, cost) {
      const values = quotas.flatMap(({ max, timeWindow }) => [max, timeWindow])
      const reply = await run('take', keysOf(caller, quotas), [cost, ...values])
      const [isTaken, now = 0, ...numbers] = reply as readonly number[]
      const states = quotas.map((_, index): QuotaState => {
        const [used = 0, ttl = 0] = numbers.slice(index * 2)
        return { used, ttl, end: now + ttl }
      })
      return { isTaken: isTaken === 1, states }
    },
    async giveBack(caller, quotas, cost, ends) {
      await run('giveBack', keysOf(caller, quotas), [cost, ...ends])
    },
  }
}

const time = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local cost = tonumber(ARGV[1])
`

const scripts = {
  take: `${time}
  local reply = {1, now}
  for i, key in ipairs(KEYS) do
    local used = tonumber(redis.call('GET', key) or '0')
    if used + cost > tonumber(ARGV[i * 2]) then reply[1] = 0 end
    reply[i * 2 + 1] = used
  end
  for i, key in ipairs(KEYS) do
    local ttl = redis.call('PTTL', key)
    local isTaken = reply[1] == 1 and cost > 0
    if isTaken then reply[i * 2 + 1] = redis.call('INCRBY', key, ARGV[1]) end
    if ttl < 0 then
      ttl = tonumber(ARGV[i * 2 + 1])
      redis.call('PEXPIRE', key, ttl)
    end
    reply[i * 2 + 2] = ttl
  end
  return reply
`,
  // Windows are a second long or more, so ends that differ by less are of the same window.
  giveBack: `${time}
  for i, key in ipairs(KEYS) do
    local used = tonumber(redis.call('GET', key) or '0')
    local ends = now + redis.call('PTTL', key)
    if used >= cost and math.abs(ends - tonumber(ARGV[i + 1])) < 500 then
      redis.call('DECRBY', key, ARGV[1])
    end
  end
`,
} as const

type RunScript = (
  name: keyof typeof scripts,
  keys: readonly string[],
  values: readonly number[],
) => Promise<unknown>

function scriptRunner(redis: RateLimitRedis | RateLimitNodeRedis): RunScript {
  if ('defineCommand' in redis) {
    // Another release of this package may use the same client.
    const commands = { take: 'fastifyConventionsTake1', giveBack: 'fastifyConventionsGiveBack1' } as const
    const client = redis as RateLimitRedis & Readonly<Record<string, IoredisCommand | undefined>>
    for (const name of ['take', 'giveBack'] as const) {
      if (client[commands[name]] === undefined) {
        redis.defineCommand(commands[name], { lua: scripts[name] })
      }
    }
    return async (name, keys, values) => client[commands[name]]?.(keys.length, ...keys, ...values)
  }
  const client: RedisScriptClient = {
    evalsha: (sha, count, ...rest) => redis.evalSha(sha, separate(count, rest)),
    eval: (script, count, ...rest) => redis.eval(script, separate(count, rest)),
  }
  const runners = { take: redisScript(scripts.take), giveBack: redisScript(scripts.giveBack) }
  return (name, keys, values) => runners[name](client, keys, values)
}

type IoredisCommand = (keyCount: number, ...keysAndValues: (string | number)[]) => Promise<unknown>

function separate(keyCount: number, keysAndValues: readonly (string | number)[]) {
  const texts = keysAndValues.map(String)
  return { keys: texts.slice(0, keyCount), arguments: texts.slice(keyCount) }
}
