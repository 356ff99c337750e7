import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../support/child.js'

type Manifest = Record<'version' | 'main' | 'module' | 'types', string> &
  Record<'dependencies' | 'peerDependencies', Record<string, string>> & {
    readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
    readonly exports: Readonly<Record<string, unknown>>
  }

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Packs what is built, into a folder; the caller has built it, or `npm test` has. */
export async function pack(into: string) {
  const { filename, ...packed } = await packedBy('--pack-destination', into)
  return { path: join(into, filename), ...packed }
}

/** Returns what {@link pack} would pack: the paths, and the bytes after the installation. */
export async function packedBy(...options: readonly string[]) {
  const out = await runCommand('npm', ['pack', '--json', '--ignore-scripts', ...options], root)
  const [packed]: { filename: string; unpackedSize: number; files: { path: string }[] }[] = JSON.parse(out)
  if (packed === undefined) throw new Error(`npm pack told nothing: ${out}`)
  return { ...packed, files: packed.files.map(({ path }) => path) }
}

/** package.json of this package, or of one that it has installed. */
export function manifestOf(dependency?: string): Manifest {
  const folder = dependency === undefined ? root : join(root, 'node_modules', dependency)
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}
