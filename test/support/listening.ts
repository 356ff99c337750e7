import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { userEnvironment } from '../package/run-command.js'
import { endChild } from './child.js'

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
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...userEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => endChild(child))
  const printed: string[] = []
  child.stderr.on('data', (chunk) => printed.push(String(chunk)))
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      printed.push(`${line}\n`)
      const origin = /(?:^|Server listening at )(http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1]
      if (origin !== undefined) resolve(origin)
    })
    child.once('close', (code) =>
      reject(new Error(`exit code ${code} before it listened\n${printed.join('')}`)),
    )
  })
}
