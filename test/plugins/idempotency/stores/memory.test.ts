import t from 'tap'
import { memoryIdempotency } from '../../../../src/plugins/idempotency/stores/memory.js'
import { idempotencyStoreContract } from '../../../../src/testing/idempotency-store-contract.js'
import { superlinearSeeds } from '../../../support/growth.js'

for (const { name, run } of idempotencyStoreContract({
  async open() {
    const store = memoryIdempotency()
    return [store, store]
  },
})) {
  t.test(`in memory: ${name}`, async (t) => {
    await run()
    t.pass(name)
  })
}

const claimOf = (key: string) => ({ key, token: `token of ${key}`, fingerprint: '' })

t.test('a full store forgets the answer that was kept first, and no request that runs', async (t) => {
  const store = memoryIdempotency({ maxKeys: 3, now: () => 0 })
  for (const key of ['a', 'b', 'c']) await store.claim(claimOf(key), 10)
  await t.rejects(async () => store.claim(claimOf('d'), 10), { name: 'IdempotencyStoreFullError' })
  await store.complete(claimOf('c'), 'c', 10)
  await store.complete(claimOf('b'), 'b', 10)
  t.equal(await store.claim(claimOf('d'), 10), null, 'the answer c makes room')
  t.equal((await store.claim(claimOf('b'), 10))?.answer, 'b')
  t.equal((await store.claim(claimOf('a'), 10))?.answer, null)
})

t.test('bytes of answers are bounded', async (t) => {
  // A hundredth of the 64 MiB, two bytes for each character.
  const part = (count: number) => 'x'.repeat((count * 671_088) / 2)
  const store = memoryIdempotency({ now: () => 0 })
  for (const key of ['a', 'b', 'c']) {
    await store.claim(claimOf(key), 10)
    await store.complete(claimOf(key), part(40), 10)
  }
  t.equal(await store.claim(claimOf('a'), 10), null, '40 parts each: the first is gone')
  t.equal((await store.claim(claimOf('b'), 10))?.answer?.length, part(40).length)
  t.equal((await store.claim(claimOf('c'), 10))?.answer?.length, part(40).length)
  await t.rejects(async () => store.complete(claimOf('a'), part(102), 10), {
    name: 'IdempotencyStoreFullError',
  })
  t.equal((await store.claim(claimOf('a'), 10))?.answer, null, 'its request still has the key')
})

t.test('what is over makes room before an answer that is kept', async (t) => {
  let time = 0
  const store = memoryIdempotency({ maxKeys: 2, now: () => time })
  await store.claim(claimOf('a'), 10)
  await store.complete(claimOf('a'), 'a', 100)
  await store.claim(claimOf('b'), 10)
  time = 10
  t.equal(await store.claim(claimOf('c'), 10), null, 'the lease of b has ended')
  t.equal((await store.claim(claimOf('a'), 10))?.answer, 'a')
})

t.test('a full store does not search all keys for each new one', async (t) => {
  const fillTwice = async ({ length }: string) => {
    const store = memoryIdempotency({ maxKeys: length / 8, now: () => 0 })
    for (let key = 0; key < length / 4; key += 1) {
      await store.claim(claimOf(String(key)), 10)
      await store.complete(claimOf(String(key)), '{}', 10)
    }
  }
  t.strictSame(await superlinearSeeds(['x'], fillTwice), [])
})

t.test('a bad option throws', async (t) => {
  t.throws(() => memoryIdempotency({ maxKeys: 0 }), { code: 'FST_CONV_OPTION_INVALID' })
})
