// Runs a command with another version of Node: node scripts/with-node.mjs <version> <command> [argument…]
import { spawnSync } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import { platformBinary } from './platform-binary.mjs'

const [version, command, ...args] = process.argv.slice(2)
if (version === undefined || command === undefined) {
  console.error('usage: node scripts/with-node.mjs <version> <command> [argument…]')
  process.exit(2)
}

const bin = dirname(platformBinary('node', version))
const env = { ...process.env, PATH: bin + delimiter + process.env.PATH }
console.log(`Node ${run('node', ['--version'], { env, stdio: 'pipe' }).stdout.toString().trim()}`)
process.exitCode = run(command, args, { env, stdio: 'inherit' }).status ?? 1

function run(command, args, options) {
  const result = spawnSync(command, args, options)
  if (result.error) throw result.error
  return result
}
