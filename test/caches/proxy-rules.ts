import type { Test } from 'tap'
import type { Cache } from './cache-client.js'
import type { Origin } from './origin.js'
import { keepsSharedCacheRules } from './shared-cache-rules.js'

/**
 * The rules of a shared cache, and what a proxy does for its clients. It has to say `STALE` in `X-Cache-Status`.
 *
 * @param origin the service behind the cache, of which nothing was asked yet
 */
export async function keepsProxyRules(t: Test, cache: Cache, origin: Origin): Promise<void> {
  await keepsSharedCacheRules(t, cache, origin, ({ headers }) => headers.get('x-cache-status') === 'STALE')

  await t.test('a 304 makes fresh again, for as long as it says', async (t) => {
    const path = '/v1/prices/same'
    const asked = origin.asked(path)
    t.equal(asked, 2, 'it was revalidated once')
    for (let again = 0; again < 3; again++) t.match(await cache.call(path), { status: 200, text: 'same' })
    t.equal(origin.asked(path), asked)
  })

  await t.test('a client that has it already gets a 304 from the proxy', async (t) => {
    const path = '/v1/articles/known'
    const etag = (await cache.call(path)).headers.get('etag') ?? ''
    t.match(await cache.call(path, { headers: { 'if-none-match': etag } }), { status: 304, text: undefined })
    t.match(await cache.call(path, { headers: { 'if-none-match': '"other"' } }), {
      status: 200,
      text: 'known',
    })
    t.equal(origin.asked(path), 1)
  })
}
