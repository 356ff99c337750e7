import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bundles = join(root, '.cache', 'tests')

/**
 * The arguments with which Node runs a TypeScript program in a process of its own: its bundle where `npm test` has made
 * one, else its source through tsx.
 */
export function programArguments(source: URL): string[] {
  const path = fileURLToPath(source)
  const bundle = join(bundles, relative(root, path).replace(/\.ts$/, '.js'))
  const isBundled = process.argv[1]?.startsWith(bundles) === true && existsSync(bundle)
  return isBundled ? ['--enable-source-maps', bundle] : ['--import', 'tsx', path]
}
