import { readFile, stat } from 'node:fs/promises'
import { inTime, outageLog } from '../../time/async.js'
import { type MaintenanceNotice, type MaintenanceStore, type ReadNotice, readNotice } from './notice.js'
import type { ResolvedMaintenance } from './options.js'

type SetNotice = (notice: MaintenanceNotice | null) => void

export interface Source {
  readonly name: 'file' | 'store'
  /** Rejects if the source is unreachable. */
  read(): Promise<ReadNotice | null>
  readonly take: SetNotice
}

/** Milliseconds after which a read counts as failed. */
export const readTimeout = 2000

/** Reads a source repeatedly, one read at a time. While it is unreachable, its last known state stays in effect. */
export function pollerOf(
  { name, read, take }: Source,
  { pollInterval, schedule }: Pick<ResolvedMaintenance, 'pollInterval' | 'schedule'>,
  log: Record<'info' | 'warn', (message: string) => void> & { error(details: object, message: string): void },
) {
  const outage = outageLog()
  let lastFault: string | null = null
  let isStopped = false
  let cancelTimer = (): void => {}

  function later(run: () => void, milliseconds: number): () => void {
    cancelTimer = schedule(run, milliseconds)
    return cancelTimer
  }

  /** Reads once, and then at every interval. Resolves after the first read, and never rejects. */
  async function start(): Promise<void> {
    try {
      const found = await inTime(read(), readTimeout, 'an answer', later)
      if (isStopped) return
      if (outage.ends()) log.info(`maintenance: the ${name} is reachable again`)
      take(found?.notice ?? null)
      const fault = found?.fault ?? null
      if (fault !== null && fault !== lastFault) {
        log.warn(`maintenance: the notice in the ${name} is used without its invalid parts: ${fault}`)
      }
      lastFault = fault
    } catch (err) {
      if (isStopped) return
      if (outage.begins()) {
        log.error({ err }, `maintenance: the ${name} is unreachable; its last known state stays in effect`)
      }
    }
    later(() => void start(), pollInterval)
  }

  /** Stops. The notice of a read in progress is not taken. */
  function stop(): void {
    isStopped = true
    cancelTimer()
  }

  return { start, stop }
}

export function fileSource(path: string, take: SetNotice): Source {
  async function read(): Promise<ReadNotice | null> {
    let isFound = false
    try {
      const found = await stat(path)
      isFound = true
      if (!found.isFile()) return { notice: {}, fault: 'it is not a file' }
      if (found.size > maxBytes) return { notice: {}, fault: `it has more than ${maxBytes} bytes` }
      const content = (await readFile(path, 'utf8')).trim()
      return content === '' ? { notice: {}, fault: null } : readNotice(JSON.parse(content))
    } catch (error) {
      if (error instanceof SyntaxError) return { notice: {}, fault: 'it is not JSON' }
      if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) return null
      if (isFound) return { notice: {}, fault: 'it cannot be read' }
      throw error
    }
  }
  return { name: 'file', read, take }
}

const maxBytes = 65_536

/** The notice of `enable()` and `disable()`: it takes effect here at once, on other instances when they read the store. */
export function storeSwitch(store: MaintenanceStore | undefined, setNotice: SetNotice) {
  let [writes, writesBeforeRead] = [0, 0]
  let last: Promise<void> = Promise.resolve()

  async function write(notice: MaintenanceNotice | null): Promise<void> {
    try {
      await store?.set(notice)
      setNotice(notice)
    } finally {
      writes += 1
    }
  }

  return {
    name: 'store' as const,
    async read(): Promise<ReadNotice | null> {
      writesBeforeRead = writes
      const value: unknown = await store?.get()
      return value === null || value === undefined ? null : readNotice(value)
    },
    take(notice: MaintenanceNotice | null): void {
      // What was read may be older than a write since, and have either value if it began during the write.
      if (writes === writesBeforeRead) setNotice(notice)
    },
    /** Writes notices in the order of the calls. Rejects with the error of the store; the state does not change then. */
    set(notice: MaintenanceNotice | null): Promise<void> {
      const written = last.then(() => write(notice))
      last = written.catch(() => {})
      return written
    },
  }
}
