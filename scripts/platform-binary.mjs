// The programs of Node.js, Bun and Deno, out of the packages in the npm registry that have the binary of one platform. The
// packages `node`, `bun` and `deno` install theirs by an install script, and these are often disabled.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const { arch, platform } = process
const cache = fileURLToPath(new URL('../.cache/', import.meta.url))

/** Package and path of each program; the names differ by platform as in the packages `node`, `bun` and `deno`. */
const programs = {
  node: {
    package: `${platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node'}-${platform}-${arch}`,
    path: 'bin/node',
  },
  bun: { package: `@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}`, path: 'bin/bun' },
  deno: { package: `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`, path: 'deno' },
}

/**
 * Returns the path of a program, which is installed into .cache/. `range` is a version or a tag of npm. Unless it has to be
 * the newest, a version that is installed already is taken.
 */
export function platformBinary(program, range, { newest = false } = {}) {
  const { package: name, path } = programs[program]
  const folder = join(cache, `${program}-${range}`)
  const binary = join(folder, 'node_modules', name, path)
  if (newest || !existsSync(binary)) install(folder, `${name}@${range}`, newest)
  return binary
}

function install(folder, name, newest) {
  mkdirSync(folder, { recursive: true })
  // Its own package.json, or npm would install into the package around it.
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--silent']
  const options = { cwd: folder, stdio: 'inherit' }
  const preference = newest ? '--prefer-online' : '--prefer-offline'
  const { status, error } = spawnSync('npm', ['install', ...flags, preference, name], options)
  if (status !== 0) throw error ?? new Error(`could not install ${name}`)
}
