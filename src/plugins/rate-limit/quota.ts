import type { FastifyReply } from 'fastify'
import { keyStyleOf } from '../../fastify/key-style.js'
import { ProblemError } from '../../problem/problem-error.js'
import type { Count, Limiter } from './fastify-rate-limit.js'
import { quotaPolicy, quotaState, sfString, wholeSeconds } from './quota-fields.js'

/** A quota that requests are counted against. */
export interface Quota {
  /** Its name in the header fields. */
  readonly name: string
  readonly count: Limiter
  /** Adds the policy and what is left of it to the fields of the reply. */
  setFields(reply: FastifyReply, count: Count): void
  /** Returns the problem of a request beyond the quota, with the fields of the quotas that it was counted against before. */
  refusal(reply: FastifyReply, count: Count): ProblemError
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
      reply.header(policyField, beside(reply, policyField, policy))
      reply.header(stateField, beside(reply, stateField, quotaState(quoted, remaining, wholeSeconds(ttl))))
    },
    refusal(reply, { ttl }) {
      const seconds = wholeSeconds(ttl, 1)
      return new ProblemError('quota-exceeded', {
        detail: `There were more than ${max} requests in ${wholeSeconds(timeWindow)} seconds; try again in ${seconds}`,
        headers: {
          'retry-after': String(seconds),
          [policyField]: beside(reply, policyField, policy),
          [stateField]: beside(reply, stateField, quotaState(quoted, 0, wholeSeconds(ttl))),
          'cache-control': 'no-store',
        },
        extensions: { [violatedPolicies[keyStyleOf(reply.server)]]: [name] },
      })
    },
  }
}

// The Internet-Draft on RateLimit header fields writes `violated-policies`, for a problem type of its own.
const violatedPolicies = { snake_case: 'violated_policies', camelCase: 'violatedPolicies' } as const

const policyField = 'ratelimit-policy'
const stateField = 'ratelimit'

/** A List of structured fields with one more item (RFC 9651 §3.1): a request may count against several quotas. */
function beside(reply: FastifyReply, field: string, item: string): string {
  const before = reply.getHeader(field)
  return before === undefined ? item : `${before}, ${item}`
}
