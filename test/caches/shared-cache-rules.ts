import type { Test } from 'tap'
import { type Dispatcher, fetch } from 'undici'
import { until } from '../support/until.js'
import { greetings, type Origin } from './origin.js'

/** A cache in front of a service. */
export interface Cache {
  call(
    path: string,
    /** A body is sent as JSON. */
    sent?: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: object },
  ): Promise<CacheAnswer>
}

/** What came back through a cache. */
interface CacheAnswer {
  readonly status: number
  readonly headers: Pick<Headers, 'get' | 'has'>
  /** The `text` of an item, or of a greeting; `undefined` where there is no body. */
  readonly text: string | undefined
}

/** The cache that a dispatcher leads to, or is. */
export function cacheThrough(dispatcher: Dispatcher, origin: string): Cache {
  return {
    async call(path, { method = 'GET', headers = {}, body } = {}) {
      const json = body && { body: JSON.stringify(body) }
      const type = body && { 'content-type': 'application/json' }
      const request = { method, dispatcher, headers: { ...type, ...headers }, ...json }
      const response = await fetch(origin + path, request)
      const received = await response.text()
      const { text } = (received === '' ? {} : JSON.parse(received)) as { text?: string }
      return { status: response.status, headers: response.headers, text }
    },
  }
}

/** What a cache that many users share makes of the headers of the package (RFC 9111). Nothing was asked of the service yet. */
export async function keepsSharedCacheRules(
  t: Test,
  cache: Cache,
  origin: Origin,
  isStale: (answer: CacheAnswer) => boolean,
): Promise<void> {
  // It grows stale while the others are tested.
  await cache.call('/v1/prices/changed')

  await t.test('what is fresh is served without the service', async (t) => {
    const path = '/v1/articles/fresh'
    for (let time = 1; time <= 3; time++) {
      const answer = await cache.call(path)
      t.match(answer, { status: 200, text: 'fresh' })
      t.equal(answer.headers.get('etag'), '"1"')
    }
    t.equal(origin.asked(path), 1)
  })

  await t.test('Vary keeps two languages apart', async (t) => {
    const path = '/v1/greetings/both'
    for (let again = 0; again < 2; again++) {
      for (const [language, text] of Object.entries(greetings)) {
        const answer = await cache.call(path, { headers: { 'accept-language': language } })
        t.equal(answer.text, text, language)
        t.match(answer.headers.get('vary'), /accept-language/i)
      }
    }
    t.equal(origin.made(path), 2, 'each language once')
  })

  await t.test('no-store is never stored', (t) => isNeverStored(t, cache, origin, 'secrets'))
  await t.test('private is not shared', (t) => isNeverStored(t, cache, origin, 'profiles'))

  await t.test('what somebody with credentials got is not given to another', async (t) => {
    const path = '/v1/drafts/own'
    const answer = await cache.call(path, { headers: { authorization: 'Bearer ada' } })
    t.match(answer.headers.get('cache-control'), /private/)
    await cache.call(path)
    t.equal(origin.made(path), 2)
    await cache.call(path)
    t.equal(origin.made(path), 2, 'a response to a request without credentials is stored')
  })

  await t.test('what depends on a caller, by a header of the app, is not given to another', async (t) => {
    const headers = { 'x-api-key': 'ada' }
    for (const [path, secret] of Object.entries({ '/v1/employees/1': 'salary', '/v1/badges/1': 'ada' })) {
      t.equal((await cache.call(path, { headers })).text, secret, path)
      t.not((await cache.call(path)).text, secret, path)
    }
  })

  await t.test('an error is not stored', async (t) => {
    for (let time = 1; time <= 2; time++) {
      t.match(await cache.call('/v1/nowhere'), { status: 404 })
      t.equal(origin.asked('/v1/nowhere'), time)
    }
  })

  await t.test('a precondition of a write comes through, and so does its 412', async (t) => {
    const path = '/v1/articles/written'
    const etag = (await cache.call(path)).headers.get('etag') ?? ''
    const write = (text: string) =>
      cache.call(path, { method: 'PUT', headers: { 'if-match': etag }, body: { text } })
    t.match(await write('first'), { status: 200, text: 'first' })
    t.match(await write('second'), { status: 412 })
  })

  await t.test('what is stale and still right is revalidated by a 304', async (t) => {
    const path = '/v1/prices/same'
    // Asked for here and not before: undici drops an entry about as long after its freshness as it was fresh.
    await cache.call(path)
    const answer = await until(
      () => cache.call(path),
      () => origin.asked(path) > 1,
    )
    t.match(answer, { status: 200, text: 'same' })
    t.equal(answer.headers.get('etag'), '"1"')
    t.equal(origin.made(path), 1, 'the handler did not run again')
  })

  await t.test('what is stale and has changed is fetched anew', async (t) => {
    const path = '/v1/prices/changed'
    origin.write(path, 'new')
    const answer = await until(
      () => cache.call(path),
      ({ text }) => text === 'new',
    )
    t.equal(answer.headers.get('etag'), '"2"')
    t.equal(origin.asked(path), 2)
    t.equal(origin.made(path), 2)
  })

  await t.test('stale-while-revalidate: the stale answer now, the new one after it', async (t) => {
    const path = '/v1/rates/late'
    // Asked for here and not before, as above.
    await cache.call(path)
    origin.write(path, 'new')
    const stale = await until(() => cache.call(path), isStale)
    t.equal(stale.text, 'late')
    await until(
      () => cache.call(path),
      ({ text }) => text === 'new',
    )
    t.pass('the new one')
  })
}

/** What a cache may not store, each request of which reaches the handler. */
export async function isNeverStored(
  t: Test,
  cache: Cache,
  origin: Origin,
  collection: string,
): Promise<void> {
  const path = `/v1/${collection}/unstored`
  for (let time = 1; time <= 3; time++) {
    t.match(await cache.call(path), { status: 200, text: 'unstored' })
    t.equal(origin.made(path), time)
  }
}

/** RFC 9111 §4.4. */
export async function writesInvalidate(t: Test, cache: Cache, origin: Origin): Promise<void> {
  await t.test('a write invalidates the stored response', async (t) => {
    const path = '/v1/articles/dropped'
    const { headers } = await cache.call(path)
    t.match(await cache.call(path), { text: 'dropped' })
    t.equal(origin.asked(path), 1)
    const write = { method: 'PUT', headers: { 'if-match': headers.get('etag') ?? '' }, body: { text: 'new' } }
    t.match(await cache.call(path, write), { status: 200 })
    t.match(await cache.call(path), { text: 'new' })
    t.equal(origin.made(path), 2)
  })
}
