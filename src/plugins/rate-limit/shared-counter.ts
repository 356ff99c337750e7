import { ProblemError } from '../../problem/problem-error.js'
import { inTime } from '../../time/in-time.js'
import { type Schedule, scheduleTimeout } from '../../time/schedule.js'
import type { Counter } from './counter.js'
import { patience } from './limits.js'
import type { CreateRateLimit, Quota, Request } from './options.js'
import type { State } from './quota.js'

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
