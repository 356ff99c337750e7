import { type Check, type Checks, invalid, isObject, objectOf, text } from '../../../options.js'
import { type RedisScriptClient, redisScript } from '../../../stores/redis-script.js'
import { type RedisSubscriber, subscribeTo } from '../../../stores/redis-subscription.js'
import { isFinal, type OperationRecord, readRecord, recordSchema } from '../record.js'
import { readRecords } from './read-records.js'
import type { OperationStore } from './store.js'

/** The methods of a Redis client that the store uses. [ioredis](https://github.com/redis/ioredis) has them, also for a cluster. */
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
  /** Makes another connection to the same server: a connection that is subscribed cannot send commands. */
  duplicate(): RedisSubscriber
}

/** Options of {@link redisOperationStore}. */
export interface RedisOperationStoreOptions {
  /**
   * Prefix of all keys, in braces, and name of the channel for cancellations. Instances with the same prefix share their
   * operations. It must not contain `{` or `}`. A key prefix of the client comes before it.
   * @default 'fastify-conventions:operations'
   */
  readonly keyPrefix?: string
}

/**
 * An {@link OperationStore} in Redis (5 or later, or a compatible server), for several instances of a service. Each record is
 * one key with JSON, which expires by the clock of the server. A sorted set has the ids of the records in progress, by the
 * time when they are due. Each change is one script: one atomic step and one round trip. All keys are in one hash slot, so
 * one node of a cluster has the whole store.
 *
 * The settings of Redis decide which records survive a restart: without `appendonly yes`, those of the last snapshot, or
 * none; with it, all but those of the last second (`appendfsync everysec`, the default), or all (`appendfsync always`). A
 * failover loses changes that the replica had not received. A lost operation is a 404. Set `maxmemory-policy` to
 * `noeviction`: then a full server refuses new operations. A `volatile-` policy may delete final records early; an `allkeys-`
 * policy may delete records in progress too, so `check()` rejects it. Read from the primary: do not set `scaleReads` to
 * replicas.
 *
 * Cancellations are sent with `PUBLISH`. Each process listens on one more connection, made by `client.duplicate()`. Processes
 * that are not connected miss the message.
 *
 * Set a `commandTimeout` on the client. A command that timed out may have reached Redis.
 *
 * Not for operations that must survive the loss of a server: use `postgresOperationStore`. Not for a single instance whose
 * operations may end with it: use `memoryOperationStore`, which needs no server.
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
  // Releases with records of another form have an index of their own.
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
      // The script may write, so a replica refuses it.
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
      // With the whole script each time: sent again after NOSCRIPT, it would come after later commands.
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
          // Reported once; afterwards it no longer precedes the others.
          await forget(unreadable, 'unreadable')
          throw fault
        }
        const lost = kept.filter(({ document }) => document === null)
        // For example evicted: their ids would fill page after page.
        if (lost.length === 0 || (await forget(lost, 'lost')) === 0) {
          return records.filter((record) => !isFinal(record) && record.dueAt <= time)
        }
      }
    },
    // Redis deletes expired keys.
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

/** Stores a new record if the id is free; returns `1` if it was. */
const createScript = `if not redis.call('SET', KEYS[1], ARGV[1], 'NX') then return 0 end
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
return 1`

/** Replaces a record whose JSON begins with the given text; returns `1` if it did. */
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

/** Removes from the index ids whose record cannot be read, and ids without a record; returns their number. */
const forgetScript = redisScript(`
local forgotten = 0
for place, id in ipairs(ARGV) do
  if place > 1 and (ARGV[1] == 'unreadable' or redis.call('TYPE', KEYS[place]).ok ~= 'string') then
    forgotten = forgotten + redis.call('ZREM', KEYS[1], id)
  end
end
return forgotten
`)

/** Returns a record as JSON that begins with the version, so that comparing its beginning is enough. */
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

// Some clients are configured to return numbers as text.
function isDone(reply: unknown): boolean {
  return Number(reply) === 1
}

/**
 * Whether the client executes commands in order. A cluster does not; nor does a client that pipelines automatically, or that
 * sends a command again after certain errors.
 */
function isInOrder(client: RedisOperationClient): boolean {
  const { isCluster, options } = client as { readonly isCluster?: unknown; readonly options?: unknown }
  if (isCluster === true || !isObject(options)) return false
  return options.enableAutoPipelining !== true && typeof options.reconnectOnError !== 'function'
}

/** Returns the eviction policy of a server; `null` if its memory is not limited, or if it is not known. */
function evictionOf(info: string): string | null {
  const isBounded = /^maxmemory:[1-9]/m.test(info)
  return isBounded ? (/^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? null) : null
}
