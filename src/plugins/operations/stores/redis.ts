import { type Check, type Checks, invalid, isObject, objectOf, text } from '../../../options.js'
import { type RedisScriptClient, redisScript } from '../../../stores/redis-script.js'
import { type RedisSubscriber, subscribeTo } from '../../../stores/redis-subscription.js'
import { isFinal, type OperationRecord, readRecord, recordSchema } from '../record.js'
import { readRecords } from './read-records.js'
import type { OperationStore } from './store.js'

/** What the store needs of a Redis client; [ioredis](https://github.com/redis/ioredis) has it, also for a cluster. */
export interface RedisOperationClient extends RedisScriptClient {
  get(key: string): Promise<string | null>
  mget(keys: string[]): Promise<(string | null)[]>
  zrangebyscore(
    key: string,
    min: '-inf',
    max: number,
    limit: 'LIMIT',
    offset: number,
    count: number,
  ): Promise<string[]>
  publish(channel: string, message: string): Promise<unknown>
  info(section: string): Promise<string>
  /** Another connection to the same server: one that listens can do nothing else. */
  duplicate(): RedisSubscriber
}

/** Options of {@link redisOperationStore}. */
export interface RedisOperationStoreOptions {
  /**
   * What all keys begin with, in braces, and the channel for cancellations; instances with the same prefix share their
   * operations. Neither `{` nor `}` may be in it. A prefix that the client sets comes before that of the keys.
   * @default 'fastify-conventions:operations'
   */
  readonly keyPrefix?: string
}

/**
 * An {@link OperationStore} in Redis (5 or later, or what speaks like it), for several instances of a service. Each record
 * is one key with JSON, and goes by itself when its time has come, by the clock of the server; a sorted set has the ids of
 * those in progress by the time when they are due. Each change is one script, so one step and one round trip. All keys
 * stand in one hash slot: one node of a cluster has the whole store.
 *
 * What a restart of Redis keeps is for its settings to say: without `appendonly yes`, what was there at the last
 * snapshot, or nothing; with it, all but the last second (`appendfsync everysec`, the default) or all that was answered
 * (`appendfsync always`). A failover to a replica loses what that had not got yet. What is lost is unknown from then on,
 * and answered as such. The right `maxmemory-policy` is `noeviction`: a server that is full then refuses the next
 * operation. With a `volatile-` one final records may go early; with an `allkeys-` one those in progress too, which
 * `check()` rejects. Read from the node that takes the writes: no `scaleReads` to replicas.
 *
 * A message tells of a cancellation, on one more connection per process, made by `client.duplicate()`. It is lost on those
 * who are not connected just then.
 *
 * The client says how long it waits: give it a `commandTimeout`. A command that was given up may have reached Redis all the
 * same.
 *
 * Not where each operation has to survive whatever happens to a server: that is for `postgresOperationStore`. Not for one
 * instance whose operations may end with it: `memoryOperationStore` does there without a server.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function redisOperationStore(
  client: RedisOperationClient,
  options: RedisOperationStoreOptions = {},
): OperationStore {
  const redis = clientWithCommands('redisOperationStore: the client', client)
  const { keyPrefix } = {
    ...optionDefaults,
    ...objectOf(optionChecks)('redisOperationStore', options),
  }
  const keyOf = (id: string) => `{${keyPrefix}}:record:${id}`
  // Instances of another release, with records of another form, keep an index of their own.
  const index = `{${keyPrefix}}:due:${recordSchema}`
  const channel = `${keyPrefix}:cancel`

  const forget = async (kept: readonly { id: string }[], why: 'lost' | 'unreadable'): Promise<number> => {
    const ids = kept.map(({ id }) => id)
    return Number(await forgetScript(redis, [index, ...ids.map(keyOf)], [why, ...ids]))
  }

  return {
    isShared: true,
    connection: isInOrder(redis) ? redis : undefined,
    async check() {
      // It writes, if nothing: a replica refuses that.
      await forget([{ id: '' }], 'lost')
      const policy = evictionOf(await redis.info('memory').catch(() => ''))
      if (policy?.startsWith('allkeys-')) {
        throw new Error(
          `Redis would drop operations in progress when it is full (maxmemory-policy ${policy}): set noeviction`,
        )
      }
    },
    async create(record) {
      const { id, dueAt } = record
      // Whole each time: a script that has to be sent again would come behind what was sent after it.
      return isDone(await redis.eval(createScript, 2, keyOf(id), index, written(record), dueAt, id))
    },
    async get(id) {
      const kept = await redis.get(keyOf(id))
      return kept === null ? null : readRecord(kept)
    },
    async replace(record) {
      const { id, version, dueAt } = record
      const before = beginningOf(version - 1)
      const kind = isFinal(record) ? 'final' : 'in progress'
      const values = [id, before, written(record), kind, dueAt]
      return isDone(await replaceScript(redis, [keyOf(id), index], values))
    },
    async remove({ id, version }) {
      return isDone(await removeScript(redis, [keyOf(id), index], [id, beginningOf(version)]))
    },
    async due(time, limit) {
      for (;;) {
        const ids = await redis.zrangebyscore(index, '-inf', time, 'LIMIT', 0, limit)
        if (ids.length === 0) return []
        const documents = await redis.mget(ids.map(keyOf))
        const kept = ids.map((id, place) => ({ id, document: documents[place] ?? null }))
        const { records, unreadable, fault } = readRecords(
          kept.filter(({ document }) => document !== null),
          ({ document }) => document,
        )
        if (unreadable.length > 0) {
          // Said once, and out of the way of the others from then on.
          await forget(unreadable, 'unreadable')
          throw fault
        }
        const lost = kept.filter(({ document }) => document === null)
        // Evicted, for one: what is left of them would fill page after page.
        if (lost.length === 0 || (await forget(lost, 'lost')) === 0) {
          return records.filter((record) => !isFinal(record) && record.dueAt <= time)
        }
      }
    },
    // Redis has done so by itself.
    expire: async () => 0,
    async announceCancel(id) {
      await redis.publish(channel, id)
    },
    async onCancel(listener) {
      const stop = await subscribeTo(redis.duplicate(), channel, listener)
      return async () => stop()
    },
  }
}

const optionChecks: Checks<RedisOperationStoreOptions> = {
  keyPrefix: text('a non-empty string without braces', /^[^{}]+$/),
}

const optionDefaults: Required<RedisOperationStoreOptions> = Object.freeze({
  keyPrefix: 'fastify-conventions:operations',
})

const commands = ['get', 'mget', 'zrangebyscore', 'evalsha', 'eval', 'publish', 'info', 'duplicate']

const clientWithCommands: Check<RedisOperationClient> = (label, received) =>
  isObject(received) && commands.every((name) => typeof received[name] === 'function')
    ? (received as unknown as RedisOperationClient)
    : invalid(label, `a client with ${commands.join('(), ')}(), such as that of ioredis`, received)

/** Puts a new record where there is none; `1` where it did. */
const createScript = `if not redis.call('SET', KEYS[1], ARGV[1], 'NX') then return 0 end
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
return 1`

/** Puts a record in the place of one of which the JSON begins as said; `1` where it did. */
const replaceScript = redisScript(`
local id, before, document, kind, dueAt = unpack(ARGV)
if redis.call('GETRANGE', KEYS[1], 0, #before - 1) ~= before then return 0 end
redis.call('SET', KEYS[1], document)
if kind == 'final' then
  redis.call('PEXPIREAT', KEYS[1], dueAt)
  redis.call('ZREM', KEYS[2], id)
else
  redis.call('ZADD', KEYS[2], dueAt, id)
end
return 1
`)

const removeScript = redisScript(`
local id, before = unpack(ARGV)
if redis.call('GETRANGE', KEYS[1], 0, #before - 1) ~= before then return 0 end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], id)
return 1
`)

/** Takes ids out of the index: those whose record cannot be read, and of the others those who have none; how many. */
const forgetScript = redisScript(`
local forgotten = 0
for place, id in ipairs(ARGV) do
  if place > 1 and (ARGV[1] == 'unreadable' or redis.call('TYPE', KEYS[place]).ok ~= 'string') then
    forgotten = forgotten + redis.call('ZREM', KEYS[1], id)
  end
end
return forgotten
`)

/** As JSON which begins with the version: that much of it is enough to compare it. */
function written(record: OperationRecord): string {
  const json = JSON.stringify(record)
  return json.startsWith(beginningOf(record.version)) ? json : versionFirst(record)
}

function versionFirst({ version, ...rest }: OperationRecord): string {
  return JSON.stringify({ version, ...rest })
}

function beginningOf(version: number): string {
  return `{"version":${version},`
}

// Some clients are told to answer numbers as text.
function isDone(reply: unknown): boolean {
  return Number(reply) === 1
}

/**
 * Is what this client is told first done first? Not by the nodes of a cluster; nor where one command may wait for others to
 * be sent with, or is sent again for what it was answered, and the next is not.
 */
function isInOrder(client: RedisOperationClient): boolean {
  const { isCluster, options } = client as { readonly isCluster?: unknown; readonly options?: unknown }
  if (isCluster === true || !isObject(options)) return false
  return options.enableAutoPipelining !== true && typeof options.reconnectOnError !== 'function'
}

/** By what policy a server that is full makes room; `null` where it has no bound, or does not say. */
function evictionOf(info: string): string | null {
  const isBounded = /^maxmemory:[1-9]/m.test(info)
  return isBounded ? (/^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? null) : null
}
