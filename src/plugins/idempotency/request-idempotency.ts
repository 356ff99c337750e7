import { integer, isObject } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { type GivenAnswer, keptHeaders } from './answer.js'
import type { Attempt } from './ledger.js'

/** The answer that a handler keeps in its transaction. */
export interface KeptAnswer {
  /**
   * Status of the answer.
   * @default 200
   */
  readonly statusCode?: number
  /**
   * Header fields that the handler sets, such as `location`.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * What the handler returns: a JSON value, with BigInts and Dates.
   * @default none: an empty body
   */
  readonly body?: unknown
}

/** The key of a request, as its handler sees it: `request.idempotency`. */
export interface RequestIdempotency {
  /**
   * The key that the client has chosen, for services that the handler calls; `null` if the request has none, or if keys are
   * not enforced here. Another caller may have chosen the same.
   */
  readonly key: string | null
  /**
   * Keeps the answer in a transaction of the app, together with the effect: both are committed, or none is. Call it as the
   * last statement before the commit. A request that is repeated after a crash gets this answer. Does nothing for requests
   * without a key.
   *
   * @param connection of the transaction, see `within` of the store
   * @throws ProblemError `idempotency-in-progress` if another process has taken over the key: roll back; TypeError if the store
   * takes part in no transactions; RangeError if the answer is longer than `maxBytes`
   */
  keep(connection: object, answer?: KeptAnswer): Promise<void>
}

const status = integer(200, 499)

/** Keeps the answer of a handler in its transaction. */
export async function keepAnswer(
  attempt: Attempt,
  maxBytes: number,
  connection: object,
  { statusCode = 200, headers = {}, body }: KeptAnswer,
): Promise<void> {
  if (!isObject(connection)) throw new TypeError('request.idempotency.keep(): expected a connection')
  const answer: GivenAnswer = {
    kind: 'given',
    status: status('request.idempotency.keep() statusCode', statusCode),
    headers: keptHeaders(lowercase(headers), () => false),
    payload: body,
  }
  if (await attempt.keepWithin(connection, answer, maxBytes)) return
  throw new ProblemError('idempotency-in-progress', {
    detail: 'Another process has taken over this Idempotency-Key',
    headers: { 'retry-after': '1' },
  })
}

function lowercase(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
