/** The registry of operations in Redis: a real server, and two clients of it. */
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import t, { type Test } from 'tap'
import type { OperationRecord } from '../../../../src/plugins/operations/record.js'
import { begin, finish } from '../../../../src/plugins/operations/transitions.js'
import { type RedisOperationClient, redisOperationStore } from '../../../../src/stores/redis.js'
import { operationStoreContract } from '../../../../src/testing/operation-store-contract.js'
import { obstacleToRedis, type PrivateRedis, startRedis } from '../../../support/redis.js'
import { answersAsInMemory } from './store-model.js'

const obstacle = await obstacleToRedis()
const skip = obstacle !== null && !process.env.CI ? obstacle : false
const prefix = '{fastify-conventions:operations}'
const time = Date.parse('2001-01-01T00:00:00Z')

async function server(t: Test, persistent = false): Promise<PrivateRedis> {
  const redis = await startRedis({ persistent })
  t.teardown(() => redis.stop())
  return redis
}

type ClientOptions = Omit<RedisOptions, 'replyMapping'>

function connect(t: Test, { url }: PrivateRedis, options: ClientOptions = {}): Redis {
  const client = new Redis(url, { retryStrategy: () => 20, ...options })
  client.on('error', () => {})
  t.teardown(() => client.disconnect())
  return client
}

function started(over: Partial<OperationRecord> = {}): OperationRecord {
  const operation = { name: 'work', owner: null, input: null, cancellable: true }
  return { ...begin(randomBytes(16).toString('hex'), operation, time, 0), ...over }
}

function over(record: OperationRecord, dueAt: number): OperationRecord {
  const end = { status: 'Succeeded', resource: null, result: null } as const
  return { ...(finish(record, null, end, time, 0) ?? record), dueAt }
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; !(await isSo()); waited += 10) {
    if (waited > 10_000) throw new Error('it did not happen within 10 seconds')
    await wait(10)
  }
}

t.test('in Redis', { skip }, async (t) => {
  const redis = await server(t)
  const clients = {
    'as ioredis makes them': {},
    'that prefix keys, answer numbers as text, collect commands and do not wait for the server': {
      keyPrefix: 'app:',
      stringNumbers: true,
      enableAutoPipelining: true,
      autoResubscribe: false,
      enableOfflineQueue: false,
      lazyConnect: true,
    },
    'that speak RESP3': { protocol: 3 },
  } satisfies Readonly<Record<string, ClientOptions>>
  for (const [which, options] of Object.entries(clients)) {
    const [one, other] = [connect(t, redis, options), connect(t, redis, options)]
    if ('lazyConnect' in options) await Promise.all([one.connect(), other.connect()])
    const open = async () => {
      await one.flushall()
      return [redisOperationStore(one), redisOperationStore(other)] as const
    }
    for (const { name, run } of operationStoreContract({ open })) {
      await t.test(`clients ${which}: ${name}`, async (t) => {
        await run()
        t.pass(name)
      })
    }
  }

  const [one, other] = [connect(t, redis), connect(t, redis)]
  const store = redisOperationStore(one)

  await t.test('two views answer as the store in memory does, also at the same time', async (t) => {
    await answersAsInMemory(async () => {
      await one.flushall()
      return [redisOperationStore(one), redisOperationStore(other)]
    }, true)
    t.pass('for all that was made up')
  })

  await t.test('all keys are in one slot of a cluster; none is left of what was removed', async (t) => {
    await one.flushall()
    const [running, final] = [started(), started()]
    for (const record of [running, final]) await store.create(record)
    await store.replace(over(final, Date.now() + 60_000))
    t.same(
      (await one.keys('*')).sort(),
      [`${prefix}:due:1`, ...[running, final].map(({ id }) => `${prefix}:record:${id}`)].sort(),
    )
    await store.remove(running)
    await store.remove(over(final, 0))
    t.equal(await one.dbsize(), 0)
  })

  await t.test('the members of a record may come in any order', async (t) => {
    const { version, ...rest } = started()
    const record = { ...rest, version }
    t.equal(await store.create(record), true)
    t.equal(await store.replace({ ...rest, version: 2 }), true)
    t.equal(await store.replace({ ...rest, version: 2 }), false)
    t.equal(await store.remove({ ...rest, version: 2 }), true)
  })

  await t.test('what is final goes when it is due; what is in progress stays', async (t) => {
    const [running, final] = [started(), started()]
    for (const record of [running, final]) await store.create(record)
    const dueAt = Date.now() + 60_000
    await store.replace(over(final, dueAt))
    t.equal(await one.pexpiretime(`${prefix}:record:${final.id}`), dueAt)
    t.equal(await one.pexpiretime(`${prefix}:record:${running.id}`), -1)
  })

  await t.test('stores with prefixes of their own know nothing of each other', async (t) => {
    await one.flushall()
    const shop = redisOperationStore(other, { keyPrefix: 'shop' })
    const heard: string[] = []
    const stop = await store.onCancel((id) => heard.push(id))
    const record = started()
    await shop.create(record)
    t.equal(await store.get(record.id), null)
    t.same(await store.due(time, 10), [])
    await shop.announceCancel('theirs')
    await store.announceCancel('ours')
    await until(() => heard.includes('ours'))
    t.same(heard, ['ours'])
    await stop()
  })

  await t.test('what Redis evicted is not in the way of what is due', async (t) => {
    await one.flushall()
    for (let number = 0; number < 30; number += 1) {
      const record = started()
      await store.create(record)
      await one.del(`${prefix}:record:${record.id}`)
    }
    const record = started({ dueAt: time + 1 })
    await store.create(record)
    t.same(await store.due(time + 1, 2), [record])
    t.same(await one.zrange(`${prefix}:due:1`, 0, '-1'), [record.id], 'nothing is left of it')
    await one.del(`${prefix}:record:${record.id}`)
    t.same(await store.due(time + 1, 2), [])
  })

  await t.test('what somebody garbled is told once, and not in the way of what is due', async (t) => {
    const { input: _, ...part } = started()
    const garbled = ['', '{', '[]', '{"version":1,', JSON.stringify(part), '{"version":1,"schema":1}']
    for (const value of garbled) {
      await one.flushall()
      const [bad, good] = [started(), started({ dueAt: time + 1 })]
      for (const record of [bad, good]) await store.create(record)
      await one.set(`${prefix}:record:${bad.id}`, value)
      await t.rejects(store.get(bad.id), /operation/, value)
      await t.rejects(store.due(time + 1, 2), /operation/, value)
      t.same(await store.due(time + 1, 2), [good])
      t.equal(await one.get(`${prefix}:record:${bad.id}`), value, 'it can be looked at')
    }
    await one.flushall()
    const [bad, good] = [started(), started({ dueAt: time + 1 })]
    for (const record of [bad, good]) await store.create(record)
    await one.del(`${prefix}:record:${bad.id}`)
    await one.lpush(`${prefix}:record:${bad.id}`, 'a list')
    await t.rejects(store.get(bad.id), /WRONGTYPE/)
    t.same(await store.due(time + 1, 2), [good])
  })

  await t.test('a record of another release is refused, and left to it', async (t) => {
    await one.flushall()
    const record = started()
    const key = `${prefix}:record:${record.id}`
    await one.set(key, JSON.stringify({ ...record, schema: 2 }))
    await one.zadd(`${prefix}:due:2`, time, record.id)
    await t.rejects(store.get(record.id), /stored in form 2; this release supports only form 1/)
    t.same(await store.due(time, 10), [])
    t.equal(await one.zcard(`${prefix}:due:2`), 1)
  })

  await t.test('of 10,000 records only those asked for are read, by two commands', async (t) => {
    await one.flushall()
    const records = Array.from({ length: 10_000 }, (_, number) => started({ dueAt: time + number }))
    await Promise.all(records.map((record) => store.create(record)))
    const monitor = await one.monitor()
    const said: string[][] = []
    monitor.on('monitor', (_time: string, command: string[]) => said.push(command))
    t.same(await store.due(time + 9_000, 50), records.slice(0, 50))
    t.equal(await store.expire(Date.now(), 50), 0)
    const record = started()
    await store.create(record)
    t.match(await store.get(record.id), { id: record.id })
    await until(() => said.some(([name]) => name === 'get'))
    monitor.disconnect()
    t.same(
      said
        .filter(([name]) => ['zrangebyscore', 'mget', 'eval', 'evalsha', 'get'].includes(name ?? ''))
        .map(([name]) => name),
      ['zrangebyscore', 'mget', 'eval', 'get'],
      'one round trip to put it',
    )
    t.same(said[0]?.slice(-3), ['LIMIT', '0', '50'])
    t.equal(said[1]?.length, 51)
  })

  await t.test('a Redis that would drop operations in progress is not fit for use', async (t) => {
    await one.config('SET', 'maxmemory', '100mb')
    for (const policy of ['allkeys-lru', 'allkeys-random']) {
      await one.config('SET', 'maxmemory-policy', policy)
      await t.rejects(store.check(), { message: new RegExp(`maxmemory-policy ${policy}\\): set noeviction`) })
    }
    for (const policy of ['noeviction', 'volatile-ttl']) {
      await one.config('SET', 'maxmemory-policy', policy)
      await store.check()
    }
    await one.config('SET', 'maxmemory', '0')
    await one.config('SET', 'maxmemory-policy', 'allkeys-lru')
    await store.check()
  })

  await t.test('a user who may not ask for the policy may use the store', async (t) => {
    await one.call('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '&*', '+@all', '-info')
    const limited = connect(t, redis, { username: 'limited', password: 'secret', enableReadyCheck: false })
    await redisOperationStore(limited).check()
    await one.call('ACL', 'SETUSER', 'limited', '-evalsha')
    await t.rejects(redisOperationStore(limited).check(), /NOPERM/)
  })

  await t.test('a replica is not fit for use', async (t) => {
    const replica = connect(t, await server(t))
    await replica.replicaof('127.0.0.1', '1')
    await t.rejects(redisOperationStore(replica).check(), /READONLY/)
  })
})

t.test('when Redis is started again', { skip }, async (t) => {
  const redis = await server(t, true)
  const [one, other] = [connect(t, redis), connect(t, redis, { autoResubscribe: false })]
  const [store, view] = [redisOperationStore(one), redisOperationStore(other)]
  const heard: string[] = []
  const alsoHeard: string[] = []
  const stops = [
    await store.onCancel((id) => heard.push(id)),
    await view.onCancel((id) => alsoHeard.push(id)),
  ]
  const record = started()
  await store.create(record)

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    await t.test(`with persistence, by ${signal}, it goes on where it stopped`, async (t) => {
      await redis.restart(signal)
      const kept = await store.get(record.id)
      t.same(kept, signal === 'SIGTERM' ? record : { ...record, version: 2 })
      t.same(await one.script('EXISTS', '0'.repeat(40)), [0], 'it answers')
      if (signal === 'SIGTERM') {
        t.equal(await store.replace({ ...record, version: 2 }), true, 'the scripts are sent again')
      }
      t.equal((await view.due(time, 10)).length, 1)

      await until(async () => {
        await store.announceCancel(signal)
        return heard.includes(signal) && alsoHeard.includes(signal)
      })
      t.pass('who listened is told again')
    })
  }

  await t.test('a script is sent whole once, and by its digest from then on', async (t) => {
    await one.script('FLUSH')
    const sent: string[] = []
    const spy = new Proxy(one, {
      get(target, name) {
        if (name === 'eval' || name === 'evalsha') sent.push(name)
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const spied = redisOperationStore(spy)
    sent.length = 0
    for (let number = 0; number < 3; number += 1) await spied.remove(started())
    t.same(sent, ['evalsha', 'eval', 'evalsha', 'evalsha'])
    sent.length = 0
    t.equal(await spied.create(started()), true)
    t.same(sent, ['eval'], 'what creates a record never has to be sent again, so nothing comes before it')
  })

  await t.test('who stops listening lets go of the connection', async (t) => {
    const connections = async () =>
      String(await one.client('LIST'))
        .trim()
        .split('\n').length
    const before = await connections()
    for (const stop of stops) await stop()
    await until(async () => (await connections()) === before - 2)
    t.pass('both are gone')
  })

  await t.test('who cannot be reached cannot be listened to', async (t) => {
    await redis.kill()
    await t.rejects(
      store.onCancel(() => {}),
      {
        message: /Redis cannot be reached to listen to it/,
        cause: { code: 'ECONNREFUSED' },
      },
    )
    const lazy = connect(t, redis, { lazyConnect: true })
    await t.rejects(redisOperationStore(lazy).onCancel(() => {}))
    await redis.restart()
    const stop = await store.onCancel(() => {})
    await stop()
  })
})

t.test('over one connection of ioredis what is sent first is done first', async (t) => {
  const options = { lazyConnect: true, maxRetriesPerRequest: null }
  const client = new Redis(options)
  t.equal(redisOperationStore(client).connection, client)
  const others: readonly RedisOperationClient[] = [
    new Redis({ ...options, enableAutoPipelining: true }),
    new Redis({ ...options, reconnectOnError: () => 2 }),
    new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true }),
    Object.fromEntries(commandsOf(client)) as unknown as RedisOperationClient,
  ]
  for (const other of others) t.equal(redisOperationStore(other).connection, undefined)
})

/** A client of which nothing is known but what it can do. */
function commandsOf(client: Redis): (readonly [string, unknown])[] {
  const names = ['get', 'mget', 'zrangebyscore', 'evalsha', 'eval', 'publish', 'info', 'duplicate'] as const
  return names.map((name) => [name, client[name]])
}

t.test('a client that is none, and options that are none, are told at once', async (t) => {
  const client = new Redis({ lazyConnect: true })
  const cluster: RedisOperationClient = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true })
  t.ok(redisOperationStore(cluster), 'that of a cluster is one')
  t.throws(() => redisOperationStore({ get: async () => null } as unknown as RedisOperationClient), {
    code: 'FST_CONV_OPTION_INVALID',
    message: /redisOperationStore: the client: expected a client with get\(\), mget\(\), .* duplicate\(\)/,
  })
  for (const keyPrefix of ['', '{a}', 'a}']) {
    t.throws(() => redisOperationStore(client, { keyPrefix }), /redisOperationStore\.keyPrefix: expected/)
  }
  t.throws(() => redisOperationStore(client, { prefix: 'a' } as object), { code: 'FST_CONV_OPTION_UNKNOWN' })
})
