import { readdirSync } from 'node:fs'
import { defineConfig } from 'tsup'

const plugins = readdirSync(new URL('src/plugins', import.meta.url))

/** One entry per subpath of package.json `exports`; shared code is split out so that every entry sees the same classes. */
export default defineConfig({
  entry: {
    index: 'src/index.ts',
    ...Object.fromEntries(plugins.map((name) => [name, `src/plugins/${name}/index.ts`])),
    client: 'src/client/index.ts',
    'engines/bullmq': 'src/engines/bullmq.ts',
    'stores/postgres': 'src/stores/postgres.ts',
    'stores/redis': 'src/stores/redis.ts',
    testing: 'src/testing/index.ts',
  },
  format: ['esm', 'cjs'],
  target: 'node20',
  platform: 'node',
  outDir: 'dist',
  splitting: true,
  dts: true,
  treeshake: true,
})
