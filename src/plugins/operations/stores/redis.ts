import { type Check, type Checks, integer, invalid, isObject, objectOf, text } from '../../../options.js'
import { evictionPolicy, type RedisInfoClient } from '../../../stores/redis-eviction.js'
import { type RedisScriptClient, redisScript } from '../../../stores/redis-script.js'
import { type RedisSubscriber, subscribeTo } from '../../../stores/redis-subscription.js'
import { isFinal, type OperationRecord, recordSchema } from '../record.js'
import { ownerKey, partsOf, readAll, recordOf, type StoredRecord } from './documents.js'
import { type OperationStore, OperationStoreFullError } from './store.js'

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
  zrevrangebyscore(
    key: string,
    max: number | '+inf',
    min: '-inf',
    limit: 'LIMIT',
    offset: number,
    count: number,
  ): Promise<string[]>
  publish(channel: string, message: string): Promise<unknown>
  /** Only for the option `replicas`. */
  wait?(count: number, timeout: number): Promise<unknown>
  /** Makes another connection to the same server: a connection that is subscribed cannot send commands. */
  duplicate(): RedisSubscriber
}

/** Options of {@link redisOperationStore}. */
export interface RedisOperationStoreOptions {
  /**
   * Prefix of all keys, in braces, and of the name of the channel. Instances with the same prefix share their
   * operations. It must not contain `{` or `}`. A key prefix of the client comes before it.
   * @default 'fastify-conventions:operations'
   */
  readonly keyPrefix?: string
  /**
   * A start and an end wait until so many replicas have them (`WAIT`), so that a failover to one of these keeps them. If not
   * enough replicas answer within the `timeout`, a start gets a 503, and an end is in the log as a failure of the store; it stays
   * where the primary has it. The commands that the client
   * sends meanwhile wait too. Not for the client of a cluster: there, set `min-replicas-to-write`.
   * @default none: a failover loses the changes of the last moments, as far as the replica had not received them
   */
  readonly replicas?: RedisReplicas
}

/** How many replicas have to have a change, see {@link RedisOperationStoreOptions}. */
export interface RedisReplicas {
  readonly count: number
  /** Milliseconds; less than the `commandTimeout` of the client. */
  readonly timeout: number
}

/**
 * An {@link OperationStore} in Redis (5 or later, or a compatible server), for several instances of a service. Each record is
 * one key with JSON, which expires by the clock of the server; input and result have keys of their own, and the result
 * expires when the operation becomes a 410. A sorted set has the ids of the records in progress, by the time of their next
 * check; two sorted sets per owner list the operations. Each change is one script: one atomic step and one round trip. All
 * keys are in one hash slot, so one node of a cluster has the whole store.
 *
 * The settings of Redis decide which records survive a restart: without `appendonly yes`, those of the last snapshot, or
 * none; with it, all but those of the last second (`appendfsync everysec`, the default), or all (`appendfsync always`). A
 * failover loses changes that the replica had not received: a start that a client knows is then a 404, and an operation that
 * had ended runs again. The option `replicas` prevents both. Read from the primary: do not set `scaleReads` to replicas.
 *
 * Set `maxmemory-policy` to `noeviction`: then a full server refuses new operations, and those in progress go on and end. A
 * `volatile-` policy may delete final records early; an `allkeys-` policy may delete records in progress too, so `check()`
 * rejects it.
 *
 * Messages are sent with `PUBLISH`. Each process listens on one more connection, made by `client.duplicate()`. Processes
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
  const { keyPrefix, replicas } = {
    ...optionDefaults,
    ...objectOf(optionChecks)('redisOperationStore', options),
  }
  if (
    replicas !== undefined &&
    (redis.wait === undefined || (redis as { isCluster?: unknown }).isCluster === true)
  ) {
    invalid('redisOperationStore.replicas', 'none with the client of a cluster, or without wait()', replicas)
  }
  const key = (...names: readonly (string | number)[]) => [`{${keyPrefix}}`, ...names].join(':')
  const recordKey = (id: string) => key('record', id)
  const inputKey = (id: string) => key('input', id)
  const outcomeKey = (id: string) => key('outcome', id)
  // With the schema: a process removes ids of records that it cannot read.
  const dueKey = key('due', recordSchema)
  // By creation, the operations of an owner, and those of them in progress. By the time of their next visit, all in such sets.
  const ownerKeys = (owner: string) => [key('owner', owner), key('active', owner)]
  const ownedKey = key('owned')
  // Has the id of the one operation in progress; there is none for `null`.
  const onlyKey = ({ onePer }: OperationRecord) => key('only', onePer ?? '')
  const channel = `${keyPrefix}:cancel`
  let fault: unknown

  const storedOf = async (ids: readonly string[]): Promise<readonly (StoredRecord | null)[]> => {
    const values = await redis.mget(ids.flatMap((id) => [recordKey(id), outcomeKey(id)]))
    return ids.map((id, place) => {
      const document = values[2 * place] ?? null
      return document === null ? null : { id, document, outcome: values[2 * place + 1] }
    })
  }
  const forget = (ids: readonly string[], why: 'lost' | 'unreadable') =>
    forgetScript(redis, [dueKey, ...ids.flatMap((id) => [recordKey(id), inputKey(id)])], [why, ...ids])
  const onReplicas = async () => {
    if (replicas === undefined) return
    const { count, timeout } = replicas
    const found = Number(await redis.wait?.(count, timeout))
    if (found < count) throw new Error(`${found} of ${count} replicas have the change after ${timeout} ms`)
  }

  return {
    isShared: true,
    async check() {
      // The script may write, so a replica refuses it.
      await forget([''], 'lost')
      const policy = await evictionPolicy(redis)
      if (policy?.startsWith('allkeys-')) {
        throw new Error(
          `Redis would drop operations in progress when it is full (maxmemory-policy ${policy}): set noeviction`,
        )
      }
    },
    async time() {
      // As a script with a key, so that the client of a cluster asks the node of the store.
      const [seconds, microseconds] = (await timeScript(redis, [ownedKey], [])) as [string, string]
      return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
    },
    async create(record, input) {
      const { id, dueAt, createdAt } = record
      const owner = record.owner === null ? null : ownerKey(record.owner)
      const keys = [recordKey(id), dueKey, inputKey(id), onlyKey(record)]
      if (owner !== null) keys.push(...ownerKeys(owner), ownedKey)
      const visit = `${id} ${owner}`
      const values = [partsOf(record).document, id, dueAt, createdAt, visit]
      values.push(createdAt + betweenVisits, record.onePer ?? '', ...(input === null ? [] : [input]))
      try {
        if (!isDone(await createScript(redis, keys, values))) return false
      } catch (cause) {
        if (!isOutOfMemory(cause)) throw cause
        throw new OperationStoreFullError('Redis has no memory left (maxmemory)', { cause })
      }
      await onReplicas()
      return true
    },
    async get(id) {
      const [stored] = await storedOf([id])
      return stored ? recordOf(stored) : null
    },
    input: (id) => redis.get(inputKey(id)),
    async replace(previous, next) {
      const { id, dueAt, owner } = next
      const { document, outcome } = partsOf(next)
      const keys = [recordKey(id), dueKey]
      const values = [beginningOf(previous), document, id]
      if (!isFinal(next)) {
        const moved = dueAt === previous.dueAt ? [] : [dueAt]
        return isDone(await replaceScript(redis, keys, [...values, ...moved]))
      }
      keys.push(inputKey(id), outcomeKey(id), onlyKey(next))
      if (owner !== null) keys.push(...ownerKeys(ownerKey(owner)).slice(1))
      const end = [dueAt, next.goneAt ?? dueAt, ...(outcome === null ? [] : [outcome])]
      if (!isDone(await replaceScript(redis, keys, [...values, ...end]))) return false
      await onReplicas()
      return true
    },
    async remove(record) {
      const { id, owner } = record
      const keys = [recordKey(id), dueKey, inputKey(id), outcomeKey(id), onlyKey(record)]
      if (owner !== null) keys.push(...ownerKeys(ownerKey(owner)))
      return isDone(await removeScript(redis, keys, [beginningOf(record), id]))
    },
    async takeDue(time, until, limit) {
      for (;;) {
        const reported = fault
        fault = undefined
        if (reported !== undefined) throw reported
        const ids = (await takeScript(redis, [dueKey], [time, until, limit])) as string[]
        if (ids.length === 0) return []
        const stored = await storedOf(ids)
        const read = readAll(stored.filter((one) => one !== null))
        // For example evicted: their ids would come again.
        const lost = ids.filter((_, place) => stored[place] === null)
        if (lost.length > 0) await forget(lost, 'lost')
        if (read.unreadable.length > 0) {
          const unreadable = read.unreadable.map(({ id }) => id)
          await forget(unreadable, 'unreadable')
          fault = read.fault
        }
        const records = read.records.filter((record) => !isFinal(record))
        if (records.length > 0) return records
      }
    },
    /** Redis deletes expired keys; what remains is to remove their ids from the sets of the owners. */
    async expire(time, limit) {
      const visits = await redis.zrangebyscore(ownedKey, '-inf', time, 'LIMIT', 0, limit)
      if (visits.length === 0) return 0
      const [keys, values] = [[ownedKey], [time, time + betweenVisits] as (string | number)[]]
      for (const visit of visits) {
        const [, id = '', owner = ''] = /^(.*?) (.*)$/s.exec(visit) ?? []
        keys.push(recordKey(id), ...ownerKeys(owner))
        values.push(visit, id)
      }
      await visitScript(redis, keys, values)
      return visits.length
    },
    async list(owner, { status, before, limit }) {
      const [all = '', active = ''] = ownerKeys(ownerKey(owner))
      const set = status === 'In progress' ? active : all
      const found: OperationRecord[] = []
      const page = Math.max(limit, shortestPage)
      for (let offset = 0; found.length < limit; offset += page) {
        const from = before?.createdAt ?? '+inf'
        const members = await redis.zrevrangebyscore(set, from, '-inf', 'LIMIT', offset, page)
        if (members.length === 0) break
        const stored = await storedOf(members)
        for (const record of readAll(stored.filter((one) => one !== null)).records) {
          const { createdAt, id } = record
          const isBefore =
            before === undefined ||
            createdAt < before.createdAt ||
            (createdAt === before.createdAt && id < before.id)
          if (isBefore && (status === undefined || record.status === status)) found.push(record)
        }
      }
      return found.slice(0, limit)
    },
    async usage(owner) {
      const [, active = ''] = ownerKeys(ownerKey(owner))
      return Number(await usageScript(redis, [active, dueKey], []))
    },
    async announce(id) {
      await redis.publish(channel, id)
    },
    async listen(listener) {
      const stop = await subscribeTo(redis.duplicate(), channel, listener)
      return async () => stop()
    },
  }
}

const optionChecks: Checks<RedisOperationStoreOptions> = {
  keyPrefix: text('a non-empty string without braces', /^[^{}]+$/),
  replicas: (label, received) => {
    const { count, timeout } = objectOf<RedisReplicas>({
      count: integer(1, 100),
      timeout: integer(1, 60_000),
    })(label, received)
    if (count === undefined || timeout === undefined)
      return invalid(label, 'an object with count and timeout', received)
    return { count, timeout }
  },
}

const optionDefaults = Object.freeze({
  keyPrefix: 'fastify-conventions:operations',
  replicas: undefined,
})

const commands = [
  'get',
  'mget',
  'zrangebyscore',
  'zrevrangebyscore',
  'evalsha',
  'eval',
  'publish',
  'info',
  'duplicate',
]

const clientWithCommands: Check<RedisOperationClient> = (label, received) =>
  isObject(received) && commands.every((name) => typeof received[name] === 'function')
    ? (received as unknown as RedisOperationClient)
    : invalid(label, `a client with ${commands.join('(), ')}(), such as that of ioredis`, received)

/** Milliseconds between two visits of an operation in progress, see `expire`. */
const betweenVisits = 3_600_000

/** Minimum number of records that `list` reads at once: a filter skips some of them. */
const shortestPage = 50

const timeScript = redisScript(`return redis.call('TIME')`)

/** Stores a new record if its id is free and no other with its `onePer` is in progress; returns `1` if it did. */
const createScript = redisScript(`
local document, id, dueAt, createdAt, visit, visitAt, onePer, input = unpack(ARGV)
local other = redis.call('GET', KEYS[4])
if other and redis.call('ZSCORE', KEYS[2], other) then return 0 end
if not redis.call('SET', KEYS[1], document, 'NX') then return 0 end
redis.call('ZADD', KEYS[2], dueAt, id)
if input then redis.call('SET', KEYS[3], input) end
if onePer ~= '' then redis.call('SET', KEYS[4], id) end
if KEYS[5] then
  redis.call('ZADD', KEYS[5], createdAt, id)
  redis.call('ZADD', KEYS[6], createdAt, id)
  redis.call('ZADD', KEYS[7], visitAt, visit)
end
return 1
`)

// A full server refuses a script at its first command that takes memory, unless another has written before: hence DEL and
// ZREM come before SET and ZADD in what must get through.

/** Replaces a record whose JSON begins with the given text; returns `1` if it did. With `goneAt`, the new one is final. */
const replaceScript = redisScript(`
local before, document, id, dueAt, goneAt, outcome = unpack(ARGV)
if redis.call('GETRANGE', KEYS[1], 0, #before - 1) ~= before then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], document)
if goneAt then
  redis.call('PEXPIREAT', KEYS[1], dueAt)
  redis.call('ZREM', KEYS[2], id)
  redis.call('DEL', KEYS[3])
  if outcome then
    redis.call('SET', KEYS[4], outcome)
    redis.call('PEXPIREAT', KEYS[4], goneAt)
  end
  if redis.call('GET', KEYS[5]) == id then redis.call('DEL', KEYS[5]) end
  if KEYS[6] then redis.call('ZREM', KEYS[6], id) end
elseif dueAt then
  redis.call('ZADD', KEYS[2], dueAt, id)
end
return 1
`)

const removeScript = redisScript(`
local before, id = unpack(ARGV)
if redis.call('GETRANGE', KEYS[1], 0, #before - 1) ~= before then return 0 end
redis.call('DEL', KEYS[1], KEYS[3], KEYS[4])
redis.call('ZREM', KEYS[2], id)
if redis.call('GET', KEYS[5]) == id then redis.call('DEL', KEYS[5]) end
if KEYS[6] then
  redis.call('ZREM', KEYS[6], id)
  redis.call('ZREM', KEYS[7], id)
end
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

/** Removes ids whose record cannot be read, and ids without a record, from the index. */
const forgetScript = redisScript(`
for place = 2, #ARGV do
  local record, input = KEYS[2 * place - 2], KEYS[2 * place - 1]
  local isLost = redis.call('TYPE', record).ok ~= 'string'
  if isLost then redis.call('DEL', input) end
  if isLost or ARGV[1] == 'unreadable' then
    redis.call('ZREM', KEYS[1], ARGV[place])
  end
end
`)

/** Removes ids whose record has expired from the sets of their owners, and moves the next visit of the others. */
const visitScript = redisScript(`
local time, later = unpack(ARGV)
for place = 3, #ARGV, 2 do
  local visit, id = ARGV[place], ARGV[place + 1]
  local key = (place - 3) / 2 * 3 + 2
  local left = redis.call('PTTL', KEYS[key])
  redis.call('ZREM', KEYS[1], visit)
  if left == -2 then
    redis.call('ZREM', KEYS[key + 1], id)
    redis.call('ZREM', KEYS[key + 2], id)
  elseif left == -1 then
    redis.call('ZADD', KEYS[1], later, visit)
  else
    redis.call('ZADD', KEYS[1], string.format('%d', time + left + 1), visit)
  end
end
`)

/** Returns the number of operations of an owner in progress whose record is not lost. */
const usageScript = redisScript(`
local operations = 0
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if redis.call('ZSCORE', KEYS[2], id) then operations = operations + 1
  else redis.call('ZREM', KEYS[1], id) end
end
return operations
`)

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
