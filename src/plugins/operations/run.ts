import { ProblemError } from '../../problem/problem-error.js'
import type { Schedule } from '../../time/schedule.js'
import type { FaultLog } from './events.js'
import { type OperationRecord, progressOf } from './record.js'
import type { OperationRegistry } from './registry.js'

/** Why a run has to end before its work does: its time limit, another run in its place, or the end of the process. */
export type StopReason = 'timed-out' | 'lost' | 'closing'

export interface OperationRunOptions {
  readonly registry: OperationRegistry
  /** Milliseconds between two heartbeats. */
  readonly heartbeat: number
  /** Time limit of the work, in milliseconds. */
  readonly timeout: number
  readonly schedule: Schedule
  /** After a heartbeat that fails, the run goes on: its fence protects the record. */
  readonly faults: FaultLog
  /** A heartbeat was stored. */
  readonly onHeartbeat: () => void
}

/** Minimum time between two writes of the progress, in milliseconds. */
const progressInterval = 500

/** A run of this process: sends heartbeats, stores its progress, and notices that it has to end. */
export class OperationRun {
  readonly #options: OperationRunOptions
  readonly #abort = new AbortController()
  readonly #stopTimeout: () => void
  #record: OperationRecord
  #progress: number | null = null
  #stopTimer = () => {}
  #isOver = false
  #heartbeat: Promise<void> | null = null
  /** Milliseconds until the next heartbeat if that is to come earlier. */
  #soon: number | null = null
  #resolveStopped: (reason: StopReason) => void = () => {}

  /** Resolves if the run has to end before its work does. */
  readonly stopped: Promise<StopReason>

  /** @param record the claimed record */
  constructor(record: OperationRecord, options: OperationRunOptions) {
    this.#record = record
    this.#options = options
    this.stopped = new Promise((resolve) => {
      this.#resolveStopped = resolve
    })
    this.#stopTimeout = options.schedule(() => this.stop('timed-out'), options.timeout)
    this.#beatAfter(options.heartbeat)
  }

  /** The latest record that this run knows. */
  get record(): OperationRecord {
    return this.#record
  }

  /** Aborts if the operation is cancelled, or if the run has to end for another reason. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Sets the progress, see {@link progressOf}; invalid values are ignored. */
  setProgress(progress: number): void {
    this.#progress = progressOf(progress) ?? this.#progress
    this.#beatSoon(progressInterval)
  }

  /** Reads the record again at once, because it may have changed. */
  look(): void {
    this.#beatSoon(0)
  }

  /** Ends the run before its work. The result of the work is ignored, unless the process closes. */
  stop(reason: StopReason): void {
    this.#resolveStopped(reason)
    const code = reason === 'timed-out' ? 'operation-timed-out' : 'operation-interrupted'
    this.#abort.abort(new ProblemError(code))
    if (reason === 'lost') void this.end()
  }

  /** Stops the heartbeats for good; resolves when none is pending. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#stopTimeout()
    this.#stopTimer()
    await this.#heartbeat
  }

  #beatSoon(milliseconds: number): void {
    if (this.#soon !== null && this.#soon <= milliseconds) return
    this.#soon = milliseconds
    if (this.#heartbeat === null) this.#beatAfter(milliseconds)
  }

  #beatAfter(milliseconds: number): void {
    if (this.#isOver) return
    this.#stopTimer()
    if (milliseconds > 0) this.#stopTimer = this.#options.schedule(() => this.#start(), milliseconds)
    else this.#start()
  }

  #start(): void {
    this.#heartbeat = this.#beat().then((wait) => {
      this.#heartbeat = null
      this.#beatAfter(Math.min(this.#soon ?? wait, wait))
    })
  }

  /** Stores a heartbeat. Returns after how many milliseconds the next one follows. */
  async #beat(): Promise<number> {
    const { registry, heartbeat, faults, onHeartbeat } = this.#options
    const stored = this.#progress
    this.#soon = null
    try {
      const next = await registry.renew(this.#record, stored)
      if (next === null) this.stop('lost')
      else {
        this.#record = next
        if (next.isCancelling) this.#abort.abort(new ProblemError('operation-cancelled'))
        faults.recovered()
        onHeartbeat()
      }
    } catch (error) {
      faults.failed('the heartbeat of a run fails', error)
      // Tried again before the lease ends.
      return heartbeat / 4
    }
    return heartbeat
  }
}
