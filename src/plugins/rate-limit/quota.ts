import { ProblemError } from '../../problem/problem-error.js'

/** The state of a quota for one caller. */
export interface QuotaState {
  /** Requests that are left in the window. */
  readonly remaining: number
  /** Milliseconds until the window ends. */
  readonly ttl: number
}

/** The names of the header fields of a quota (draft-ietf-httpapi-ratelimit-headers). */
export const policyField = 'ratelimit-policy'
export const stateField = 'ratelimit'

/** A quota of requests within a window, and what responses tell about it. */
export class Quota {
  readonly name: string
  readonly max: number
  /** The item of `RateLimit-Policy`, such as `"default";q=1000;w=60`. */
  readonly policy: string
  readonly #seconds: number
  readonly #quotedName: string

  /**
   * @param max requests within the window
   * @param timeWindow milliseconds
   */
  constructor(name: string, max: number, timeWindow: number) {
    this.name = name
    this.max = max
    this.#seconds = wholeSeconds(timeWindow)
    this.#quotedName = sfString(name)
    this.policy = `${this.#quotedName};q=${max};w=${this.#seconds}`
  }

  /** Returns the item of `RateLimit`, such as `"default";r=999;t=60`. */
  state({ remaining, ttl }: QuotaState): string {
    return `${this.#quotedName};r=${remaining};t=${wholeSeconds(ttl)}`
  }

  /**
   * Returns the problem of a request beyond the quota.
   *
   * @param fields the values of `RateLimit-Policy` and `RateLimit`, which may name further quotas
   * @param violatedPolicies the name of the extension member
   */
  problem(ttl: number, fields: Readonly<Record<string, string>>, violatedPolicies: string): ProblemError {
    const seconds = wholeSeconds(ttl, 1)
    return new ProblemError('quota-exceeded', {
      detail: `There were more than ${this.max} requests in ${this.#seconds} seconds; try again in ${seconds}`,
      headers: { ...fields, 'retry-after': String(seconds), 'cache-control': 'no-store' },
      extensions: { [violatedPolicies]: [this.name] },
    })
  }
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
