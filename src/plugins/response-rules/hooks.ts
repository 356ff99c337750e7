import type { FastifyReply, FastifyRequest } from 'fastify'
import { isJson, mediaTypeOf } from '../../http/media-types.js'
import { serverFaultDetail } from '../../problem/problem-document.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Mode } from '../../rules/modes.js'
import type { Reporter } from '../../rules/report.js'
import { clip } from '../../text.js'
import { type PayloadBreach, payloadBreaches } from './payload-breaches.js'
import type { ResponseRule, ResponseVocabulary } from './response-rules.js'

/** Options of {@link watchPayloads}. */
export interface PayloadWatchOptions {
  /** Method and path pattern. */
  readonly route: string
  readonly modeOf: Readonly<Record<ResponseRule, Mode>>
  readonly vocabulary: ResponseVocabulary
  /** Number of payloads per status to check. */
  readonly samples: number
  readonly reporter: Reporter
}

/** The `preSerialization` hook of a route, and a function that turns it off. */
export interface PayloadWatch {
  hook(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: (error: Error | null, payload?: unknown) => void,
  ): void
  stop(): void
}

const rulesOfPayloads = ['object', 'envelope', 'keys', 'plural', 'dates'] as const
const maxShown = 300

/**
 * Returns a hook that checks the first payloads of a route without a response schema, for each status of success; `null`
 * if there is nothing to check. A payload that breaks a rule in `enforce` mode is not sent, and does not count as one of
 * the first.
 */
export function watchPayloads(options: PayloadWatchOptions): PayloadWatch | null {
  const { route, modeOf, vocabulary, samples, reporter } = options
  if (samples === 0 || rulesOfPayloads.every((rule) => modeOf[rule] === 'off')) return null
  // The payloads still to check, by status from 200 to 299.
  const left = new Uint16Array(100).fill(samples)

  function responseRulesOnPreSerialization(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: (error: Error | null, payload?: unknown) => void,
  ): void {
    const index = reply.statusCode - 200
    const remaining = left[index] ?? 0
    if (remaining === 0 || !isJsonReply(reply)) {
      next(null, payload)
      return
    }
    const breaches = payloadBreaches(payload, vocabulary)
    for (const breach of breaches) {
      if (modeOfBreach(breach, modeOf) === 'report')
        reporter.observe(
          'responseRules',
          breach.rule,
          request,
          textOf(breach),
          breach.rule === 'utc' ? 'none' : 500,
        )
    }
    const refused = breaches.filter((breach) => modeOfBreach(breach, modeOf) === 'enforce')
    if (refused.length > 0) {
      refusePayload(request, reply, refused, route, next)
      return
    }
    left[index] = remaining - 1
    next(null, payload)
  }

  return { hook: responseRulesOnPreSerialization, stop: () => void left.fill(0) }
}

// A local offset is valid RFC 3339, so it is only counted.
function modeOfBreach({ rule }: PayloadBreach, modeOf: PayloadWatchOptions['modeOf']): Mode {
  if (rule !== 'utc') return modeOf[rule]
  return modeOf.dates === 'off' ? 'off' : 'report'
}

function isJsonReply(reply: FastifyReply): boolean {
  return isJson(mediaTypeOf(String(reply.getHeader('content-type') ?? '')))
}

/** Answers a payload that breaks rules with a 500 that shows the client nothing of it. */
function refusePayload(
  request: FastifyRequest,
  reply: FastifyReply,
  breaches: readonly PayloadBreach[],
  route: string,
  next: (error: Error) => void,
): void {
  const cause = new Error(`${route} breaks responseRules: ${breaches.map(textOf).join('; ')}`)
  const error = new ProblemError('response-invalid', {
    status: 500,
    title: 'Invalid response',
    detail: serverFaultDetail,
    cause,
  })
  refuse(request, reply, error, next)
}

function textOf({ rule, problem, instead }: PayloadBreach): string {
  return clip(`${rule}: ${problem}; write ${instead}`, maxShown)
}
