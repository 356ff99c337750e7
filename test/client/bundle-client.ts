import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const entry = fileURLToPath(new URL('../../src/client/index.ts', import.meta.url))
const requireOfTsup = createRequire(createRequire(import.meta.url).resolve('tsup'))

/** The client with all files that it imports, minified: as a module, or as a script that sets the global `client`. */
export async function bundleClient(format: 'esm' | 'iife'): Promise<string> {
  const { build } = requireOfTsup('esbuild')
  const options = { entryPoints: [entry], bundle: true, minify: true, write: false, platform: 'neutral' }
  const named = format === 'iife' ? { globalName: 'client' } : {}
  const { outputFiles } = await build({ ...options, ...named, packages: 'external', format })
  return outputFiles[0].text
}
