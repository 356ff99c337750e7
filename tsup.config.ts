import { readdirSync } from 'node:fs'
import { defineConfig } from 'tsup'
import { markPure, requireInCommonJs, subpathsOfRoot } from './scripts/build-plugins.js'

const plugins = readdirSync(new URL('src/plugins', import.meta.url))

/**
 * One entry per subpath of package.json `exports`. The conventions are one file, `index`, which loads in half the time of
 * seventy; their subpaths export from it. Bundlers leave out what a service does not import.
 */
const library = defineConfig({
  entry: {
    index: 'src/index.ts',
    ...Object.fromEntries(plugins.map((name) => [name, `src/plugins/${name}/index.ts`])),
    client: 'src/client/index.ts',
    convention: 'src/convention/index.ts',
    'dev-issuer': 'src/dev-issuer/index.ts',
    'engines/bullmq': 'src/plugins/operations/engines/bullmq.ts',
    'engines/pg-boss': 'src/plugins/operations/engines/pg-boss.ts',
    'stores/postgres': 'src/stores/postgres.ts',
    'stores/redis': 'src/stores/redis.ts',
    testing: 'src/testing/index.ts',
    typebox: 'src/schema/typebox.ts',
    zod: 'src/schema/zod.ts',
  },
  format: ['esm', 'cjs'],
  target: 'node20',
  platform: 'node',
  outDir: 'dist',
  splitting: true,
  dts: true,
  treeshake: { moduleSideEffects: false },
  esbuildOptions(options) {
    options.minifyWhitespace = true
    options.minifyIdentifiers = true
  },
  esbuildPlugins: [subpathsOfRoot],
  plugins: [markPure, requireInCommonJs],
})

/** The program of package.json `bin`, which imports the root of the package as the app does. */
const program = defineConfig({
  entry: ['src/cli/index.ts', 'src/cli/check-process.ts'],
  external: ['../index.js'],
  format: 'esm',
  target: 'node20',
  platform: 'node',
  outDir: 'dist/cli',
  splitting: false,
})

export default [library, program]
