// Own process: waits for nginx
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type CacheProgram, nginxFolders, skipWithout, startCache } from './cache-program.js'
import { startOrigin } from './origin.js'
import { keepsProxyRules } from './proxy-rules.js'

/** What of a configuration makes nginx a cache that listens to the service; nothing says how long to keep what. */
function nginxBefore(port: number): CacheProgram {
  return {
    program: 'nginx',
    debianPackage: 'nginx-light',
    async configure(folder, socket) {
      await writeFile(
        join(folder, 'nginx.conf'),
        `
        daemon off;
        ${process.getuid?.() === 0 ? 'user root root;' : ''}
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
        }`,
      )
      return ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')]
    },
  }
}

t.test('nginx', { skip: skipWithout(nginxBefore(0)) }, async (t) => {
  const origin = await startOrigin(t)
  const cache = await startCache(t, nginxBefore(origin.port))
  await keepsProxyRules(t, cache, origin)

  await t.test('the disk cache has storable responses only', async (t) => {
    await cache.call('/v1/articles/kept-by-all')
    await cache.call('/v1/secrets/kept-by-nobody')
    await cache.call('/v1/profiles/kept-by-one')
    const folder = join(cache.folder, 'kept')
    const files = await Promise.all(
      (await readdir(folder)).map((file) => readFile(join(folder, file), 'latin1')),
    )
    const kept = files.join('')
    t.match(kept, '"text":"kept-by-all"')
    t.notMatch(kept, 'kept-by-nobody')
    t.notMatch(kept, 'kept-by-one')
  })
})
