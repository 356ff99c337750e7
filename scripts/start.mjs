// Starts a program of the demo. It is bundled with the sources of the package first: that takes a second, and a build a
// quarter of a minute.
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
// The esbuild of tsup, which builds the package.
const { buildSync } = createRequire(require.resolve('tsup'))('esbuild')

const [program = 'main'] = process.argv.slice(2)
const sources = new URL('../examples/demo-server/', import.meta.url)
const bundles = new URL('../.cache/demo/', import.meta.url)

buildSync({
  entryPoints: [fileURLToPath(new URL(`${program}.ts`, sources))],
  outdir: fileURLToPath(bundles),
  bundle: true,
  splitting: true,
  alias: {
    'fastify-conventions': './src',
    'fastify-conventions/typebox': './src/schema/typebox',
    'fastify-conventions/engines': './src/plugins/operations/engines',
  },
  absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // The files of the playground are found from there.
  define: { 'import.meta.url': JSON.stringify(sources.href) },
})
await import(new URL(`${program}.js`, bundles).href)
