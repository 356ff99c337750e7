import { ProblemError } from '../../problem/problem-error.js'
import { counted } from '../../text.js'
import type { Quota } from './options.js'

export interface Limit {
  readonly quota: Quota
  readonly max: number
  readonly quotedName: string
}

export interface State {
  readonly used: number
  /** Milliseconds until the window ends; its whole length if it has not begun. */
  readonly ttl: number
  readonly isExceeded: boolean
}

export interface Limits {
  readonly list: readonly Limit[]
  /** `RateLimit-Policy`, such as `"default";q=1000;w=60`. */
  readonly policy: string
}

/** @param maxima of each quota; Infinity for no limit */
export function limitsWith(quotas: readonly Quota[], maxima: readonly number[]): Limits {
  const list = quotas
    .map((quota, index) => ({ quota, max: maxima[index] ?? 0, quotedName: sfString(quota.name) }))
    .filter(({ max }) => max !== Number.POSITIVE_INFINITY)
  const policies = list.map(
    ({ quotedName, max, quota }) => `${quotedName};q=${max};w=${wholeSeconds(quota.timeWindow)}`,
  )
  return { list, policy: policies.join(', ') }
}

export function quotaFields({ list, policy }: Limits, states: readonly State[]) {
  let items = ''
  for (const [index, { quotedName, max }] of list.entries()) {
    const { used, ttl } = states[index] ?? unused
    if (items !== '') items += ', '
    items += `${quotedName};r=${Math.max(0, max - used)};t=${wholeSeconds(ttl)}`
  }
  return { 'ratelimit-policy': policy, ratelimit: items }
}

const unused: State = { used: 0, ttl: 0, isExceeded: false }

export function exceededNames({ list }: Limits, states: readonly State[]): string[] {
  return list.flatMap(({ quota }, index) => (states[index]?.isExceeded ? [quota.name] : []))
}

/** Returns the problem of a refused request. The quota whose window ends last decides when it can be sent again. */
export function quotaProblem(
  limits: Limits,
  states: readonly State[],
  violatedPolicies: string,
): ProblemError {
  const exceeded = limits.list.flatMap((limit, index) => {
    const state = states[index]
    return state?.isExceeded ? [{ limit, state }] : []
  })
  const { limit, state } = exceeded.reduce((one, other) => (other.state.ttl > one.state.ttl ? other : one))
  const within = counted(wholeSeconds(limit.quota.timeWindow), 'second')
  const wait = wholeSeconds(state.ttl, 1)
  return new ProblemError('quota-exceeded', {
    detail: `There were more than ${counted(limit.max, 'request')} in ${within}; try again in ${counted(wait, 'second')}`,
    headers: {
      ...quotaFields(limits, states),
      'retry-after': String(wait),
      'cache-control': 'no-store',
    },
    extensions: { [violatedPolicies]: exceededNames(limits, states) },
  })
}

/** Returns a String of RFC 9651 §3.3.3: visible ASCII in quotes. Characters that are not ASCII are percent-encoded. */
export function sfString(text: string): string {
  const ascii = text.replace(/[^\x20-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed()))
  return `"${ascii.replace(/["\\]/g, '\\$&')}"`
}

/** Rounds up, so that a client that waits for them is not too early. */
export function wholeSeconds(milliseconds: number, min = 0): number {
  return Math.max(min, Math.ceil(milliseconds / 1000))
}
