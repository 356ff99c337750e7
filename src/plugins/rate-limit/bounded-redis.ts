import { ProblemError } from '../../problem/problem-error.js'
import { inTime } from '../../time/in-time.js'
import type { Schedule } from '../../time/schedule.js'
import type { RateLimitRedis } from './options.js'

/** Milliseconds that a request waits for its count in Redis. */
export const patience = 500

/**
 * Returns a client whose scripts fail after {@link patience}, with the problem `quota-unavailable`. After a failure, one
 * call at a time asks whether Redis is back and the others fail at once: neither requests nor the commands of the client
 * pile up while Redis does not answer.
 */
export function boundedRedis(redis: RateLimitRedis, schedule: Schedule): RateLimitRedis {
  const scripts = redis as RateLimitRedis & Readonly<Record<string, Script | undefined>>
  let isAway = false
  let isAsking = false

  async function run(name: string, values: readonly unknown[]): Promise<unknown> {
    if (isAway && isAsking) throw unavailable(new Error('Redis has not answered yet'))
    const isQuestion = isAway
    if (isQuestion) isAsking = true
    try {
      const result = await inTime(call(name, values), patience, 'an answer of Redis', schedule)
      isAway = false
      return result
    } catch (error) {
      isAway = true
      throw unavailable(error)
    } finally {
      if (isQuestion) isAsking = false
    }
  }

  function call(name: string, values: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      scripts[name]?.(...values, (error: unknown, result?: unknown) =>
        error ? reject(error) : resolve(result),
      )
    })
  }

  const bounded: RateLimitRedis & Record<string, unknown> = {
    defineCommand(name, definition) {
      if (scripts[name] === undefined) redis.defineCommand(name, definition)
      bounded[name] = (...parameters: unknown[]) => {
        const done = parameters.pop() as Done
        run(name, parameters).then((result) => done(null, result), done)
      }
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
