import { setTimeout as pause } from 'node:timers/promises'
import type { OperationContext, OperationOutcome } from 'fastify-conventions'
import type { Database, Queries } from './database.js'

// Each is a twentieth of the whole, so that progress has two decimals.
const steps = 19

/**
 * Takes time, as work that waits for others does, and says how far it is.
 *
 * @param milliseconds how long, at the pace of a real service
 * @param pace 1 for that pace, less for a faster one
 * @throws the reason of the signal once that aborts
 */
export async function takeTime(
  { signal, progress }: Pick<OperationContext, 'signal' | 'progress'>,
  milliseconds: number,
  pace: number,
): Promise<void> {
  for (let step = 1; step <= steps; step += 1) {
    await pause((milliseconds * pace) / steps, undefined, { signal })
    // The rest is what comes after it.
    progress(step / (steps + 1))
  }
}

/**
 * Does what an operation is about in one transaction, and once: an operation may be run twice, and the second run finds
 * what came of the first.
 */
export async function once(
  database: Database,
  { operationId }: Pick<OperationContext, 'operationId'>,
  work: (queries: Queries) => Promise<OperationOutcome>,
): Promise<OperationOutcome> {
  return database.transaction(async (queries) => {
    // Who comes second waits here until the first has committed.
    const [claimed] = await queries.query({
      text: `insert into finished_work (operation_id) values ($1) on conflict (operation_id) do nothing
        returning operation_id`,
      values: [operationId],
    })
    if (claimed === undefined) {
      const [done] = await queries.query({
        text: 'select outcome from finished_work where operation_id = $1',
        values: [operationId],
      })
      return (done?.outcome ?? {}) as OperationOutcome
    }
    const outcome = await work(queries)
    await queries.query({
      text: 'update finished_work set outcome = $2 where operation_id = $1',
      values: [operationId, JSON.stringify(outcome)],
    })
    // An operation is not run again once it is no longer kept.
    await queries.query({ text: `delete from finished_work where begun_at < now() - interval '3 days'` })
    return outcome
  })
}
