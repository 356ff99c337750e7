import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

const lockedHere = new Set<string>()

/**
 * Keeps a second process out of a data folder: the embedded database itself does not, and two would destroy it.
 * Creates the folder where it is missing.
 *
 * @returns How to let go of it.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true })
  const path = join(folder, 'lock')
  if (lockedHere.has(path)) throw inUse(folder, process.pid, path)
  lockedHere.add(path)
  try {
    await claim(folder, path)
  } catch (error) {
    lockedHere.delete(path)
    throw error
  }
  return async function unlock() {
    await rm(path, { force: true })
    lockedHere.delete(path)
  }
}

async function claim(folder: string, path: string): Promise<void> {
  const owner = await ownerOf(path)
  if (owner !== null) {
    if (isRunning(owner)) throw inUse(folder, owner, path)
    await rm(path, { force: true })
  }
  // Fails where another process was faster.
  const file = await open(path, 'wx')
  await file.writeFile(String(process.pid))
  await file.close()
}

async function ownerOf(path: string): Promise<number | null> {
  const text = await readFile(path, 'utf8').catch(() => null)
  return text === null ? null : Number(text)
}

function isRunning(pid: number): boolean {
  // A process that was killed leaves its lock behind; in a container the next one may have its number.
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function inUse(folder: string, pid: number, path: string): Error {
  return new Error(`the data folder ${folder} is in use by process ${pid}; if it is not, delete ${path}`)
}
