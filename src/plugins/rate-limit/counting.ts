import { type MaybeAsync, withValue } from '../../maybe-async.js'
import type { CallerOf } from './caller-key.js'
import type { Charge } from './charges.js'
import type { Limits } from './limits.js'
import type { Request } from './options.js'
import type { QuotaOutcome, QuotaStore } from './stores/store.js'

/** A request that was counted. */
export interface Counted extends QuotaOutcome {
  readonly caller: string
  readonly limits: Limits
  readonly cost: number
}

/** Counts requests. */
export interface Counting {
  /** Returns `null` if the request does not count. */
  count(charge: Charge, request: Request): MaybeAsync<Counted | null>
  /** Gives back what a request has taken from quotas of failures. */
  giveBack(counted: Counted): MaybeAsync<void>
}

/** Returns the functions that count in a store. They are synchronous if the store, the key and the limits are. */
export function countingIn(store: QuotaStore, callerOf: CallerOf): Counting {
  return {
    count({ limitsOf, cost }, request) {
      return withValue(callerOf(request), (caller) => {
        if (caller === null) return null
        return withValue(limitsOf(request, caller), (limits) => {
          if (limits.quotas.length === 0) return null
          return withValue(
            store.take(caller.key, limits.quotas, cost),
            ({ isTaken, states }): Counted => ({ isTaken, states, caller: caller.key, limits, cost }),
          )
        })
      })
    },
    giveBack({ caller, limits, states, cost }) {
      const { quotas, ofFailures } = limits
      return store.giveBack(
        caller,
        quotas.filter((_, index) => ofFailures.includes(index)),
        cost,
        ofFailures.map((index) => states[index]?.end ?? 0),
      )
    },
  }
}
