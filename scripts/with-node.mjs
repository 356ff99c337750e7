// Runs a command with another version of Node: node scripts/with-node.mjs <version> <command> [argument…]
// The npm package `node` installs its binary by an install script, and these are often disabled. So the package of the
// platform, which has the binary, is installed directly, once, into .cache/.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const [version, command, ...args] = process.argv.slice(2)
if (version === undefined || command === undefined) {
  console.error('usage: node scripts/with-node.mjs <version> <command> [argument…]')
  process.exit(2)
}

const bin = dirname(nodeBinary(version))
const env = { ...process.env, PATH: bin + delimiter + process.env.PATH }
console.log(`Node ${run('node', ['--version'], { env, stdio: 'pipe' }).stdout.toString().trim()}`)
process.exitCode = run(command, args, { env, stdio: 'inherit' }).status ?? 1

function nodeBinary(version) {
  // As in the package `node`: the name differs on Macs with Apple processors.
  const prefix = process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'
  const name = `${prefix}-${process.platform}-${process.arch}`
  const folder = join(dirname(fileURLToPath(import.meta.url)), '..', '.cache', `node-${version}`)
  const binary = join(folder, 'node_modules', name, 'bin', 'node')
  if (!existsSync(binary)) install(folder, `${name}@${version}`)
  return binary
}

function install(folder, name) {
  mkdirSync(folder, { recursive: true })
  // Its own package.json, or npm would install into the package around it.
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
  const { status } = run('npm', ['install', ...flags, name], { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error(`could not install ${name}`)
}

function run(command, args, options) {
  const result = spawnSync(command, args, options)
  if (result.error) throw result.error
  return result
}
