import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** What of esbuild is used; it comes with tsup. */
interface Esbuild {
  build(options: Readonly<Record<string, unknown>>): Promise<{
    readonly outputFiles: readonly { readonly text: string }[]
  }>
}

const entry = fileURLToPath(new URL('../../src/client/index.ts', import.meta.url))
const requireOfTsup = createRequire(createRequire(import.meta.url).resolve('tsup'))

/** The client with all that it imports, minified: as a module, or as a script that sets the global `client`. */
export async function bundleClient(format: 'esm' | 'iife'): Promise<string> {
  const { build } = requireOfTsup('esbuild') as Esbuild
  const options = { entryPoints: [entry], bundle: true, minify: true, write: false, platform: 'neutral' }
  const named = format === 'iife' ? { globalName: 'client' } : {}
  const { outputFiles } = await build({ ...options, ...named, format })
  return outputFiles[0]?.text ?? ''
}
