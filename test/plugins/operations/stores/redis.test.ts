// Own process: waits for Redis
/** The store of operations in Redis: a real server, and two clients of it. */
import { Cluster, Redis } from 'ioredis'
import t from 'tap'
import type { OperationRecord } from '../../../../src/plugins/operations/record.js'
import { OperationStoreFullError } from '../../../../src/plugins/operations/stores/store.js'
import { type RedisOperationClient, redisOperationStore } from '../../../../src/stores/redis.js'
import { operationStoreContract } from '../../../../src/testing/operation-store-contract.js'
import { keepsContract } from '../../../support/contract.js'
import { redisClient, redisOf, skipWithoutRedis } from '../../../support/redis.js'
import { until as untilEnough } from '../../../support/until.js'
import { ended, started, time } from '../samples.js'

const skip = await skipWithoutRedis()
const future = time + 999_999_999
const prefix = '{fastify-conventions:operations}'

const until = (isSo: () => boolean | Promise<boolean>) => untilEnough(async () => isSo(), Boolean, 10_000, 10)

t.test('in Redis', { skip }, async (t) => {
  const { url } = await redisOf(t)
  const hasty = { enableAutoPipelining: true, enableOfflineQueue: false, lazyConnect: true }
  const clients = {
    'as ioredis makes them': {},
    'that prefix keys, answer numbers as text, collect commands and do not wait for the server': {
      ...hasty,
      keyPrefix: 'app:',
      stringNumbers: true,
    },
    'that speak RESP3': { protocol: 3 as const },
  }
  for (const [which, options] of Object.entries(clients)) {
    const [one, other] = [redisClient(t, url, options), redisClient(t, url, options)]
    if ('lazyConnect' in options) await Promise.all([one.connect(), other.connect()])
    const open = async () => {
      await one.flushall()
      return [redisOperationStore(one), redisOperationStore(other)] as const
    }
    await keepsContract(t, operationStoreContract({ open }), `clients ${which}: `)
  }

  const [one, other] = [redisClient(t, url), redisClient(t, url)]
  const store = redisOperationStore(one)

  await t.test('all keys are in one slot of a cluster; a removed record leaves none', async (t) => {
    await one.flushall()
    const [running, final] = [started({ owner: '42' }), started()]
    for (const record of [running, final]) await store.create(record, '{}')
    t.equal(await redisOperationStore(other, { keyPrefix: 'shop' }).get(final.id), null)
    const end = ended(final, '{}')
    await store.replace(final, end)
    const parts = [`record:${running.id}`, `input:${running.id}`, `record:${final.id}`]
    const sets = ['due:1', 'owner:42']
    t.same((await one.keys('*')).sort(), [...parts, ...sets].map((key) => `${prefix}:${key}`).sort())
    await store.remove(running)
    await store.remove(end)
    t.equal(await one.dbsize(), 0)
  })

  await t.test('the lists of an owner lose the records that have expired', async (t) => {
    await one.flushall()
    const own = () => started({ owner: '42' })
    const [first, second, running] = [own(), own(), own()]
    for (const record of [first, second, running]) await store.create(record, null)
    for (const record of [first, second]) await store.replace(record, { ...ended(record), dueAt: future })
    t.equal(await store.expire(future - 1, 10), 0)
    t.equal(await store.expire(future, 1), 1)
    t.equal(await store.expire(future, 10), 1)
    t.equal(await store.expire(future, 10), 0)
    t.equal(await one.exists(`${prefix}:ended`), 0)
    t.equal(await one.zcard(`${prefix}:owner:42`), 1)
    // The place of an earlier record with this id.
    await one.zadd(`${prefix}:owner:42`, 0, `${String(time - 1).padStart(15, '0')}:${running.id}`)
    t.match(await store.list('42', { limit: 10 }), [{ id: running.id }])
    for (let place = 0; place < 100; place += 1) await one.zadd(`${prefix}:owner:43`, 0, `${place}:expired`)
    const monitor = await other.monitor()
    const sent: (string | undefined)[] = []
    monitor.on('monitor', (_time: string, [name]: string[], source: string) => {
      if (source !== 'lua') sent.push(name)
    })
    t.same(await store.list('43', { limit: 2 }), [])
    await one.echo('end')
    await until(() => sent.includes('echo'))
    monitor.disconnect()
    t.ok(sent.length <= 9, `${sent}: a page reads four at most`)
  })

  await t.test('a record of a later release is refused, and left to that release', async (t) => {
    await one.flushall()
    const record = started()
    await one.set(`${prefix}:record:${record.id}`, JSON.stringify({ ...record, schema: 2 }))
    await one.zadd(`${prefix}:due:2`, time, record.id)
    await t.rejects(store.get(record.id), /stored with schema 2; this release reads schema 1/)
    t.same(await store.takeDue(time, time, 10), [])
    t.equal(await one.zcard(`${prefix}:due:2`), 1)
  })

  await t.test('a full Redis refuses starts; heartbeats, checks and ends get through', async (t) => {
    await one.flushall()
    const records = [started({ owner: '42' }), started({ owner: '42' }), started()]
    for (const record of records) await store.create(record, '{}')
    await one.script('FLUSH')
    await one.config('SET', 'maxmemory', '1')
    t.teardown(() => one.config('SET', 'maxmemory', '0'))
    for (const owner of ['42', null])
      await t.rejects(store.create(started({ owner }), '{}'), OperationStoreFullError)
    t.equal((await store.takeDue(time + 1_000, time + 1_000, 10)).length, 3)
    for (const record of records.slice(0, 2)) {
      const running = { ...record, version: 2, runUntil: time + 500, dueAt: time + 500, progress: 0.5 }
      t.equal(await store.replace(record, running), true)
      t.same(await store.get(record.id), running)
      const final = ended({ ...running, runUntil: null }, JSON.stringify('x'.repeat(10_000)))
      t.equal(await store.replace(running, final), true)
      t.same(await store.get(record.id), final)
    }
    t.equal((await store.list('42', { limit: 10 })).length, 2)
    await store.expire(time + 4_000_000, 10)
    t.equal(await store.remove({ ...(records[2] as OperationRecord), dueAt: time + 1_000 }), true)
    await one.config('SET', 'maxmemory', '0')
    t.equal(await store.create(started({ dueAt: future }), '{}'), true, 'there is room again')
  })

  await t.test('a Redis that would drop operations in progress is not fit for use', async (t) => {
    await one.config('SET', 'maxmemory', '100mb')
    for (const policy of ['noeviction', 'volatile-ttl', 'allkeys-random', 'allkeys-lru']) {
      await one.config('SET', 'maxmemory-policy', policy)
      const message = new RegExp(`maxmemory-policy ${policy}\\): set noeviction`)
      if (policy.startsWith('all')) await t.rejects(store.check(), { message })
      else await store.check()
    }
    await one.config('SET', 'maxmemory', '0')
    await store.check()
  })

  await t.test('a user who may not ask for the policy may use the store', async (t) => {
    await one.call('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '&*', '+@all', '-info')
    const limited = redisClient(t, url, { username: 'limited', password: 'secret', enableReadyCheck: false })
    await redisOperationStore(limited).check()
    await one.call('ACL', 'SETUSER', 'limited', '-evalsha')
    await t.rejects(redisOperationStore(limited).check(), /NOPERM/)
  })
})

t.test('an invalid client, and invalid options, are an error', async (t) => {
  const client = new Redis({ lazyConnect: true })
  const cluster: RedisOperationClient = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true })
  t.ok(redisOperationStore(cluster), 'that of a cluster is one')
  t.throws(() => redisOperationStore({ get: async () => null } as unknown as RedisOperationClient), {
    code: 'FST_CONV_OPTION_INVALID',
    message: /redisOperationStore: the client: expected a client with get\(\), mget\(\), .* info\(\)/,
  })
  for (const keyPrefix of ['', '{a}', 'a}']) {
    t.throws(() => redisOperationStore(client, { keyPrefix }), /redisOperationStore\.keyPrefix: expected/)
  }
  t.throws(() => redisOperationStore(client, { prefix: 'a' } as object), { code: 'FST_CONV_OPTION_UNKNOWN' })
})
