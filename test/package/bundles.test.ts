/** The package in bundles, and what an import of it costs: the code in a bundle, and the modules that Node loads. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { keepsConventions } from './service-checks.js'

const require = createRequire(import.meta.url)
const root = fileURLToPath(new URL('../..', import.meta.url))
const plugins = readdirSync(new URL('../../src/plugins', import.meta.url))

t.test('a bundle has only the code of the imported conventions', async (t) => {
  for (const plugin of plugins) {
    const name = plugin.replace(/-./g, ([, letter = '']) => letter.toUpperCase())
    const ofRoot = await bundle(`export { ${name} } from 'fastify-conventions'`)
    const ofSubpath = await bundle(`export { ${name} } from 'fastify-conventions/${plugin}'`)
    t.ok(ofRoot.length <= 1.3 * ofSubpath.length, `${name} of the root: ${ofRoot.length} characters`)
    const conventions = [...ofRoot.matchAll(/\(\{\s*name:\s*"(\w+)",\s*rules\b/g)].map(([, one]) => one)
    t.same(conventions, [name], 'one convention')
  }
})

t.test('the packages of a convention are not loaded before it is registered', (t) => {
  const script = `Object.keys(require.cache).filter((path) => /@fastify.(cors|rate-limit)|node_modules.helmet|\\bajv\\b/.test(path))`
  for (const load of [`require('fastify-conventions')`, `import('fastify-conventions')`]) {
    const program = `(async () => { await ${load}; console.log(JSON.stringify(${script})) })()`
    t.same(JSON.parse(execFileSync(process.execPath, ['-e', program], { cwd: root, encoding: 'utf8' })), [])
  }
  t.end()
})

t.test('the CommonJS build loads packages with require(), except packages that have ES modules only', (t) => {
  const dist = new URL('../../dist/', import.meta.url)
  for (const file of readdirSync(dist).filter((name) => name.endsWith('.cjs'))) {
    const code = readFileSync(new URL(file, dist), 'utf8')
    t.notMatch(code, /\bimport\((?!["'](?:jose|oidc-provider)["']\))/, file)
  }
  t.end()
})

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

/** The code of this package in a bundle; packages stay outside, so that only our own code is counted. */
async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minifyWhitespace: true,
    platform: 'node',
    format: 'esm',
    external: 'fastify fastify-plugin @fastify/* ajv helmet pluralize bullmq pg pg-boss ioredis'.split(' '),
    write: false,
    logLevel: 'error',
  })
  return outputFiles.map(({ text }) => text).join('')
}
