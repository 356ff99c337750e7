// Own process: waits for nginx and Varnish
/** Proxies that cache, as programs of their own. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type CacheProgram, nginxFolders, skipWithout, startCache } from './cache-program.js'
import { type Origin, startOrigin } from './origin.js'
import { type Cache, keepsSharedCacheRules, writesInvalidate } from './shared-cache-rules.js'

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

t.test('nginx', { skip: skipWithout(nginxBefore(0)) }, async (t) => {
  const origin = await startOrigin(t)
  const cache = await startCache(t, nginxBefore(origin.port))
  await keepsProxyRules(t, cache, origin)

  await t.test('the disk cache has storable responses only', async (t) => {
    for (const path of ['articles/kept-by-all', 'secrets/kept-by-nobody', 'profiles/kept-by-one'])
      await cache.call(`/v1/${path}`)
    const folder = join(cache.folder, 'kept')
    const files = (await readdir(folder)).map((file) => readFile(join(folder, file), 'latin1'))
    const kept = (await Promise.all(files)).join('')
    t.match(kept, '"text":"kept-by-all"')
    t.notMatch(kept, /kept-by-(nobody|one)/)
  })
})

t.test('Varnish', { skip: skipWithout(varnishBefore(0)) }, async (t) => {
  const origin = await startOrigin(t)
  const cache = await startCache(t, varnishBefore(origin.port))
  await keepsProxyRules(t, cache, origin)
  await writesInvalidate(t, cache, origin)

  await t.test('a refused write invalidates nothing', async (t) => {
    const path = '/v1/articles/kept'
    await cache.call(path)
    const refused = { method: 'PUT', headers: { 'if-match': '"0"' }, body: { text: 'refused' } }
    t.match(await cache.call(path, refused), { status: 412 })
    t.match(await cache.call(path), { text: 'kept' })
    t.equal(origin.made(path), 1)
  })
})

/** The rules of a shared cache, and what a proxy does for its clients; nothing was asked of the service yet. */
async function keepsProxyRules(t: Test, cache: Cache, origin: Origin): Promise<void> {
  await keepsSharedCacheRules(t, cache, origin, ({ headers }) => headers.get('x-cache-status') === 'STALE')

  await t.test('a 304 makes fresh again, for as long as it says', async (t) => {
    const path = '/v1/prices/same'
    t.equal(origin.asked(path), 2, 'it was revalidated once')
    for (let again = 0; again < 3; again++) t.match(await cache.call(path), { status: 200, text: 'same' })
    t.equal(origin.asked(path), 2)
  })

  await t.test('a client that has it already gets a 304 from the proxy', async (t) => {
    const path = '/v1/articles/known'
    const etag = (await cache.call(path)).headers.get('etag') ?? ''
    const ask = (tag: string) => cache.call(path, { headers: { 'if-none-match': tag } })
    t.match(await ask(etag), { status: 304, text: undefined })
    t.match(await ask('"other"'), { status: 200, text: 'known' })
    t.equal(origin.asked(path), 1)
  })
}
