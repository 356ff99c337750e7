import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
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
    await oneAtATime(folder, () => claim(folder, path))
  } catch (error) {
    lockedHere.delete(path)
    throw error
  }
  return async function unlock() {
    await rm(path, { force: true })
    lockedHere.delete(path)
  }
}

// Of two that see a lock left behind, the slower one would take the lock of the other for it.
async function oneAtATime(folder: string, work: () => Promise<void>): Promise<void> {
  const path = join(folder, 'lock.new')
  const file = await open(path, 'wx').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? inUse(folder, null, path) : error
  })
  try {
    await work()
  } finally {
    await file.close()
    await rm(path, { force: true })
  }
}

async function claim(folder: string, path: string): Promise<void> {
  const owner = await ownerOf(path)
  if (owner !== null && isRunning(owner)) throw inUse(folder, owner, path)
  await writeFile(path, String(process.pid))
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

function inUse(folder: string, pid: number | null, path: string): Error {
  const owner = pid === null ? 'being opened by another process' : `in use by process ${pid}`
  return new Error(`the data folder ${folder} is ${owner}; if it is not, delete ${path}`)
}
