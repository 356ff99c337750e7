import { ProblemError } from '../../problem/problem-error.js'
import type { Schedule } from '../../time/schedule.js'
import type { RateLimitRedis } from './options.js'

/** Milliseconds that a request waits for its count in Redis. */
export const patience = 500

/**
 * The same client, whose scripts are answered within {@link patience}: what is not has failed, and so has what the client
 * rejects, with the problem `quota-unavailable`. After a failure one call at a time asks whether Redis is back, and the
 * others fail at once: neither requests nor the commands of the client pile up behind a server that does not answer.
 */
export function boundedRedis(redis: RateLimitRedis, schedule: Schedule): RateLimitRedis {
  const scripts = redis as unknown as Record<string, Script | undefined>
  let isAway = false
  let isAsking = false

  function run(name: string, values: readonly unknown[], done: Done): void {
    if (isAway && isAsking) {
      done(unavailable(new Error('Redis has not answered yet')))
      return
    }
    const isQuestion = isAway
    if (isQuestion) isAsking = true
    let isSettled = false
    const cancel = schedule(() => settle(new Error(`no answer after ${patience} milliseconds`)), patience)
    function settle(error: unknown, result?: unknown): void {
      if (isSettled) return
      isSettled = true
      cancel()
      if (isQuestion) isAsking = false
      isAway = Boolean(error)
      if (isAway) done(unavailable(error))
      else done(null, result)
    }
    try {
      scripts[name]?.(...values, settle)
    } catch (error) {
      settle(error)
    }
  }

  const bounded: RateLimitRedis & Record<string, unknown> = {
    defineCommand(name, definition) {
      if (scripts[name] === undefined) redis.defineCommand(name, definition)
      bounded[name] = (...values: unknown[]) => run(name, values.slice(0, -1), values.at(-1) as Done)
    },
  }
  return bounded
}

type Done = (error: unknown, result?: unknown) => void
type Script = (...valuesAndDone: unknown[]) => unknown

function unavailable(cause: unknown): ProblemError {
  return new ProblemError('quota-unavailable', {
    detail: 'Requests cannot be counted at the moment; try again',
    headers: { 'retry-after': '5', 'cache-control': 'no-store' },
    cause,
  })
}
