import { ProblemError } from '../../../problem/problem-error.js'
import { inTime } from '../../../time/in-time.js'
import type { Schedule } from '../../../time/schedule.js'
import type { QuotaOutcome, QuotaStore } from './store.js'

/** Milliseconds that a request waits for a store, and for the functions of the app that look up a `max`. */
export const patience = 500

/**
 * Returns a store whose calls fail after {@link patience}, with the problem `quota-unavailable`. After a failure, one
 * call at a time asks whether the store is back and the others fail at once: neither requests nor the commands of a client
 * pile up while a server does not answer.
 */
export function boundedStore(store: QuotaStore, schedule: Schedule): QuotaStore {
  let isAway = false
  let isAsking = false

  async function run<Result>(call: () => Result | Promise<Result>): Promise<Result> {
    if (isAway && isAsking) throw unavailable(new Error('the store of the quotas has not answered yet'))
    const isQuestion = isAway
    if (isQuestion) isAsking = true
    try {
      const result = await inTime(
        Promise.resolve(call()),
        patience,
        'an answer of the store of the quotas',
        schedule,
      )
      isAway = false
      return result
    } catch (error) {
      isAway = true
      throw unavailable(error)
    } finally {
      if (isQuestion) isAsking = false
    }
  }

  return {
    take: (caller, quotas, cost) =>
      run(async () => {
        const outcome: Partial<QuotaOutcome> | undefined = await store.take(caller, quotas, cost)
        const { isTaken, states } = outcome ?? {}
        if (typeof isTaken === 'boolean' && states?.length === quotas.length) return { isTaken, states }
        throw new TypeError('the store of the quotas has not returned a state for each of them')
      }),
    giveBack: (...parameters) => run(() => store.giveBack(...parameters)),
  }
}

function unavailable(cause: unknown): ProblemError {
  return new ProblemError('quota-unavailable', {
    detail: 'Requests cannot be counted at the moment; try again',
    headers: { 'retry-after': '5', 'cache-control': 'no-store' },
    cause,
  })
}
