import { isObject, type OptionsOf, objectWith, option, resolveOptions, text } from '../../../options.js'
import {
  checkedReply,
  evictionPolicy,
  type RedisInfoClient,
  type RedisScriptClient,
  redisScript,
} from '../../../stores/redis-client.js'
import { isFinal, type OperationRecord, recordSchema } from '../record.js'
import { type OperationStore, OperationStoreFullError, ownerKey, readAll, recordOf, textOf } from './store.js'

/** The methods of a Redis client that the store uses. [ioredis](https://github.com/redis/ioredis) has them, also for a cluster. */
export interface RedisOperationClient extends RedisScriptClient, RedisInfoClient {
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
  zrevrangebylex(
    key: string,
    max: string,
    min: string,
    limit: 'LIMIT',
    offset: number,
    count: number,
  ): Promise<string[]>
}

const declared = {
  /**
   * Prefix of all keys, without braces; a key prefix of the client comes before it. Instances with the same prefix share their
   * operations.
   * @default 'fastify-conventions:operations'
   */
  keyPrefix: option(text('a non-empty string without braces', /^[^{}]+$/), 'fastify-conventions:operations'),
}

/** Options of {@link redisOperationStore}. */
export interface RedisOperationStoreOptions extends OptionsOf<typeof declared> {}

/**
 * An {@link OperationStore} in Redis (5 or later, or a compatible server), for several instances of a service. Each change is
 * one script: one atomic step and one round trip. All keys are in one hash slot, so one node of a cluster has the whole store.
 *
 * A restart loses what `appendonly` and `appendfsync` do not keep. A failover loses changes that the replica had not received: a
 * start that a client knows is then a 404, and an operation that had ended runs again. Set `maxmemory-policy` to `noeviction`:
 * then a full server refuses new operations, and those in progress go on and end; `check()` rejects `allkeys-` policies. Set a
 * `commandTimeout` on the client, and do not set `scaleReads` to replicas.
 *
 * Not for operations that must survive the loss of a server: use `postgresOperationStore`. Not for a single instance whose
 * operations may end with it: use `memoryOperationStore`, which needs no server.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN
 */
export function redisOperationStore(
  client: RedisOperationClient,
  options?: RedisOperationStoreOptions,
): OperationStore {
  const redis = clientWithCommands('redisOperationStore: the client', client)
  const { keyPrefix } = resolveOptions('redisOperationStore', options, declared)
  const key = (name: string, id: string) => `{${keyPrefix}}:${name}:${id}`
  const recordKey = (id: string) => key('record', id)
  const inputKey = (id: string) => key('input', id)
  // The operations of an owner, in the order of the list.
  const listKey = (owner: string) => key('owner', owner)
  // Has the id of the one operation in progress; there is none for `null`.
  const onlyKey = ({ onePer }: OperationRecord) => key('only', onePer ?? '')
  // With the schema: a process does not take the ids of records that it cannot read.
  const dueKey = `{${keyPrefix}}:due:${recordSchema}`
  // Operations of owners that have ended, by the time of their deletion.
  const endedKey = `{${keyPrefix}}:ended`

  /** Leaves out records that have expired. */
  const recordsOf = async (ids: readonly string[]): Promise<readonly OperationRecord[]> => {
    const texts = await redis.mget(ids.map(recordKey))
    return readAll(texts.filter((text) => text !== null))
  }
  return {
    isShared: true,
    async check() {
      await checkedReply(takeScript(redis, [dueKey], [0, 0, 0]))
      const policy = await evictionPolicy(redis)
      if (policy?.startsWith('allkeys-')) {
        throw new Error(
          `Redis would drop operations in progress when it is full (maxmemory-policy ${policy}): set noeviction`,
        )
      }
    },
    async time() {
      // As a script with a key, so that the client of a cluster asks the node of the store.
      const [seconds, microseconds] = (await timeScript(redis, [dueKey], [])) as [string, string]
      return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
    },
    async create(record, input) {
      const { id, dueAt, owner, onePer } = record
      const keys = [recordKey(id), dueKey, inputKey(id), onlyKey(record)]
      if (owner !== null) keys.push(listKey(ownerKey(owner)))
      const values = [textOf(record), id, dueAt, placeOf(record), onePer ?? '']
      if (input !== null) values.push(input)
      try {
        return isDone(await createScript(redis, keys, values))
      } catch (cause) {
        if (!isOutOfMemory(cause)) throw cause
        throw new OperationStoreFullError('Redis has no memory left (maxmemory)', { cause })
      }
    },
    async get(id) {
      const stored = await redis.get(recordKey(id))
      return stored === null ? null : recordOf(stored)
    },
    input: (id) => redis.get(inputKey(id)),
    async replace(previous, next) {
      const { id, dueAt, owner } = next
      const keys = [recordKey(id), dueKey]
      const values = [
        beginningOf(previous),
        textOf(next),
        id,
        isFinal(next) || dueAt !== previous.dueAt ? dueAt : '',
      ]
      if (isFinal(next)) {
        keys.push(inputKey(id), onlyKey(next))
        if (owner !== null) {
          keys.push(endedKey)
          values.push(`${placeOf(next)} ${ownerKey(owner)}`)
        }
      }
      return isDone(await replaceScript(redis, keys, values))
    },
    async remove(record) {
      const { id, owner } = record
      const keys = [recordKey(id), dueKey, inputKey(id), onlyKey(record)]
      if (owner !== null) keys.push(listKey(ownerKey(owner)))
      return isDone(await removeScript(redis, keys, [beginningOf(record), id, placeOf(record)]))
    },
    async takeDue(time, until, limit) {
      const ids = (await takeScript(redis, [dueKey], [time, until, limit])) as string[]
      if (ids.length === 0) return []
      return (await recordsOf(ids)).filter((record) => !isFinal(record))
    },
    /** Redis deletes expired keys; what remains is to remove them from the lists of the owners. */
    async expire(time, limit) {
      const ended = await redis.zrangebyscore(endedKey, '-inf', time, 'LIMIT', 0, limit)
      if (ended.length === 0) return 0
      const keys = ended.map((member) => listKey(member.slice(member.indexOf(' ') + 1)))
      await forgetScript(redis, [endedKey, ...keys], ended)
      return ended.length
    },
    async list(owner, { before, limit }) {
      const list = listKey(ownerKey(owner))
      const found: OperationRecord[] = []
      let from = before === undefined ? '+' : `(${placeOf(before)}`
      // Records may have expired, whose places are not yet removed.
      for (let read = 0; read < maxReads && found.length < limit; read += 1) {
        const places = await redis.zrevrangebylex(list, from, '-', 'LIMIT', 0, limit)
        if (places.length === 0) break
        const records = await recordsOf(places.map((place) => place.slice(place.indexOf(':') + 1)))
        // The id of a record that has expired may be in use again, with another place.
        const placed = new Map(records.map((record) => [placeOf(record), record]))
        found.push(...places.flatMap((place) => placed.get(place) ?? []))
        if (places.length < limit) break
        from = `(${places.at(-1)}`
      }
      return found.slice(0, limit)
    },
  }
}

const commands = ['get', 'mget', 'zrangebyscore', 'zrevrangebylex', 'evalsha', 'eval', 'info'] as const

const clientWithCommands = objectWith<RedisOperationClient>(
  `a client with ${commands.join('(), ')}(), such as that of ioredis`,
  commands,
)

/** Maximum number of pages that `list` reads for one. */
const maxReads = 4

const timeScript = redisScript(`return redis.call('TIME')`)

/** Stores a new record if its id is free and no other with its `onePer` is in progress; returns `1` if it did. */
const createScript = redisScript(`
local document, id, dueAt, place, onePer, input = unpack(ARGV)
local other = redis.call('GET', KEYS[4])
if other and redis.call('ZSCORE', KEYS[2], other) then return 0 end
if not redis.call('SET', KEYS[1], document, 'NX') then return 0 end
redis.call('ZADD', KEYS[2], dueAt, id)
if input then redis.call('SET', KEYS[3], input) end
if onePer ~= '' then redis.call('SET', KEYS[4], id) end
if KEYS[5] then redis.call('ZADD', KEYS[5], 0, place) end
return 1
`)

// A full server refuses a script at its first command that takes memory, unless another has written before: hence DEL and
// ZREM come before SET and ZADD in what must get through.

/** Replaces a record whose JSON begins with the given text; returns `1` if it did. With the key of the input, the new one is final. */
const replaceScript = redisScript(`
local before, document, id, dueAt, ended = unpack(ARGV)
if redis.call('GETRANGE', KEYS[1], 0, #before - 1) ~= before then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], document)
if KEYS[3] then
  redis.call('PEXPIREAT', KEYS[1], dueAt)
  redis.call('ZREM', KEYS[2], id)
  redis.call('DEL', KEYS[3])
  if redis.call('GET', KEYS[4]) == id then redis.call('DEL', KEYS[4]) end
  if ended then redis.call('ZADD', KEYS[5], dueAt, ended) end
elseif dueAt ~= '' then
  redis.call('ZADD', KEYS[2], dueAt, id)
end
return 1
`)

const removeScript = redisScript(`
local before, id, place = unpack(ARGV)
if redis.call('GETRANGE', KEYS[1], 0, #before - 1) ~= before then return 0 end
redis.call('DEL', KEYS[1], KEYS[3])
redis.call('ZREM', KEYS[2], id)
if redis.call('GET', KEYS[4]) == id then redis.call('DEL', KEYS[4]) end
if KEYS[5] then redis.call('ZREM', KEYS[5], place) end
return 1
`)

/** Moves the ids that are due, the earliest first, and returns them. */
const takeScript = redisScript(`
local time, later, limit = unpack(ARGV)
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', time, 'LIMIT', 0, limit)
for _, id in ipairs(ids) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('ZADD', KEYS[1], later, id)
end
return ids
`)

/** Removes operations from the lists of their owners. */
const forgetScript = redisScript(`
for argument, member in ipairs(ARGV) do
  redis.call('ZREM', KEYS[argument + 1], string.match(member, '^%S+'))
  redis.call('ZREM', KEYS[1], member)
end
`)

/** Returns the place of an operation in the lists of its owner, which Redis compares as text. */
function placeOf({ createdAt, id }: Pick<OperationRecord, 'createdAt' | 'id'>): string {
  return `${String(createdAt).padStart(15, '0')}:${id}`
}

function beginningOf({ version }: OperationRecord): string {
  return `{"version":${version},`
}

// Some clients are configured to return numbers as text.
function isDone(reply: unknown): boolean {
  return Number(reply) === 1
}

function isOutOfMemory(error: unknown): boolean {
  return isObject(error) && /\bOOM command not allowed/.test(String(error.message))
}
