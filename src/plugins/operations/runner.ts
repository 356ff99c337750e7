import { isProblemError, ProblemError } from '../../problem/problem-error.js'
import type { OperationCore } from './core.js'
import type { DefinedOperation } from './define.js'
import type { RunOutcome } from './engines/engine.js'
import { logThrown } from './events.js'
import { cancelled, failureOf, interrupted } from './failures.js'
import { isFinal, type OperationEnd, type OperationRecord } from './record.js'
import type { OperationRegistry } from './registry.js'
import { beginRun, type OperationRun } from './run.js'

type Settled = { readonly end: OperationEnd } | { readonly error: unknown }

/** Runs operations: claims one, runs its work, and stores the result unless another run took its place. */
export function operationRunner(core: OperationCore, registry: OperationRegistry) {
  const { lease, unwind, schedule, definitions, emit, log } = core
  const faults = core.faultsOf('runs')
  /** The operations that this process runs; `null` while one is claimed. */
  const runs = new Map<string, OperationRun | null>()
  let hasWarned = false
  let isClosing = false
  let isUnwound = false
  let resolveUnwound: (reason: 'unwound') => void = () => {}
  const unwound = new Promise<'unwound'>((resolve) => {
    resolveUnwound = resolve
  })

  function endUnwind(): void {
    isUnwound = true
    resolveUnwound('unwound')
  }

  async function runWork(
    claimed: OperationRecord,
    input: string | null,
    work: DefinedOperation,
    isLast: boolean,
  ): Promise<RunOutcome> {
    const run = beginRun(core, registry, faults, claimed, work.timeout)
    runs.set(claimed.id, run)
    try {
      // The process has begun to close before the work began.
      if (isClosing) return await handBack(run)
      const settled = settle(run, work, input)
      const first = await Promise.race([run.stopped, settled])
      if (typeof first !== 'string') return await endWith(run, work, first, isLast)
      if (first === 'closing') {
        const last = await Promise.race([settled, unwound])
        if (last !== 'unwound') return await endWith(run, work, last, isLast)
        emit('abandon', run.record)
        return await handBack(run)
      }
      const outcome = first === 'lost' ? ended : await timeOut(run)
      await run.end()
      await returned(run, settled)
      return outcome
    } finally {
      // After any error here, the heartbeats of the run have to stop.
      await run.end()
    }
  }

  /** Runs the work; the promise does not reject. */
  async function settle(run: OperationRun, work: DefinedOperation, input: string | null): Promise<Settled> {
    const { record, signal, setProgress: progress } = run
    try {
      return { end: await work.run({ record, input, signal, progress }) }
    } catch (error) {
      if (signal.aborted && !isReason(error, signal.reason)) logIgnored(record, error)
      return { error }
    }
  }

  /** Waits for a handler whose run is over; its slot is free after `unwind`, whatever it does. */
  async function returned(run: OperationRun, settled: Promise<Settled>): Promise<void> {
    let stop = () => {}
    const late = new Promise<'late'>((resolve) => {
      stop = schedule(() => resolve('late'), unwind)
    })
    if ((await Promise.race([settled, late, unwound])) === 'late') emit('abandon', run.record)
    stop()
  }

  async function endWith(
    run: OperationRun,
    work: DefinedOperation,
    settled: Settled,
    isLast: boolean,
  ): Promise<RunOutcome> {
    const { record, signal } = run
    if ('end' in settled) return finish(record, settled.end)
    const { error } = settled
    // The request for the cancellation was accepted, so the operation ends as cancelled.
    if (isCancellation(signal.reason)) return finish(record, cancelled)
    if (signal.aborted) return handBack(run)
    if (isLast || !work.isRetried(error)) return fail(record, error)
    const next = await stored(() => registry.retry(record.id, record.run))
    if (next === null) return fail(record, error)
    if (isFinal(next)) {
      logIgnored(record, error)
      return endOf(next)
    }
    emit('retry', record, error)
    return { kind: 'retry' }
  }

  function timeOut({ record, signal }: OperationRun): Promise<RunOutcome> {
    if (isCancellation(signal.reason)) return finish(record, cancelled)
    const detail = 'It took longer than it may; what it meant to do may or may not have happened'
    return fail(record, new ProblemError('operation-timed-out', { detail }))
  }

  /** Hands the operation back to other processes, if there are any; otherwise it has failed. */
  async function handBack({ record, signal }: OperationRun): Promise<RunOutcome> {
    if (isCancellation(signal.reason)) return finish(record, cancelled)
    if (!registry.store.isShared) return finish(record, interrupted)
    const next = await stored(() => registry.release(record.id, record.run))
    if (next === null) return ended
    if (isFinal(next)) return endOf(next)
    emit('release', record)
    return { kind: 'released' }
  }

  function logIgnored({ id: operationId, name: operation, run }: OperationRecord, err: unknown): void {
    const fields = { err, operationId, operation, run }
    logThrown(log, 'error', fields, `operations: '${operation}' failed while it stopped`)
  }

  /** If another service has the record, its sweeper adds the job again, much later. */
  function notFound(operationId: string): RunOutcome {
    if (!hasWarned) log.warn({ operationId }, unknownOperation)
    hasWarned = true
    return ended
  }

  function fail(record: OperationRecord, error: unknown): Promise<RunOutcome> {
    return finish(record, { status: 'Failed', error: failureOf(error, record, core.maxLength, log) })
  }

  async function finish({ id, run }: OperationRecord, end: OperationEnd): Promise<RunOutcome> {
    const last = await stored(() => registry.finish(id, run, end))
    return last !== null && last.run === run ? endOf(last) : ended
  }

  // The work is done: it must not run again because the store cannot be reached at the moment.
  async function stored<Answer>(change: () => Promise<Answer>): Promise<Answer> {
    for (let wait = 250; ; wait = Math.min(wait * 2, 4_000)) {
      try {
        const answer = await change()
        faults.recovered()
        return answer
      } catch (fault) {
        faults.failed('the result of an operation cannot be stored', fault)
        if (isUnwound) throw fault
        await Promise.race([new Promise<void>((resolve) => schedule(resolve, wait)), unwound])
      }
    }
  }

  return {
    /** See {@link OperationWorker.run}. */
    async run(id: string, isLast: boolean): Promise<RunOutcome> {
      if (isClosing) return { kind: 'released' }
      if (runs.has(id)) return { kind: 'later', delay: lease }
      runs.set(id, null)
      try {
        const claim = await registry.claim(id)
        if (claim === null) return notFound(id)
        if ('kind' in claim) return claim
        const { record, input } = claim
        emit(record.counted > 1 ? 'take-over' : 'run', record)
        return await runWork(record, input, definitions.named(record.name), isLast)
      } finally {
        runs.delete(id)
      }
    },

    look: (id: string) => runs.get(id)?.look(),

    /** Stops the run of an operation, because the engine has lost its lock. */
    lost: (id: string) => runs.get(id)?.stop('lost'),

    /** Aborts all runs of this process, and those that are starting. Their handlers have the time `unwind` to end. */
    close(): void {
      if (isClosing) return
      isClosing = true
      for (const run of runs.values()) run?.stop('closing')
      if (unwind === 0) endUnwind()
      else schedule(endUnwind, unwind)
    },
  }
}

const ended: RunOutcome = { kind: 'ended', hasFailed: false }

const unknownOperation =
  'operations: the queue has an operation that is not in the store: it has expired, or another service uses the same queue; give the engine of each service a `queue` of its own'

function endOf({ status }: OperationRecord): RunOutcome {
  return { kind: 'ended', hasFailed: status === 'Failed' }
}

function isCancellation(reason: unknown): boolean {
  return isProblemError(reason) && reason.code === 'operation-cancelled'
}

/** Whether an error is the reason of an abort, or comes from it. */
function isReason(error: unknown, reason: unknown): boolean {
  try {
    if (error === reason) return true
    return error instanceof Error && (error.name === 'AbortError' || error.cause === reason)
  } catch {
    // Reading it may throw, too.
    return true
  }
}
