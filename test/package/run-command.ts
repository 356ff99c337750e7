import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

// The test run's loaders, and the npm script around it.
const ofTheRun =
  /^(NODE_OPTIONS|NODE_V8_COVERAGE|TAP|TAP_.*|_TAPJS_.*|TS_NODE_.*|npm_(lifecycle|package|command).*|npm_config_local_prefix)$/

/** Runs a command to its end and gives what it wrote to stdout. Throws with all of its output when it fails. */
export async function runCommand(command: string, args: readonly string[], folder: string): Promise<string> {
  const child = spawn(command, args, {
    cwd: folder,
    env: userEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}\n${out}\n${err}`)
  return out
}

/** The environment of a user's process, which knows nothing of the test run. */
export function userEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofTheRun.test(name)))
}
