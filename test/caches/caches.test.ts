// Own process: waits for nginx and Varnish, and for what gets stale; undici drops it soon after
/** What caches make of the headers of the package (RFC 9111): proxies, as programs of their own, and the cache of a client. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, cacheStores, type Dispatcher, fetch, interceptors } from 'undici'
import { until } from '../support/until.js'
import { type CacheProgram, nginxFolders, skipWithout, startProgram } from './cache-program.js'
import { greetings, type Origin, startOrigin } from './origin.js'

type Cache = ReturnType<typeof cacheThrough>
type CacheAnswer = Awaited<ReturnType<Cache>>

type Sent = { method?: string; headers?: Record<string, string>; body?: object }

const isRoot = process.getuid?.() === 0

/** What of a configuration makes nginx a cache that listens to the service; nothing says how long to keep what. */
const nginxBefore = (port: number): CacheProgram => ({
  program: 'nginx',
  debianPackage: 'nginx-light',
  async configure(folder, socket) {
    const configuration = `
      daemon off;
      ${isRoot ? 'user root root;' : ''}
      worker_processes 1;
      pid ${folder}/pid;
      error_log stderr warn;
      events {}
      http {
        access_log off;
        ${nginxFolders(folder)}
        proxy_cache_path ${folder}/kept keys_zone=kept:1m use_temp_path=off;
        server {
          listen unix:${socket};
          location / {
            proxy_pass http://127.0.0.1:${port};
            proxy_cache kept;
            proxy_cache_revalidate on;
            proxy_cache_background_update on;
            add_header X-Cache-Status $upstream_cache_status always;
          }
        }
      }`
    await writeFile(join(folder, 'nginx.conf'), configuration)
    return ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')]
  },
})

/**
 * Varnish, told to keep what is stale for the sake of its validators, and to drop what a write has changed
 * (RFC 9111 §4.4). Its own rules follow those here: they heed `private` and `no-store`.
 */
const varnishBefore = (port: number): CacheProgram => ({
  program: 'varnishd',
  debianPackage: 'varnish',
  async configure(folder, socket) {
    const configuration = `
      vcl 4.1;
      backend default { .host = "127.0.0.1"; .port = "${port}"; }
      sub vcl_hit {
        if (obj.ttl <= 0s) { set req.http.x-cache-status = "STALE"; }
      }
      sub vcl_backend_response {
        set beresp.keep = 1h;
        if (bereq.method ~ "^(PUT|PATCH|DELETE|POST)$" && beresp.status < 400) {
          ban("req.url == " + bereq.url);
        }
      }
      sub vcl_deliver {
        if (req.http.x-cache-status) { set resp.http.x-cache-status = req.http.x-cache-status; }
      }`
    await writeFile(join(folder, 'default.vcl'), configuration)
    return [
      ...['-F', '-n', join(folder, 'work'), '-f', join(folder, 'default.vcl'), '-a', socket],
      ...['-s', 'malloc,16m', '-T', 'none', '-p', 'default_grace=0', '-p', 'thread_pool_min=10'],
      // Without a jail the folder stays that of the test alone.
      ...(isRoot ? ['-j', 'none'] : []),
    ]
  },
})

for (const [name, programBefore] of Object.entries({ nginx: nginxBefore, Varnish: varnishBefore })) {
  t.test(name, { skip: skipWithout(programBefore(0)) }, async (t) => {
    const origin = await startOrigin(t)
    const { socket } = await startProgram(t, programBefore(origin.port))
    const agent = new Agent({ connect: { socketPath: socket } })
    t.teardown(() => agent.close())
    const cache = cacheThrough(agent, 'http://cache.test')
    await keepsSharedCacheRules(t, cache, origin, ({ headers }) => headers.get('x-cache-status') === 'STALE')

    await t.test('a 304 makes fresh again, for as long as it says', async (t) => {
      const path = '/v1/prices/same'
      t.equal(origin.asked(path), 2, 'it was revalidated once')
      for (let again = 0; again < 3; again++) t.match(await cache(path), { status: 200, text: 'same' })
      t.equal(origin.asked(path), 2)
    })
    if (name === 'Varnish') await writesInvalidate(t, cache, origin)
  })
}

t.test('the cache of undici, shared', async (t) => {
  const origin = await startOrigin(t)
  const cache = undiciBefore(t, origin, 'shared')
  await keepsSharedCacheRules(t, cache, origin, ({ headers }) => headers.has('warning'))
  await writesInvalidate(t, cache, origin)
})

t.test('the cache of undici, private', async (t) => {
  const origin = await startOrigin(t)
  const cache = undiciBefore(t, origin, 'private')

  await t.test('private is stored in a private cache, and reused without a request', async (t) => {
    const path = '/v1/profiles/mine'
    for (let time = 0; time < 3; time++) t.match(await cache(path), { status: 200, text: 'mine' })
    t.equal(origin.asked(path), 1)
  })

  await t.test('no-store is not stored in a private cache', (t) => isNeverStored(t, cache, origin, 'secrets'))

  await t.test('the response of a route without options is validated before each use', async (t) => {
    const path = '/v1/notes/said-nothing'
    t.match(await cache(path), { status: 200, text: 'said-nothing' })
    // Only this once: undici lets go of what it has where a 304 comes with Cache-Control, as it must.
    t.match(await cache(path), { status: 200, text: 'said-nothing' })
    t.equal(origin.asked(path), 2)
    t.equal(origin.made(path), 1)
    origin.write(path, 'new')
    t.match(await cache(path), { status: 200, text: 'new' })
  })

  await writesInvalidate(t, cache, origin)
})

/** The cache of an HTTP client, empty at first. */
function undiciBefore(t: Test, origin: Origin, type: 'shared' | 'private') {
  const agent = new Agent()
  t.teardown(() => agent.close())
  const store = new cacheStores.MemoryCacheStore()
  return cacheThrough(agent.compose(interceptors.cache({ store, type })), origin.url)
}

/** The cache that a dispatcher leads to, or is. A body is sent as JSON. */
function cacheThrough(dispatcher: Dispatcher, origin: string) {
  return async (path: string, { method = 'GET', headers = {}, body }: Sent = {}) => {
    const json = body && { body: JSON.stringify(body) }
    const type = body && { 'content-type': 'application/json' }
    const request = { method, dispatcher, headers: { ...type, ...headers }, ...json }
    const response = await fetch(origin + path, request)
    const received = await response.text()
    const { text } = (received === '' ? {} : JSON.parse(received)) as { text?: string }
    return { status: response.status, headers: response.headers, text }
  }
}

/** What a cache that many users share makes of the headers of the package (RFC 9111). Nothing was asked of the service yet. */
async function keepsSharedCacheRules(
  t: Test,
  cache: Cache,
  origin: Origin,
  isStale: (answer: CacheAnswer) => boolean,
): Promise<void> {
  // It grows stale while the others are tested.
  await cache('/v1/prices/changed')

  await t.test('what is fresh is served without the service', async (t) => {
    const path = '/v1/articles/fresh'
    for (let time = 1; time <= 3; time++) {
      const answer = await cache(path)
      t.match(answer, { status: 200, text: 'fresh' })
      t.equal(answer.headers.get('etag'), '"1"')
    }
    t.equal(origin.asked(path), 1)
  })

  await t.test('Vary keeps two languages apart', async (t) => {
    const path = '/v1/greetings/both'
    for (let again = 0; again < 2; again++) {
      for (const [language, text] of Object.entries(greetings)) {
        const answer = await cache(path, { headers: { 'accept-language': language } })
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
    const answer = await cache(path, { headers: { authorization: 'Bearer ada' } })
    t.match(answer.headers.get('cache-control'), /private/)
    await cache(path)
    t.equal(origin.made(path), 2)
    await cache(path)
    t.equal(origin.made(path), 2, 'a response to a request without credentials is stored')
  })

  await t.test('what depends on a caller, by a header of the app, is not given to another', async (t) => {
    const headers = { 'x-api-key': 'ada' }
    for (const [path, secret] of Object.entries({ '/v1/employees/1': 'salary', '/v1/badges/1': 'ada' })) {
      t.equal((await cache(path, { headers })).text, secret, path)
      t.not((await cache(path)).text, secret, path)
    }
  })

  await t.test('an error is not stored', async (t) => {
    for (let time = 1; time <= 2; time++) {
      t.match(await cache('/v1/nowhere'), { status: 404 })
      t.equal(origin.asked('/v1/nowhere'), time)
    }
  })

  await t.test('a precondition of a write comes through, and so does its 412', async (t) => {
    const path = '/v1/articles/written'
    const etag = (await cache(path)).headers.get('etag') ?? ''
    const write = (text: string) =>
      cache(path, { method: 'PUT', headers: { 'if-match': etag }, body: { text } })
    t.match(await write('first'), { status: 200, text: 'first' })
    t.match(await write('second'), { status: 412 })
  })

  await t.test('what is stale and still right is revalidated by a 304', async (t) => {
    const path = '/v1/prices/same'
    // Asked for here and not before: undici drops an entry about as long after its freshness as it was fresh.
    await cache(path)
    const ask = () => cache(path)
    const answer = await until(ask, () => origin.asked(path) > 1)
    t.match(answer, { status: 200, text: 'same' })
    t.equal(answer.headers.get('etag'), '"1"')
    t.equal(origin.made(path), 1, 'the handler did not run again')
  })

  await t.test('what is stale and has changed is fetched anew', async (t) => {
    const path = '/v1/prices/changed'
    origin.write(path, 'new')
    const ask = () => cache(path)
    const answer = await until(ask, ({ text }) => text === 'new')
    t.equal(answer.headers.get('etag'), '"2"')
    t.equal(origin.asked(path), 2)
    t.equal(origin.made(path), 2)
  })

  await t.test('stale-while-revalidate: the stale answer now, the new one after it', async (t) => {
    const path = '/v1/rates/late'
    // Asked for here and not before, as above.
    await cache(path)
    origin.write(path, 'new')
    const ask = () => cache(path)
    t.equal((await until(ask, isStale)).text, 'late')
    t.equal((await until(ask, ({ text }) => text === 'new')).status, 200)
  })
}

/** What a cache may not store, each request of which reaches the handler. */
async function isNeverStored(t: Test, cache: Cache, origin: Origin, collection: string): Promise<void> {
  const path = `/v1/${collection}/unstored`
  for (let time = 1; time <= 3; time++) {
    t.match(await cache(path), { status: 200, text: 'unstored' })
    t.equal(origin.made(path), time)
  }
}

/** RFC 9111 §4.4. */
async function writesInvalidate(t: Test, cache: Cache, origin: Origin): Promise<void> {
  await t.test('a write invalidates the stored response', async (t) => {
    const path = '/v1/articles/dropped'
    const { headers } = await cache(path)
    t.match(await cache(path), { text: 'dropped' })
    t.equal(origin.asked(path), 1)
    const write = { method: 'PUT', headers: { 'if-match': headers.get('etag') ?? '' }, body: { text: 'new' } }
    t.match(await cache(path, write), { status: 200 })
    t.match(await cache(path), { text: 'new' })
    t.equal(origin.made(path), 2)
  })
}
