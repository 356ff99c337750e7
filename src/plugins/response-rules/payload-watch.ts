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

/** What is to be looked at on a route that has no response schema. */
export interface PayloadWatchOptions {
  /** Method and path pattern. */
  readonly route: string
  readonly modeOf: Readonly<Record<ResponseRule, Mode>>
  readonly vocabulary: ResponseVocabulary
  /** Payloads of each status that are looked at. */
  readonly samples: number
  readonly reporter: Reporter
}

/** A hook for the route, and its end. */
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
const longestShown = 300

/**
 * Looks at the first payloads of a route, of each status of success; after those that keep the rules it costs one
 * comparison. A payload that breaks a rule in `enforce` mode is not sent, and does not count as one of the first.
 * `null` where there is nothing to look for.
 */
export function watchPayloads(options: PayloadWatchOptions): PayloadWatch | null {
  const { route, modeOf, vocabulary, samples, reporter } = options
  if (samples === 0 || rulesOfPayloads.every((rule) => modeOf[rule] === 'off')) return null
  // By status from 200 to 299: how many payloads are still to be looked at.
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
        reporter.observe('responseRules', breach.rule, request, textOf(breach))
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

// A local offset is right, only not preferred: it stops nothing.
function modeOfBreach({ rule }: PayloadBreach, modeOf: PayloadWatchOptions['modeOf']): Mode {
  if (rule !== 'utc') return modeOf[rule]
  return modeOf.dates === 'off' ? 'off' : 'report'
}

function isJsonReply(reply: FastifyReply): boolean {
  return isJson(mediaTypeOf(String(reply.getHeader('content-type') ?? '')))
}

/** Ends a request whose payload breaks rules; the client learns only that the server is at fault. */
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
  return clip(`${rule}: ${problem}; write ${instead}`, longestShown)
}
