// Own process: waits for Varnish
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type CacheProgram, skipWithout, startCache } from './cache-program.js'
import { startOrigin } from './origin.js'
import { keepsProxyRules } from './proxy-rules.js'
import { writesInvalidate } from './shared-cache-rules.js'

/**
 * Varnish, told to keep what is stale for the sake of its validators, and to drop what a write has changed
 * (RFC 9111 §4.4). Its own rules follow those here: they heed `private` and `no-store`.
 */
function varnishBefore(port: number): CacheProgram {
  return {
    program: 'varnishd',
    debianPackage: 'varnish',
    async configure(folder, socket) {
      await writeFile(
        join(folder, 'default.vcl'),
        `
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
        }`,
      )
      const isRoot = process.getuid?.() === 0
      return [
        ...['-F', '-n', join(folder, 'work'), '-f', join(folder, 'default.vcl'), '-a', socket],
        ...['-s', 'malloc,16m', '-T', 'none', '-p', 'default_grace=0', '-p', 'thread_pool_min=10'],
        // Without a jail the folder stays that of the test alone.
        ...(isRoot ? ['-j', 'none'] : []),
      ]
    },
  }
}

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
