import { ProblemError } from '../../problem/problem-error.js'
import type { Schedule } from '../../time/schedule.js'
import { type OperationRecord, progressOf } from './record.js'
import type { OperationRegistry } from './registry.js'

/** Why a run has to end before its work does. */
type StopReason =
  /** It exceeded its time limit. */
  | 'timed-out'
  /** Another run has taken its place. */
  | 'lost'
  /** The process closes. */
  | 'closing'

export interface OperationRunOptions {
  readonly registry: OperationRegistry
  /** Milliseconds between two heartbeats. */
  readonly heartbeat: number
  /** Time limit of the work, in milliseconds. */
  readonly timeout: number
  readonly schedule: Schedule
  /** A heartbeat failed. The run goes on: its fence protects the record. */
  readonly onFailure: (error: unknown) => void
  /** A heartbeat was stored. */
  readonly onSuccess: () => void
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
  #isSoon = false
  #isPaused = false
  #heartbeat: Promise<void> | null = null
  #resolveStopped: (reason: StopReason) => void = () => {}
  #isOver = false

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

  /** Reads the record again, because it may have changed. */
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

  /** Stops the heartbeats while a transaction of the app changes the record. */
  async pause(): Promise<void> {
    this.#isPaused = true
    this.#stopTimer()
    await this.#heartbeat
  }

  /** Goes on with the heartbeats after a pause. */
  resume(): void {
    this.#isPaused = false
    this.#beatAfter(this.#options.heartbeat)
  }

  /** Stops the heartbeats for good; resolves when none is pending. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#stopTimeout()
    await this.pause()
  }

  #beatSoon(milliseconds: number): void {
    if (this.#isSoon) return
    this.#isSoon = true
    if (this.#heartbeat === null) this.#beatAfter(milliseconds)
  }

  #beatAfter(milliseconds: number): void {
    if (this.#isOver || this.#isPaused) return
    this.#stopTimer()
    this.#stopTimer = this.#options.schedule(() => {
      this.#heartbeat = this.#beat().finally(() => {
        this.#heartbeat = null
      })
    }, milliseconds)
  }

  async #beat(): Promise<void> {
    const { registry, heartbeat, onFailure, onSuccess } = this.#options
    const stored = this.#progress
    let wait = heartbeat
    this.#isSoon = false
    try {
      const next = await registry.renew(this.#record, stored)
      if (next === null) return this.stop('lost')
      this.#record = next
      if (next.isCancelling) this.#abort.abort(new ProblemError('operation-cancelled'))
      onSuccess()
    } catch (error) {
      onFailure(error)
      // Tried again before the lease ends.
      wait = heartbeat / 4
    }
    const isChanged = this.#isSoon || this.#progress !== stored
    this.#beatAfter(isChanged ? Math.min(progressInterval, wait) : wait)
  }
}
