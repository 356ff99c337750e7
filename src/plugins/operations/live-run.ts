import { ProblemError } from '../../problem/problem-error.js'
import type { Schedule } from '../../time/schedule.js'
import { type OperationRecord, progressOf } from './record.js'
import type { OperationRegistry } from './registry.js'

/** Why a run has to end before its work does. */
export type StopReason =
  /** It exceeded its time limit. */
  | 'timed-out'
  /** It sent no heartbeat for too long, so another run may have taken its place. */
  | 'lost'
  /** The process closes. */
  | 'closing'

/** Options of {@link LiveRun}. */
export interface LiveRunOptions {
  readonly registry: OperationRegistry
  /** See {@link RegistryOptions.lease}. */
  readonly lease: number
  /** Time limit of the work, in milliseconds. */
  readonly timeout: number
  readonly now: () => number
  readonly schedule: Schedule
  /** A heartbeat failed. */
  readonly onSilence: (error: unknown) => void
  /** A heartbeat was stored. */
  readonly onSign: () => void
}

/** Minimum time between two writes of the progress, in milliseconds. */
const progressInterval = 500

/** A run of this process: sends heartbeats, stores its progress, and notices that it has to end. */
export class LiveRun {
  readonly #options: LiveRunOptions
  readonly #abort = new AbortController()
  readonly #stopTimeout: () => void
  #record: OperationRecord
  #progress: number | null = null
  #lastSign: number
  #nextSign = 0
  #stopTimer = () => {}
  #sign: Promise<void> | null = null
  #resolveStopped: (reason: StopReason) => void = () => {}
  #isOver = false

  /** Resolves if the run has to end without waiting for its work. */
  readonly stopped: Promise<StopReason>

  /** @param record the claimed record */
  constructor(record: OperationRecord, options: LiveRunOptions) {
    this.#record = record
    this.#options = options
    this.#lastSign = options.now()
    this.stopped = new Promise((resolve) => {
      this.#resolveStopped = resolve
    })
    this.#stopTimeout = options.schedule(() => this.stop('timed-out'), options.timeout)
    this.#signIn(options.lease / 3)
  }

  /** Aborts if the operation is cancelled, or if the run has to end for another reason. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Sets the progress, see {@link progressOf}; invalid values are ignored. */
  setProgress(progress: number): void {
    this.#progress = progressOf(progress) ?? this.#progress
    if (this.#isOver || this.#abort.signal.aborted) return
    const now = this.#options.now()
    const wait = Math.max(this.#lastSign + progressInterval - now, 0)
    if (this.#sign === null && now + wait < this.#nextSign) this.#signIn(wait)
  }

  /** Aborts the signal because of a cancellation; the result of the work decides how the operation ends. */
  cancel(): void {
    this.#abort.abort(new ProblemError('operation-cancelled'))
  }

  /** Ends the run; the result of the work is ignored. */
  stop(reason: StopReason): void {
    const code = reason === 'timed-out' ? 'operation-timed-out' : 'operation-interrupted'
    this.#resolveStopped(reason)
    this.#abort.abort(new ProblemError(code))
  }

  /** Stops the heartbeats; resolves when none is pending. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#stopTimeout()
    this.#stopTimer()
    await this.#sign
  }

  #signIn(milliseconds: number): void {
    if (this.#isOver) return
    this.#stopTimer()
    this.#nextSign = this.#options.now() + milliseconds
    this.#stopTimer = this.#options.schedule(() => {
      this.#sign = this.#giveSign().finally(() => {
        this.#sign = null
      })
    }, milliseconds)
  }

  async #giveSign(): Promise<void> {
    const { registry, lease, now, onSilence, onSign } = this.#options
    const told = this.#progress
    let wait = lease / 3
    try {
      const next = await registry.renew(this.#record, told)
      if (next === null) return this.stop('lost')
      this.#record = next
      this.#lastSign = now()
      if (next.isCancelling) this.cancel()
      if (this.#progress !== told) wait = progressInterval
      onSign()
    } catch (error) {
      onSilence(error)
      // Without a renewed lease another run may have taken over.
      if ((this.#record.runUntil ?? 0) <= now()) return this.stop('lost')
      wait = Math.min(wait, 1_000)
    }
    this.#signIn(wait)
  }
}
