import { ProblemError } from '../../problem/problem-error.js'
import type { Schedule } from '../../time/schedule.js'
import { type OperationRecord, progressOf } from './record.js'
import type { OperationRegistry } from './registry.js'

/** Why a run has to end although its work goes on. */
export type StopReason =
  /** It took longer than it may. */
  | 'timed-out'
  /** It gave no sign of life for too long, so another run may have taken its place. */
  | 'lost'
  /** The process closes. */
  | 'closing'

/** Options of {@link LiveRun}. */
export interface LiveRunOptions {
  readonly registry: OperationRegistry
  /** See {@link RegistryOptions.lease}. */
  readonly lease: number
  /** Milliseconds that the work has. */
  readonly timeout: number
  readonly now: () => number
  readonly schedule: Schedule
  /** A sign of life did not come through. */
  readonly onSilence: (error: unknown) => void
  /** It came through. */
  readonly onSign: () => void
}

/** At most so often the progress is written down, milliseconds. */
const progressInterval = 500

/** A run that is under way in this process: gives signs of life, writes progress down, and learns that it has to end. */
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

  /** Resolves when the run has to end without waiting for its work. */
  readonly stopped: Promise<StopReason>

  /** @param record as it was claimed */
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

  /** Aborts when the work is to be cancelled, and when it has to end for another reason. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** How far the work is, see {@link progressOf}; what says nothing changes nothing. */
  setProgress(progress: number): void {
    this.#progress = progressOf(progress) ?? this.#progress
    if (this.#isOver || this.#abort.signal.aborted) return
    const now = this.#options.now()
    const wait = Math.max(this.#lastSign + progressInterval - now, 0)
    if (this.#sign === null && now + wait < this.#nextSign) this.#signIn(wait)
  }

  /** Somebody asked to cancel the operation: the work is told, and may end it as it can. */
  cancel(): void {
    this.#abort.abort(new ProblemError('operation-cancelled'))
  }

  /** The work has no say any more. */
  stop(reason: StopReason): void {
    const code = reason === 'timed-out' ? 'operation-timed-out' : 'operation-interrupted'
    this.#resolveStopped(reason)
    this.#abort.abort(new ProblemError(code))
  }

  /** Ends the signs of life; resolves when none is on its way any more. */
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
