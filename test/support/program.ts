import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { endChild } from './child.js'

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

/** A program that is up. */
export type Program = Awaited<ReturnType<typeof startProgram>>

/**
 * Starts a program with its set-up as JSON in its first argument; it ends with the test. Resolves when it writes a line that
 * begins with `at`, with the process and what it wrote after `at`.
 *
 * @param onLine gets each other line that it writes
 */
export async function startProgram(
  t: Test,
  source: URL,
  setUp: object,
  onLine: (line: string) => void = () => {},
) {
  const child = spawn(process.execPath, [...programArguments(source), JSON.stringify(setUp)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => endChild(child))
  const errors: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    errors.push(line)
    onLine(line)
  })
  const at = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('at ')) resolve(line.slice(3))
      else onLine(line)
    })
    child.once('exit', () => reject(new Error(`the program ended: ${errors.join('\n')}`)))
  })
  return { process: child, at }
}

/** Ends a program, and waits until it is gone. */
export const endProgram = endChild
