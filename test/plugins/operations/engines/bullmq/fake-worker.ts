import { setTimeout as pause } from 'node:timers/promises'
import type { OperationWorker, RunOutcome } from '../../../../../src/plugins/operations/engines/engine.js'

/** A worker that writes down what an engine asks of it. */
export interface FakeWorker extends OperationWorker {
  /** The ids that were run, in their order. */
  readonly ran: readonly string[]
  /** When each of them began. */
  readonly ranAt: readonly number[]
  /** What it was told of, in its order: faults by what they are, and `'recovered'`. */
  readonly told: readonly string[]
}

/** What a run does; by default it ends at once. */
export type FakeRun = (id: string, count: number) => Promise<RunOutcome> | RunOutcome

export function fakeWorker(run: FakeRun = () => ({ kind: 'ended' }), lease = 30_000): FakeWorker {
  const ran: string[] = []
  const ranAt: number[] = []
  const told: string[] = []
  return {
    ran,
    ranAt,
    told,
    lease,
    async run(id) {
      ran.push(id)
      ranAt.push(Date.now())
      return run(id, ran.filter((other) => other === id).length)
    },
    failed: (what) => void told.push(what),
    recovered: () => void told.push('recovered'),
  }
}

/** Waits until something is so, which it is to be in good time. */
export async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`it never came about: ${what}`)
    await pause(10)
  }
}

/** Did the engine take it in? */
export function isTaken(enqueued: Promise<void>): Promise<boolean> {
  return enqueued.then(
    () => true,
    () => false,
  )
}

/** How long something takes, in whole seconds. */
export async function secondsOf(done: Promise<unknown>): Promise<number> {
  const began = performance.now()
  await done
  return Math.round((performance.now() - began) / 1_000)
}

/** What an engine tells of a server that is away. */
export const cannotBeReached = 'the queue of operations cannot be reached'
