// Starts a program of the demo. It is bundled first: Node.js loads packages in less time without a loader for TypeScript.
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
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // The files of the playground are beside the sources.
  define: { 'import.meta.url': JSON.stringify(sources.href) },
})
await import(new URL(`${program}.js`, bundles).href)
