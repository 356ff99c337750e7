import { randomBytes } from 'node:crypto'
import type {
  OperationJob,
  OperationWorker,
  RunOutcome,
} from '../../../../src/plugins/operations/engines/engine.js'
import { until as untilEnough } from '../../../support/until.js'

/** What a run does; `count` is the number of runs of this operation so far. */
type FakeRun = (id: string, count: number) => Promise<RunOutcome> | RunOutcome

export const succeeded: RunOutcome = { kind: 'ended', hasFailed: false }

/** A worker that records what an engine calls: the runs in their order, and the log as the registry would write it. */
export function fakeWorker(run: FakeRun = () => succeeded, lease = 30_000) {
  const ran: string[] = []
  const ranAt: number[] = []
  // Whether each was the last try.
  const lasts: boolean[] = []
  const lostIds: string[] = []
  const log: string[] = []
  return {
    ran,
    ranAt,
    lasts,
    lostIds,
    log,
    lease,
    now: Date.now,
    async run(id: string, isLast: boolean) {
      lasts.push(isLast)
      ran.push(id)
      ranAt.push(Date.now())
      return run(id, ran.filter((other) => other === id).length)
    },
    lost: (id: string) => void lostIds.push(id),
    failed: (what: string) => {
      if (log.at(-1) !== what) log.push(what)
    },
    recovered: () => {
      if (log.length > 0 && log.at(-1) !== 'recovered') log.push('recovered')
    },
  } satisfies OperationWorker & Record<string, unknown>
}

export function newJob(over: Partial<OperationJob> = {}): OperationJob {
  const rest = { name: 'work', owner: null, delay: 0, priority: 0, retries: 1, backoff: 1_000 }
  return { id: randomBytes(16).toString('hex'), ...rest, ...over }
}

export const newJobs = (count: number) => Array.from({ length: count }, () => newJob())

/** A run that ends when a test opens it. */
export function gate() {
  let open = () => {}
  const passed = new Promise<RunOutcome>((resolve) => {
    open = () => resolve(succeeded)
  })
  return { passed, open }
}

/** Waits until a condition holds. */
export const until = (holds: () => boolean | Promise<boolean>, what: string) =>
  untilEnough(
    async () => (await holds()) || what,
    (found) => found === true,
    30_000,
    10,
  )

export const isDone = (promise: Promise<unknown>) => promise.then(() => true).catch(() => false)

/** Returns how long something takes, in whole seconds. */
export async function secondsOf(done: Promise<unknown>): Promise<number> {
  const began = performance.now()
  await done
  return Math.round((performance.now() - began) / 1_000)
}
