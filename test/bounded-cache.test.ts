/** A cache whose keys clients choose has a bound. */
import fc from 'fast-check'
import t from 'tap'
import { readMemory } from '../bench/memory.js'
import { BoundedCache } from '../src/bounded-cache.js'

t.test('a new entry removes the oldest one if the cache is full', async (t) => {
  const cache = new BoundedCache<string, number>(2)
  cache.set('a', 1)
  cache.set('b', 2)
  cache.set('c', 3)
  t.same([cache.get('a'), cache.get('b'), cache.get('c')], [undefined, 2, 3])
})

t.test('a known key takes no additional place', async (t) => {
  const cache = new BoundedCache<string, number>(2)
  cache.set('a', 1)
  cache.set('b', 2)
  cache.set('a', 3)
  t.same([cache.get('a'), cache.get('b')], [3, 2])
})

t.test('any key and any value can be kept, undefined too', async (t) => {
  const cache = new BoundedCache<unknown, unknown>(3)
  cache.set(undefined, 'nothing')
  cache.set(Number.NaN, null)
  cache.set('a', false)
  t.same([cache.get(undefined), cache.get(Number.NaN), cache.get('a')], ['nothing', null, false])
  cache.set('b', 0)
  t.equal(cache.get(undefined), undefined, 'the oldest, though its key is undefined')
  t.same([cache.get(Number.NaN), cache.get('a'), cache.get('b')], [null, false, 0], 'and no other')
})

t.test('the cache equals a list that drops what was set first when it is full', async () => {
  const sets = fc.array(fc.tuple(fc.nat(9), fc.nat()), { maxLength: 60 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), sets, (most, pairs) => {
      const cache = new BoundedCache<number, number>(most)
      let model: (readonly [key: number, value: number])[] = []
      for (const [key, value] of pairs) {
        cache.set(key, value)
        model = [...model.filter(([known]) => known !== key), [key, value] as const].slice(-most)
        const keys = Array.from({ length: 10 }, (_, index) => index)
        if (!keys.every((known) => cache.get(known) === new Map(model).get(known))) return false
      }
      return true
    }),
  )
})

t.test('a cache of size 0 keeps nothing', async (t) => {
  const cache = new BoundedCache<string, number>(0)
  cache.set('a', 1)
  t.equal(cache.get('a'), undefined)
})

t.test('a key that is set over and over leaves nothing in memory', async (t) => {
  const cache = new BoundedCache<string, number>(1_000)
  const before = readMemory().heap
  for (let time = 0; time < 200_000; time += 1) cache.set('a', time)
  const grown = readMemory().heap - before
  t.equal(cache.get('a'), 199_999)
  t.ok(grown < 5_000_000, `the heap grew by ${grown} bytes`)
})
