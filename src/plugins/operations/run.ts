import { ProblemError } from '../../problem/problem-error.js'
import type { OperationCore } from './core.js'
import type { FaultLog } from './events.js'
import { type OperationRecord, progressOf } from './record.js'
import type { OperationRegistry } from './registry.js'

/** Why a run has to end before its work does: its time limit, another run in its place, or the end of the process. */
export type StopReason = 'timed-out' | 'lost' | 'closing'

/** Minimum time between two writes of the progress, in milliseconds. */
const progressInterval = 500

/** Milliseconds in which a run learns that another process has cancelled it. */
const lookInterval = 1_000

export type OperationRun = ReturnType<typeof beginRun>

/**
 * Begins a run of this process: it sends heartbeats, stores its progress, and notices that it has to end. After a heartbeat
 * that fails, the run goes on: its fence protects the record.
 */
export function beginRun(
  { lease, schedule }: OperationCore,
  registry: OperationRegistry,
  faults: FaultLog,
  claimed: OperationRecord,
  timeout: number,
) {
  // Another process may cancel it.
  const isWatched = claimed.cancellable && registry.store.isShared
  const heartbeat = isWatched ? Math.min(lease / 3, lookInterval) : lease / 3
  const abort = new AbortController()
  let record = claimed
  let progress: number | null = null
  let isOver = false
  let beating: Promise<void> | null = null
  // Milliseconds until a heartbeat that has to come before its regular time.
  let soon = Number.POSITIVE_INFINITY
  let stopTimer = () => {}
  let stopped: (reason: StopReason) => void = () => {}
  const whenStopped = new Promise<StopReason>((resolve) => {
    stopped = resolve
  })
  const stopTimeout = schedule(() => stop('timed-out'), timeout)
  beatAfter(heartbeat)

  /** Ends the run before its work. The result of the work is ignored, unless the process closes. */
  function stop(reason: StopReason): void {
    stopped(reason)
    abort.abort(new ProblemError(reason === 'timed-out' ? 'operation-timed-out' : 'operation-interrupted'))
    if (reason === 'lost') void end()
  }

  /** Stops the heartbeats for good; resolves when none is pending. */
  async function end(): Promise<void> {
    isOver = true
    stopTimeout()
    stopTimer()
    await beating
  }

  function beatSoon(milliseconds: number): void {
    if (soon <= milliseconds) return
    soon = milliseconds
    if (beating === null) beatAfter(milliseconds)
  }

  function beatAfter(milliseconds: number): void {
    if (isOver) return
    stopTimer()
    if (milliseconds > 0) stopTimer = schedule(startBeat, milliseconds)
    else startBeat()
  }

  function startBeat(): void {
    beating = beat().then((wait) => {
      beating = null
      beatAfter(Math.min(soon, wait))
    })
  }

  /** Stores a heartbeat. Returns after how many milliseconds the next one follows. */
  async function beat(): Promise<number> {
    soon = Number.POSITIVE_INFINITY
    try {
      const next = await registry.renew(record, progress)
      if (next === null) stop('lost')
      else {
        record = next
        if (next.isCancelling) abort.abort(new ProblemError('operation-cancelled'))
        faults.recovered()
      }
      return heartbeat
    } catch (error) {
      faults.failed('the heartbeat of a run fails', error)
      // Tried again before the lease ends.
      return lease / 12
    }
  }

  return {
    /** Resolves if the run has to end before its work does. */
    stopped: whenStopped,
    /** Aborts if the operation is cancelled, or if the run has to end for another reason. */
    signal: abort.signal as AbortSignal,
    /** The latest record that this run knows. */
    get record() {
      return record
    },
    setProgress(given: number): void {
      progress = progressOf(given) ?? progress
      beatSoon(progressInterval)
    },
    /** Reads the record again at once. */
    look: () => beatSoon(0),
    stop,
    end,
  }
}
