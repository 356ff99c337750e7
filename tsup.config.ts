import { readdirSync } from 'node:fs'
import { defineConfig, type Options } from 'tsup'
import { importBuiltins, markPure, requireInCommonJs, subpathsOfRoot } from './scripts/build-plugins.js'

const plugins = readdirSync(new URL('src/plugins', import.meta.url))

const conventions = {
  index: 'src/index.ts',
  ...Object.fromEntries(plugins.map((name) => [name, `src/plugins/${name}/index.ts`])),
  convention: 'src/convention/index.ts',
}

const companions = {
  client: 'src/client/index.ts',
  'dev-issuer': 'src/dev-issuer/index.ts',
  'engines/bullmq': 'src/plugins/operations/engines/bullmq.ts',
  'engines/pg-boss': 'src/plugins/operations/engines/pg-boss.ts',
  'stores/postgres': 'src/stores/postgres.ts',
  'stores/redis': 'src/stores/redis.ts',
  testing: 'src/testing/index.ts',
  typebox: 'src/schema/typebox.ts',
  zod: 'src/schema/zod.ts',
}

const shared: Options = {
  target: 'node20',
  platform: 'node',
  // As importBuiltins needs it.
  removeNodeProtocol: false,
}

const modules: Options = {
  ...shared,
  format: ['esm', 'cjs'],
  outDir: 'dist',
  treeshake: { moduleSideEffects: false },
  esbuildOptions(options) {
    options.minifyWhitespace = true
    options.minifyIdentifiers = true
  },
  esbuildPlugins: [importBuiltins, subpathsOfRoot],
  plugins: [markPure, requireInCommonJs],
}

/** One entry per subpath of package.json `exports`. */
const library = [
  // The conventions are one file, which loads in half the time of seventy; their subpaths export from it. Bundlers leave
  // out what a service does not import.
  { ...modules, entry: conventions, splitting: false },
  { ...modules, entry: companions, splitting: true },
]

/** One build, so that all subpaths have the same types. */
const types: Options = { ...modules, entry: { ...conventions, ...companions }, dts: { only: true } }

/** The program of package.json `bin`, which imports the root of the package as the app does. */
const program: Options = {
  ...shared,
  entry: ['src/cli/index.ts', 'src/cli/check-process.ts'],
  external: ['../index.js'],
  format: 'esm',
  outDir: 'dist/cli',
  splitting: false,
  esbuildPlugins: [importBuiltins],
}

export default defineConfig(({ dts }) => [...library, program, ...(dts === false ? [] : [types])])
