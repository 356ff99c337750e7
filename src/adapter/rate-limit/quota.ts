import type { FastifyReply } from 'fastify'
import { ProblemError } from '../../errors.js'
import { quotaPolicy, quotaState, sfString, wholeSeconds } from '../../http/rate-limit/quota-fields.js'
import type { Count, Limiter } from './fastify-rate-limit.js'

/** A quota that requests are counted against. */
export interface Quota {
  /** Its name in the header fields. */
  readonly name: string
  readonly count: Limiter
  /** Puts what is left on the reply. */
  setFields(reply: FastifyReply, count: Count): void
  /** What a request is told that is beyond it. */
  refusal(count: Count): ProblemError
}

/**
 * A quota, and how it is told of.
 *
 * @param max requests within the window
 * @param timeWindow milliseconds
 */
export function quotaOf(name: string, max: number, timeWindow: number, count: Limiter): Quota {
  const quoted = sfString(name)
  const policy = quotaPolicy(name, max, wholeSeconds(timeWindow))
  return {
    name,
    count,
    setFields(reply, { remaining, ttl }) {
      reply.header('ratelimit-policy', policy)
      reply.header('ratelimit', quotaState(quoted, remaining, wholeSeconds(ttl)))
    },
    refusal({ ttl }) {
      const seconds = wholeSeconds(ttl, 1)
      return new ProblemError('quota-exceeded', {
        detail: `There were more than ${max} requests in ${wholeSeconds(timeWindow)} seconds; try again in ${seconds}`,
        headers: {
          'retry-after': String(seconds),
          'ratelimit-policy': policy,
          ratelimit: quotaState(quoted, 0, wholeSeconds(ttl)),
          'cache-control': 'no-store',
        },
        extensions: { 'violated-policies': [name] },
      })
    },
  }
}
