import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

// The test run's loaders, and the npm script around it.
const ofTheRun =
  /^(NODE_OPTIONS|NODE_V8_COVERAGE|TAP|TAP_.*|_TAPJS_.*|TS_NODE_.*|npm_(lifecycle|package|command).*|npm_config_local_prefix)$/

/** The environment of a user's process, which knows nothing of the test run. */
export function userEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofTheRun.test(name)))
}

/** Runs a command to its end and gives what it wrote to stdout. Throws with all of its output when it fails. */
export async function runCommand(command: string, args: readonly string[], folder: string): Promise<string> {
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const child = spawn(command, args, { cwd: folder, env: userEnvironment(), stdio: [...stdio] })
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}\n${out}\n${err}`)
  return out
}

/** How Node runs a program. */
interface Start {
  readonly args: readonly string[]
  readonly folder?: string
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * Starts a program with Node, and kills it when the test ends. Returns the origin that Fastify logs, or that is a line of its
 * output. Rejects with the exit code and the output of a program that ends before it listens.
 */
export function startListening(t: Test, { args, folder, environment = {} }: Start): Promise<string> {
  const env = { ...userEnvironment(), ...environment }
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => endChild(child))
  const printed: string[] = []
  child.stderr.on('data', (chunk) => printed.push(String(chunk)))
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      printed.push(`${line}\n`)
      const origin = /(?:^|Server listening at )(http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1]
      if (origin !== undefined) resolve(origin)
    })
    const end = (code: unknown) => `exit code ${code} before it listened\n${printed.join('')}`
    child.once('close', (code) => reject(new Error(end(code))))
  })
}

/** Waits until a server writes that it is ready. Rejects with what it wrote if it ends before. */
export async function untilReady(output: Readable, ready: string): Promise<void> {
  const lines: string[] = []
  for await (const line of createInterface({ input: output })) {
    lines.push(line)
    if (line.includes(ready)) return void output.resume()
  }
  throw new Error(`the server did not start:\n${lines.join('\n')}`)
}

/** Sends a signal to a process, and waits until it is gone. Returns its exit code. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL') {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const ended = once(child, 'exit')
  child.kill(signal)
  // A paused one would not hear of it.
  child.kill('SIGCONT')
  await ended
  return child.exitCode
}

/** The path of the first of some programs that is in PATH, or in further folders. */
export function findProgram(names: readonly string[], folders: readonly string[] = []): string | null {
  const all = [...(process.env.PATH ?? '').split(delimiter), ...folders]
  const paths = names.flatMap((name) => all.map((folder) => join(folder, name)))
  return paths.find((path) => existsSync(path)) ?? null
}
