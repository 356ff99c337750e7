import type { MaybeAsync } from '../../maybe-async.js'
import { ProblemError } from '../../problem/problem-error.js'
import { inTime } from '../../time/in-time.js'
import { type Schedule, scheduleTimeout } from '../../time/schedule.js'
import { patience } from './caller.js'
import type { CreateRateLimit, Quota, Request } from './options.js'
import type { Limit, State } from './quota.js'

/** Counts a request of a caller, and returns the state of each quota. What one quota refuses does not use up another. */
export type Counter = (
  request: Request,
  caller: string,
  limits: readonly Limit[],
) => MaybeAsync<readonly State[]>

/** The window of a caller. It begins with the first request. */
interface Window {
  used: number
  readonly end: number
}

export function memoryCounter(callers: number, now: () => number = () => Date.now()): Counter {
  const windowsOf = new Map<Quota, RecentMap<Window>>()

  return function countInMemory(_request, caller, limits) {
    const time = now()
    let isRefused = false
    const windows = limits.map(({ quota, max }) => {
      const window = windowsOf.get(quota)?.get(caller)
      const ttl = window === undefined ? 0 : window.end - time
      // A clock that was set back does not make a window longer.
      const current = ttl > 0 && ttl <= quota.timeWindow ? window : undefined
      if ((current?.used ?? 0) >= max) isRefused = true
      return current
    })
    return limits.map(({ quota, max }, index) => {
      const window = windows[index] ?? { used: 0, end: time + quota.timeWindow }
      const isExceeded = window.used >= max
      if (!isRefused) {
        if (windows[index] === undefined) begin(quota, caller, window)
        window.used += 1
      }
      return { used: window.used, ttl: window.end - time, isExceeded }
    })
  }

  function begin(quota: Quota, caller: string, window: Window): void {
    const known = windowsOf.get(quota)
    const windows = known ?? new RecentMap<Window>(callers)
    if (known === undefined) windowsOf.set(quota, windows)
    windows.set(caller, window)
  }
}

/** A map that drops an entry only after `least` others were used since its last use. It has at most twice as many. */
class RecentMap<Value> {
  #recent = new Map<string, Value>()
  #older: ReadonlyMap<string, Value> = new Map()
  readonly #least: number

  constructor(least: number) {
    this.#least = least
  }

  get(key: string): Value | undefined {
    const recent = this.#recent.get(key)
    if (recent !== undefined) return recent
    const older = this.#older.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  set(key: string, value: Value): void {
    this.#recent.set(key, value)
    if (this.#recent.size < this.#least) return
    this.#older = this.#recent
    this.#recent = new Map()
  }
}

/** Counts by @fastify/rate-limit. The quotas are asked in their order. */
export function sharedCounter(create: CreateRateLimit): Counter {
  const callerOf = new WeakMap<Request, string>()
  const limiters = new Map<Quota, ReturnType<CreateRateLimit>>()

  function limiterOf(quota: Quota): ReturnType<CreateRateLimit> {
    const known = limiters.get(quota)
    if (known !== undefined) return known
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
    for (const { quota, max } of limits) {
      const result = await limiterOf(quota)(request, { increment: !isRefused })
      if (result.isAllowed) throw new TypeError('@fastify/rate-limit has not counted the request')
      const used = result.max - result.remaining
      const isExceeded: boolean = isRefused ? used >= max : used > max
      states.push({ used, ttl: used === 0 ? quota.timeWindow : result.ttl, isExceeded })
      isRefused ||= isExceeded
    }
    return states
  }
}

/** Returns a counter whose calls fail after half a second, with the problem `quota-unavailable`. */
export function boundedCounter(counter: Counter, schedule: Schedule = scheduleTimeout): Counter {
  let isAway = false
  let isAsking = false

  return async function countInTime(request, caller, limits) {
    if (isAway && isAsking) throw unavailable(new Error('Redis has not answered yet'))
    const isQuestion = isAway
    if (isQuestion) isAsking = true
    try {
      const answer = Promise.resolve(counter(request, caller, limits))
      const states = await inTime(answer, patience, 'an answer of Redis', schedule)
      isAway = false
      return states
    } catch (error) {
      isAway = true
      throw unavailable(error)
    } finally {
      if (isQuestion) isAsking = false
    }
  }
}

function unavailable(cause: unknown): ProblemError {
  return new ProblemError('quota-unavailable', {
    detail: 'Requests cannot be counted at the moment; try again',
    headers: { 'retry-after': '5', 'cache-control': 'no-store' },
    cause,
  })
}
