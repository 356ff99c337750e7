import type { FastifyReply, FastifyRequest } from 'fastify'
import { isJson, mediaTypeOf } from '../../http/media-types.js'
import type { Mode } from '../../rules/modes.js'
import type { Reporter } from '../../rules/report.js'
import { clip } from '../../text.js'
import { type PayloadBreach, payloadBreaches } from './payload-breaches.js'
import type { ResponseRule, ResponseVocabulary } from './response-rules.js'

/** Options of watchPayloads. */
export interface PayloadWatchOptions {
  readonly modeOf: Readonly<Record<ResponseRule, Mode>>
  readonly vocabulary: ResponseVocabulary
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
// Payloads to check for each status of a route.
const samples = 20

export function watchPayloads(options: PayloadWatchOptions): PayloadWatch | null {
  const { modeOf, vocabulary, reporter } = options
  if (rulesOfPayloads.every((rule) => modeOf[rule] === 'off')) return null
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
    for (const breach of payloadBreaches(payload, vocabulary)) {
      if (isChecked(breach, modeOf))
        reporter.observe('responseRules', breach.rule, request, textOf(breach), 'none', 'each route')
    }
    left[index] = remaining - 1
    next(null, payload)
  }

  return { hook: responseRulesOnPreSerialization, stop: () => void left.fill(0) }
}

// A local offset is valid RFC 3339, and counted apart.
function isChecked({ rule }: PayloadBreach, modeOf: PayloadWatchOptions['modeOf']): boolean {
  return modeOf[rule === 'utc' ? 'dates' : rule] !== 'off'
}

function isJsonReply(reply: FastifyReply): boolean {
  return isJson(mediaTypeOf(String(reply.getHeader('content-type') ?? '')))
}

function textOf({ rule, problem, instead }: PayloadBreach): string {
  return clip(`${rule}: ${problem}; write ${instead}`, maxShown)
}
