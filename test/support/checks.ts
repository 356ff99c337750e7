/** Packages that only some tests need: `npm run checks:install` installs them in checks/. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const manifest = fileURLToPath(new URL('../../checks/package.json', import.meta.url))
const { resolve } = createRequire(manifest)

export const checkPackages = join(manifest, '..', 'node_modules')

/** Are they not installed? Then their tests are skipped with these words; where `CI` is set they fail. */
export function skipWithoutChecks(): string | false {
  if (existsSync(checkPackages) || process.env.CI) return false
  return 'the packages of checks/ are not installed (npm run checks:install)'
}

/** Imports one of them. */
export async function importCheck<Exports extends object>(name: string): Promise<Exports> {
  const exports: Exports & { readonly default?: Exports } = await import(pathToFileURL(resolve(name)).href)
  // What a CommonJS module exports is its default export.
  return exports.default ?? exports
}
