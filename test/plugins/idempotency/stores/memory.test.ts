// Own process: measures time
import t from 'tap'
import { readMemory } from '../../../../bench/memory.js'
import { memoryIdempotency } from '../../../../src/plugins/idempotency/stores/memory.js'
import { idempotencyStoreContract } from '../../../../src/testing/idempotency-store-contract.js'
import { keepsContract } from '../../../support/contract.js'
import { superlinearSeeds } from '../../../support/growth.js'

t.test('the contract', async (t) => {
  const open = async () => {
    const store = memoryIdempotency()
    return [store, store] as const
  }
  await keepsContract(t, idempotencyStoreContract({ open }))
})

const claimOf = (key: string, caller: string | null = null) => {
  return { key, caller, token: `token of ${key}`, fingerprint: '' }
}

/** Runs a request: its answer is the key, unless another is given. */
async function pay(store: ReturnType<typeof memoryIdempotency>, key: string, caller?: string, answer = key) {
  await store.claim(claimOf(key, caller), 10)
  await store.complete(claimOf(key, caller), answer, 10)
}

t.test('a full store forgets the answer that was kept first, and no request that runs', async (t) => {
  let time = 0
  const store = memoryIdempotency({ maxKeys: 3, now: () => time })
  for (const key of ['a', 'b', 'c']) await store.claim(claimOf(key), 10)
  await t.rejects(async () => store.claim(claimOf('d'), 10), /no room/)
  await store.complete(claimOf('c'), 'c', 10)
  await store.complete(claimOf('b'), 'b', 10)
  t.equal(await store.claim(claimOf('d'), 10), null, 'the answer c makes room')
  t.equal((await store.claim(claimOf('b'), 10))?.answer, 'b')
  t.equal((await store.claim(claimOf('a'), 10))?.answer, null)
  await store.complete(claimOf('b'), 'b', 11)
  time = 10
  store.expire()
  for (const key of ['e', 'f'])
    t.equal(await store.claim(claimOf(key), 10), null, 'leases that ended make room')
  t.equal((await store.claim(claimOf('b'), 10))?.answer, 'b')
  t.throws(() => memoryIdempotency({ maxKeys: 0 }), { code: 'FST_CONV_OPTION_INVALID' })
})

t.test('a caller who fills the store removes no answer of one who has less', async (t) => {
  const full = memoryIdempotency({ maxKeys: 100, now: () => 0 })
  for (let n = 0; n < 40; n += 1) await pay(full, `ada ${n}`, 'ada')
  for (let n = 0; n < 1_000; n += 1) await pay(full, `eve ${n}`, 'eve')
  await pay(full, 'ada 40', 'ada')
  await pay(full, 'bob', 'bob')
  for (let n = 0; n < 41; n += 1)
    t.equal((await full.claim(claimOf(`ada ${n}`, 'ada'), 10))?.answer, `ada ${n}`)
  const run = async (n: number) => full.claim(claimOf(`eve runs ${n}`, 'eve'), 10)
  await Promise.allSettled(Array.from({ length: 100 }, (_, n) => run(n)))
  t.equal((await full.claim(claimOf('ada 0', 'ada'), 10))?.answer, 'ada 0', 'nor do requests that run')
  const even = memoryIdempotency({ maxKeys: 2, now: () => 0 })
  for (const [key, caller] of ['ada', 'eve', 'eve'].entries()) await pay(even, `${key}`, caller)
  t.equal((await even.claim(claimOf('0', 'ada'), 10))?.answer, '0', 'of equals, who asks makes room')
})

t.test('long answers are bounded: they count as several keys', async (t) => {
  const store = memoryIdempotency({ maxKeys: 20, now: () => 0 })
  const long = 'x'.repeat(8 * 4_096)
  for (const key of ['a', 'b', 'c']) await pay(store, key, undefined, long)
  t.equal(await store.claim(claimOf('a'), 10), null, '9 keys each: the first is gone')
  t.equal((await store.claim(claimOf('b'), 10))?.answer, long)
  await t.rejects(async () => store.complete(claimOf('a'), `${long}${long}${long}`, 10), /no room/)
  t.equal((await store.claim(claimOf('a'), 10))?.answer, null, 'its request still has the key')
})

t.test('a full store does not search all keys for each new one', async (t) => {
  const fillTwice = async ({ length }: string) => {
    const store = memoryIdempotency({ maxKeys: length / 8, now: () => 0 })
    for (let key = 0; key < length / 4; key += 1) await pay(store, String(key))
  }
  t.strictSame(await superlinearSeeds(['x'], fillTwice), [])
})

t.test('keys that have expired leave nothing in memory, though the store was never full', async (t) => {
  let time = 0
  const store = memoryIdempotency({ now: () => time })
  const expireMany = async (end: number) => {
    for (; time < end; time += 1) {
      const claim = claimOf(`${time}`, time % 2 === 0 ? null : `caller ${time}`)
      await store.claim(claim, 10)
      await store.complete(claim, 'x', 1)
      store.expire()
    }
    return readMemory().heap
  }
  await expireMany(20_000)
  const heaps: number[] = []
  for (let count = 1; count <= 3; count += 1) heaps.push(await expireMany(time + 40_000))
  const [first = 0, second = 0, third = 0] = heaps
  // V8 takes some megabytes once, at one reading or another. What leaks grows each time.
  const grown = Math.min(second - first, third - second)
  t.ok(grown < 2_000_000, `the heap grew: ${heaps.join(', ')} bytes`)
})
