/** A service, minified into one file: no decision rests on the name of a function. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { keepsConventions } from './service-checks.js'

const require = createRequire(import.meta.url)
const root = fileURLToPath(new URL('../..', import.meta.url))
t.test('a minified service keeps the conventions', async (t) => {
  const outfile = join(t.testdir(), 'service.cjs')
  await build({
    entryPoints: [join(root, 'test/package/bundled-service.ts')],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
  })
  const minified = require(outfile) as typeof import('./bundled-service.js')
  await keepsConventions(t, await minified.buildService())
  await t.rejects(
    async () => minified.buildUnawaited().ready(),
    { code: 'FST_CONV_FINDINGS' },
    'a bundler does not drop the watch over routes',
  )
})
