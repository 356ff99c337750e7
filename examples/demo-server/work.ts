import { setTimeout as pause } from 'node:timers/promises'
import type { OperationContext, OperationOutcome } from 'fastify-conventions'
import { sql } from 'kysely'
import type { Database, Queries } from './database.js'

// Each is a twentieth of the whole, so that progress has two decimals.
const steps = 19

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

// An operation may be run twice: the second run finds what came of the first.
export async function once(
  db: Database,
  { operationId: operation_id }: Pick<OperationContext, 'operationId'>,
  work: (trx: Queries) => Promise<OperationOutcome>,
): Promise<OperationOutcome> {
  return db.transaction().execute(async (trx) => {
    // Who comes second waits here until the first has committed.
    const claimed = await trx
      .insertInto('finished_work')
      .values({ operation_id })
      .onConflict((conflict) => conflict.column('operation_id').doNothing())
      .returning('operation_id')
      .executeTakeFirst()
    const ofOperation = trx.selectFrom('finished_work').where('operation_id', '=', operation_id)
    if (claimed === undefined) {
      const done = await ofOperation.select('outcome').executeTakeFirst()
      return (done?.outcome ?? {}) as OperationOutcome
    }
    const outcome = await work(trx)
    await trx
      .updateTable('finished_work')
      .set({ outcome: JSON.stringify(outcome) })
      .where('operation_id', '=', operation_id)
      .execute()
    // An operation is not run again once it is no longer kept.
    await trx
      .deleteFrom('finished_work')
      .where('begun_at', '<', sql<string>`now() - interval '3 days'`)
      .execute()
    return outcome
  })
}
