// Own process: waits for Redis
/** The store of keys in Redis: a real server, and two connections to it. */
import type { Redis } from 'ioredis'
import t from 'tap'
import { redisIdempotency } from '../../../../src/plugins/idempotency/stores/redis.js'
import { idempotencyStoreContract } from '../../../../src/testing/idempotency-store-contract.js'
import { keepsContract } from '../../../support/contract.js'
import { redisClient, redisOf, skipWithoutRedis } from '../../../support/redis.js'

const skip = await skipWithoutRedis()

t.test('in Redis', { skip }, async (t) => {
  const { url } = await redisOf(t)
  const [one, other] = [redisClient(t, url), redisClient(t, url)]
  const store = redisIdempotency(one)
  await keepsContract(t, idempotencyStoreContract({ open: async () => [store, redisIdempotency(other)] }))

  const claim = { key: 'a', caller: null, token: 'token', fingerprint: 'f' }

  await t.test('a server that has lost the scripts gets them again, and all keys expire', async (t) => {
    await one.script('FLUSH')
    t.equal(await store.claim(claim, 60_000), null)
    await store.complete(claim, 'kept', 60_000)
    const keys = await one.keys('*')
    t.ok(keys.length > 0)
    for (const key of keys) t.ok((await one.pttl(key)) > 0, key)
  })

  await t.test('`check` refuses a server that forgets keys when it is full', async (t) => {
    await one.config('SET', 'maxmemory', '100mb', 'maxmemory-policy', 'volatile-lru')
    await t.rejects(async () => store.check(), /set noeviction/)
    await one.config('SET', 'maxmemory-policy', 'noeviction')
    await t.resolves(async () => store.check())
  })

  await t.test('a full server refuses new keys, and keeps the answers of those that run', async (t) => {
    const running = { ...claim, key: 'running' }
    await store.claim(running, 60_000)
    await one.config('SET', 'maxmemory', '1')
    await t.rejects(async () => store.claim({ ...claim, key: 'new' }, 60_000), /OOM/)
    t.equal(await store.complete(running, 'kept', 60_000), true)
    await one.config('SET', 'maxmemory', '0')
    t.equal((await store.claim(running, 60_000))?.answer, 'kept')
  })

  t.throws(() => redisIdempotency({} as Redis), { code: 'FST_CONV_OPTION_INVALID' })
})
