import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Sends a signal to a process, and waits until it is gone. Returns its exit code. */
export async function endChild(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<number | null> {
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
  return (
    names.flatMap((name) => all.map((folder) => join(folder, name))).find((path) => existsSync(path)) ?? null
  )
}
