import { LruMap } from 'toad-cache'
import { quoted } from '../../http/header-fields.js'
import { kept } from '../../kept.js'
import { ProblemError } from '../../problem/problem-error.js'
import { counted } from '../../text.js'
import { inTime, type MaybeAsync, type Schedule, scheduleTimeout } from '../../time/async.js'
import type { CreateRateLimit, Quota, Request } from './options.js'

/** Milliseconds that a request waits for Redis, and for the functions of the app that look up a `max`. */
export const patience = 500

interface Limit {
  readonly quota: Quota
  readonly max: number
  readonly quotedName: string
}

export interface State {
  readonly limit: Limit
  readonly used: number
  /** Milliseconds until the window ends; its whole length if it has not begun. */
  readonly ttl: number
  readonly isExceeded: boolean
}

/** @param maxima of each quota; Infinity for no limit */
export function limitsWith(quotas: readonly Quota[], maxima: readonly number[]) {
  const list = quotas
    .map((quota, index) => ({ quota, max: maxima[index] ?? 0, quotedName: sfString(quota.name) }))
    .filter(({ max }) => max !== Number.POSITIVE_INFINITY)
  const policies = list.map(
    ({ quotedName, max, quota }) => `${quotedName};q=${max};w=${wholeSeconds(quota.timeWindow)}`,
  )
  // `RateLimit-Policy`, such as `"default";q=1000;w=60`.
  return { list, policy: policies.join(', ') }
}

export type Limits = ReturnType<typeof limitsWith>

export function quotaFields(policy: string, states: readonly State[]) {
  let items = ''
  for (const { limit, used, ttl } of states) {
    if (items !== '') items += ', '
    items += `${limit.quotedName};r=${Math.max(0, limit.max - used)};t=${wholeSeconds(ttl)}`
  }
  return { 'ratelimit-policy': policy, ratelimit: items }
}

/** Returns the problem of a refused request. The quota whose window ends last decides when it can be sent again. */
export function quotaProblem(
  policy: string,
  states: readonly State[],
  violatedPolicies: string,
): ProblemError {
  const exceeded = states.filter(({ isExceeded }) => isExceeded)
  const { limit, ttl } = exceeded.reduce((one, other) => (other.ttl > one.ttl ? other : one))
  const within = counted(wholeSeconds(limit.quota.timeWindow), 'second')
  const wait = wholeSeconds(ttl, 1)
  return new ProblemError('quota-exceeded', {
    detail: `There were more than ${counted(limit.max, 'request')} in ${within}; try again in ${counted(wait, 'second')}`,
    headers: { ...quotaFields(policy, states), 'retry-after': String(wait), 'cache-control': 'no-store' },
    extensions: { [violatedPolicies]: exceeded.map((state) => state.limit.quota.name) },
  })
}

/** Returns a String of RFC 9651 §3.3.3: visible ASCII in quotes. Characters that are not ASCII are percent-encoded. */
export function sfString(text: string): string {
  const ascii = text.replace(/[^\x20-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed()))
  return quoted(ascii)
}

/** Rounds up, so that a client that waits for them is not too early. */
function wholeSeconds(milliseconds: number, min = 0): number {
  return Math.max(min, Math.ceil(milliseconds / 1000))
}

/** What one quota refuses does not use up another. */
export type Counter = (
  request: Request,
  caller: string,
  limits: readonly Limit[],
) => MaybeAsync<readonly State[]>

interface Window {
  used: number
  readonly end: number
}

/** @param callers number of callers that each quota keeps; the least recently seen are dropped first */
export function memoryCounter(callers: number, now: () => number = () => Date.now()): Counter {
  const windowsOf = new Map<Quota, LruMap<Window>>()

  const newWindows = () => new LruMap<Window>(callers)
  const windowsIn = (quota: Quota) => kept(windowsOf, quota, newWindows)

  function windowOf(caller: string, quota: Quota, time: number): Window {
    const known = windowsIn(quota).get(caller)
    const ttl = known === undefined ? 0 : known.end - time
    // A clock that was set back does not make a window longer.
    return known !== undefined && ttl > 0 && ttl <= quota.timeWindow
      ? known
      : { used: 0, end: time + quota.timeWindow }
  }

  return function countInMemory(_request, caller, limits) {
    const time = now()
    const isRefused = limits.some(({ quota, max }) => windowOf(caller, quota, time).used >= max)
    return limits.map((limit): State => {
      const { quota, max } = limit
      const window = windowOf(caller, quota, time)
      const isExceeded = window.used >= max
      if (!isRefused && ++window.used === 1) windowsIn(quota).set(caller, window)
      return { limit, used: window.used, ttl: window.end - time, isExceeded }
    })
  }
}

/** Counts by @fastify/rate-limit. The quotas are asked in their order. */
export function sharedCounter(create: CreateRateLimit): Counter {
  const callerOf = new WeakMap<Request, string>()
  const limiters = new Map<Quota, ReturnType<CreateRateLimit>>()

  function makeLimiter(quota: Quota): ReturnType<CreateRateLimit> {
    const limiter = create({
      // The limit is that of the caller, and decided here.
      max: Number.MAX_SAFE_INTEGER,
      timeWindow: quota.timeWindow,
      // The limiters of a Redis share one prefix.
      keyGenerator: (request) => `${callerOf.get(request)} ${quota.name}`,
    })
    limiters.set(quota, limiter)
    return limiter
  }

  return async function countShared(request, caller, limits) {
    callerOf.set(request, caller)
    const states: State[] = []
    let isRefused = false
    for (const limit of limits) {
      const { quota, max } = limit
      const ask = limiters.get(quota) ?? makeLimiter(quota)
      const result = await ask(request, { increment: !isRefused })
      if (result.isAllowed) throw new TypeError('@fastify/rate-limit has not counted the request')
      const used = result.max - result.remaining
      const isExceeded: boolean = isRefused ? used >= max : used > max
      states.push({ limit, used, ttl: used === 0 ? quota.timeWindow : result.ttl, isExceeded })
      isRefused ||= isExceeded
    }
    return states
  }
}

/** Returns a counter whose calls fail after half a second. After a failure one call at a time tries again. */
export function boundedCounter(counter: Counter, schedule: Schedule = scheduleTimeout): Counter {
  let isAway = false
  let isAsking = false

  return async function countInTime(request, caller, limits) {
    if (isAway && isAsking) throw new Error('Redis has not answered yet')
    const isQuestion = isAway
    if (isQuestion) isAsking = true
    try {
      const answer = Promise.resolve(counter(request, caller, limits))
      const states = await inTime(answer, patience, 'an answer of Redis', schedule)
      isAway = false
      return states
    } catch (error) {
      isAway = true
      throw error
    } finally {
      if (isQuestion) isAsking = false
    }
  }
}
