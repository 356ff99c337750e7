import { ProblemError } from '../../problem/problem-error.js'
import type { QuotaLimit, QuotaState } from './stores/store.js'

/** The names of the header fields of a quota (draft-ietf-httpapi-ratelimit-headers). */
export const policyField = 'ratelimit-policy'
export const stateField = 'ratelimit'

/** A quota of requests within a window, and what responses tell about it. */
export class Quota implements QuotaLimit {
  readonly name: string
  readonly max: number
  readonly timeWindow: number
  /** The item of `RateLimit-Policy`, such as `"default";q=1000;w=60`. */
  readonly policy: string
  readonly #seconds: number
  readonly #quotedName: string

  constructor({ name, max, timeWindow }: QuotaLimit) {
    this.name = name
    this.max = max
    this.timeWindow = timeWindow
    this.#seconds = wholeSeconds(timeWindow)
    this.#quotedName = sfString(name)
    this.policy = `${this.#quotedName};q=${max};w=${this.#seconds}`
  }

  /** Returns what is left of the quota. It may be exceeded, after its `max` was lowered. */
  remaining({ used }: QuotaState): number {
    return Math.max(0, this.max - used)
  }

  /** Returns the item of `RateLimit`, such as `"default";r=999;t=60`. */
  state(state: QuotaState): string {
    return `${this.#quotedName};r=${this.remaining(state)};t=${wholeSeconds(state.ttl)}`
  }

  /** Returns the sentence for a request that costs more than is left. */
  excess(state: QuotaState, cost: number): string {
    const again = `try again in ${wholeSeconds(state.ttl, 1)}`
    return cost === 1
      ? `There were more than ${this.max} requests in ${this.#seconds} seconds; ${again}`
      : `The request costs ${cost}, and ${this.remaining(state)} of ${this.max} in ${this.#seconds} seconds are left; ${again}`
  }
}

/** The fields of a response that counts against quotas. */
export interface QuotaFields {
  readonly [policyField]: string
  readonly [stateField]: string
}

/**
 * Returns the problem of a request that one or more quotas refuse: those in which less than its cost is left. The one whose
 * window ends last decides when it can be sent again.
 *
 * @param fields they may have the items of further quotas
 * @param violatedPolicies the name of the extension member
 */
export function quotaProblem(
  quotas: readonly Quota[],
  states: readonly QuotaState[],
  cost: number,
  fields: QuotaFields,
  violatedPolicies: string,
): ProblemError {
  const exceeded = exceededQuotas(quotas, states, cost)
  const [quota, state] = exceeded.reduce((one, other) => (other[1].ttl > one[1].ttl ? other : one))
  return new ProblemError('quota-exceeded', {
    detail: quota.excess(state, cost),
    headers: {
      ...fields,
      'retry-after': String(wholeSeconds(state.ttl, 1)),
      'cache-control': 'no-store',
    },
    extensions: { [violatedPolicies]: exceeded.map(([{ name }]) => name) },
  })
}

/**
 * Returns the quotas that refuse a request, with their states: those in which less than its cost is left. If there is none,
 * although the store has refused the request, they are all.
 */
export function exceededQuotas(
  quotas: readonly Quota[],
  states: readonly QuotaState[],
  cost: number,
): readonly (readonly [quota: Quota, state: QuotaState])[] {
  const all = quotas.flatMap((quota, index) => {
    const state = states[index]
    return state === undefined ? [] : [[quota, state] as const]
  })
  const exceeded = all.filter(([quota, state]) => state.used + cost > quota.max)
  return exceeded.length > 0 ? exceeded : all
}

/** Returns a String of RFC 9651 §3.3.3: visible ASCII in quotes. Characters that are not ASCII are percent-encoded. */
export function sfString(text: string): string {
  const ascii = text.replace(/[^\x20-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed()))
  return `"${ascii.replace(/["\\]/g, '\\$&')}"`
}

/**
 * Returns milliseconds in seconds, rounded up, so that a client that waits for them is not too early.
 *
 * @param min the lowest number of seconds
 */
export function wholeSeconds(milliseconds: number, min = 0): number {
  return Math.max(min, Math.ceil(milliseconds / 1000))
}
