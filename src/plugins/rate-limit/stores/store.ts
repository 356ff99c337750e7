/** A quota, as it applies to one caller. */
export interface QuotaLimit {
  /** Unique among the quotas of the service; an item of `RateLimit-Policy` has it. */
  readonly name: string
  /** Units within a window. A request costs one unit, or the `cost` of its route. */
  readonly max: number
  /** Length of a window in milliseconds, at least 1000. */
  readonly timeWindow: number
}

/** The state of a quota for one caller. */
export interface QuotaState {
  /** Units used in the window, with those of this request if they were taken. */
  readonly used: number
  /** Milliseconds until the window ends; its whole length if it has not begun. */
  readonly ttl: number
  /** End of the window, in milliseconds since 1970 by the clock of the store. It identifies the window. */
  readonly end: number
}

/** What a store has decided for a request. */
export interface QuotaOutcome {
  /** Whether the request fits into all quotas. If not, it has taken nothing. */
  readonly isTaken: boolean
  /** The state of each quota, in the order of the call. */
  readonly states: readonly QuotaState[]
}

/**
 * Where requests are counted. A window begins with the first request of a caller that takes something, and ends after
 * `timeWindow`.
 *
 * A promise that takes longer than half a second, or rejects, is a store that cannot be reached.
 * `quotaStoreContract` of `fastify-conventions/testing` tests a store.
 */
export interface QuotaStore {
  /**
   * Takes `cost` units from each quota, or from none if one of them has less left: one atomic step, also for calls of
   * several instances. With `cost` 0 it takes nothing and begins no window.
   *
   * @param caller identifies the caller; at most about 80 characters, except for keys of `app.createRateLimit()`
   */
  take(caller: string, quotas: readonly QuotaLimit[], cost: number): QuotaOutcome | Promise<QuotaOutcome>
  /**
   * Gives back what {@link QuotaStore.take} took. A quota whose window has ended since stays as it is.
   *
   * @param ends the {@link QuotaState.end} of each quota, as `take` returned it
   */
  giveBack(
    caller: string,
    quotas: readonly QuotaLimit[],
    cost: number,
    ends: readonly number[],
  ): void | Promise<void>
}
