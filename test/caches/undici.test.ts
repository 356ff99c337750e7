// Own process: waits for what gets stale; undici drops it soon after
import t, { type Test } from 'tap'
import { Agent, cacheStores, interceptors } from 'undici'
import { type Origin, startOrigin } from './origin.js'
import {
  type Cache,
  cacheThrough,
  isNeverStored,
  keepsSharedCacheRules,
  writesInvalidate,
} from './shared-cache-rules.js'

t.test('the cache of undici, shared', async (t) => {
  const origin = await startOrigin(t)
  const cache = cacheOf(t, origin, 'shared')
  await keepsSharedCacheRules(t, cache, origin, ({ headers }) => headers.has('warning'))
  await writesInvalidate(t, cache, origin)
})

t.test('the cache of undici, private', async (t) => {
  const origin = await startOrigin(t)
  const cache = cacheOf(t, origin, 'private')

  await t.test('private is stored in a private cache, and reused without a request', async (t) => {
    const path = '/v1/profiles/mine'
    for (let time = 0; time < 3; time++) t.match(await cache.call(path), { status: 200, text: 'mine' })
    t.equal(origin.asked(path), 1)
  })

  await t.test('no-store is not stored in a private cache', (t) => isNeverStored(t, cache, origin, 'secrets'))

  await t.test('the response of a route without options is validated before each use', async (t) => {
    const path = '/v1/notes/said-nothing'
    t.match(await cache.call(path), { status: 200, text: 'said-nothing' })
    // Only this once: undici lets go of what it has where a 304 comes with Cache-Control, as it must.
    t.match(await cache.call(path), { status: 200, text: 'said-nothing' })
    t.equal(origin.asked(path), 2)
    t.equal(origin.made(path), 1)
    origin.write(path, 'new')
    t.match(await cache.call(path), { status: 200, text: 'new' })
  })

  await writesInvalidate(t, cache, origin)
})

/** The cache of an HTTP client, empty at first. */
function cacheOf(t: Test, origin: Origin, type: 'shared' | 'private'): Cache {
  const agent = new Agent()
  t.teardown(() => agent.close())
  const store = new cacheStores.MemoryCacheStore()
  return cacheThrough(agent.compose(interceptors.cache({ store, type })), origin.url)
}
