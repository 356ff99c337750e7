import { ProblemError } from '../../problem/problem-error.js'
import { type Answer, type GivenAnswer, readAnswer, type SentAnswer } from './answer.js'
import { maxKeyLength } from './fingerprint.js'
import type { IdempotencyClaim, IdempotencyRecord } from './stores/store.js'

/** What becomes of a request whose key another request has: it gets an answer that was sent, or one that was given, or none. */
export type Outcome =
  | { readonly kind: 'sent'; readonly answer: SentAnswer }
  | { readonly kind: 'given'; readonly answer: GivenAnswer; readonly claim: IdempotencyClaim }
  | Refusal

/** A request that is refused. */
export interface Refusal {
  readonly kind: 'refuse'
  /** Why, for the report. */
  readonly rule: 'in-progress' | 'key-reused' | 'answer-not-kept' | 'key-invalid' | 'unavailable'
  readonly problem: ProblemError
}

/** Decides about a request by the record of its key. */
export function outcomeOf(record: IdempotencyRecord, requested: string): Outcome {
  const { fingerprint, answer } = record
  if (fingerprint !== requested) {
    return refusal(
      'key-reused',
      'idempotency-key-reused',
      'An earlier request with this Idempotency-Key was different',
    )
  }
  if (answer === null) {
    return refusal(
      'in-progress',
      'idempotency-in-progress',
      'The first request with this Idempotency-Key is still running',
      {
        'retry-after': '1',
      },
    )
  }
  const kept: Answer = readAnswer(answer)
  if (kept.kind === 'sent') return { kind: 'sent', answer: kept }
  if (kept.kind === 'given') return { kind: 'given', answer: kept, claim: record }
  const { status, reason, location } = kept
  const detail = `The first request with this Idempotency-Key was carried out with status ${status}, and is not run again: ${reason}`
  return refusal(
    'answer-not-kept',
    'idempotency-answer-not-kept',
    detail,
    {},
    location === null ? {} : { location },
  )
}

/** Returns the problem of a key that is malformed, or missing. */
export function keyProblem(isMissing: boolean): ProblemError {
  const what = `one string of 1 to ${maxKeyLength} visible ASCII characters`
  const detail = isMissing ? `Idempotency-Key is required here: ${what}` : `Idempotency-Key must be ${what}`
  return new ProblemError('idempotency-key-invalid', { detail })
}

/** Returns the problem of a request with a key whose body the handler reads as a stream. */
export function streamedBodyProblem(): ProblemError {
  return new ProblemError('idempotency-key-invalid', {
    detail:
      'A repetition of this request cannot be recognised, because its body is a stream; send it without Idempotency-Key',
  })
}

/** Returns the problem of a request that does not run because the store fails. */
export function unavailableProblem(cause: unknown): ProblemError {
  return new ProblemError('idempotency-unavailable', {
    detail: 'Repeated requests cannot be recognised at the moment; try again',
    headers: { 'retry-after': '5' },
    cause,
  })
}

function refusal(
  rule: Refusal['rule'],
  code: 'idempotency-key-reused' | 'idempotency-in-progress' | 'idempotency-answer-not-kept',
  detail: string,
  headers: Readonly<Record<string, string>> = {},
  extensions: Readonly<Record<string, unknown>> = {},
): Refusal {
  return { kind: 'refuse', rule, problem: new ProblemError(code, { detail, headers, extensions }) }
}
