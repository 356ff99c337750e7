/** The same service, minified into one file, and on a second copy of Fastify: nothing depends on either. */
import { cp, mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { buildService } from './bundled-service.js'
import { keepsConventions } from './service-checks.js'

const require = createRequire(import.meta.url)
const root = fileURLToPath(new URL('../..', import.meta.url))
t.test('the service from the sources', async (t) => keepsConventions(t, await buildService()))

t.test('bundled and minified: no decision rests on the name of a function', async (t) => {
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

t.test('two copies of Fastify in one process: each app keeps the conventions, in either order', async (t) => {
  const folder = t.testdir()
  const copy = join(folder, 'node_modules/fastify')
  await mkdir(join(folder, 'node_modules'))
  await cp(join(root, 'node_modules/fastify'), copy, { recursive: true })
  const second = require(copy) as NonNullable<Parameters<typeof buildService>[0]>
  t.not(second, require('fastify'), 'another copy')
  for (const create of [second, undefined, second]) await keepsConventions(t, await buildService(create))
})
