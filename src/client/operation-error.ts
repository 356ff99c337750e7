import { objectOf } from './object-of.js'

/**
 * Why it is not known how an operation ended, or why it was not cancelled.
 *
 * - `not-accepted`: the response is not a 202, or has no status URL that can be read here.
 * - `untrusted-url`: a URL that the service named is of another origin, or not of http or https.
 * - `attempts-exhausted`: the maximum of attempts is used up; `cause` is the last trouble, if there was any.
 * - `refused`: a 4xx other than 429, or a redirect; to a cancellation, whatever is no 2xx. A redirect has the `status` 0
 *   in browsers, which hide it.
 * - `malformed`: the response is not a status document.
 * - `not-cancellable`: the last state has no link to cancel by.
 */
export type OperationErrorCode =
  | 'not-accepted'
  | 'untrusted-url'
  | 'attempts-exhausted'
  | 'refused'
  | 'malformed'
  | 'not-cancellable'

/** A problem document (RFC 9457) as it came, unchecked. */
export interface Problem {
  readonly type?: string
  readonly title?: string
  readonly status?: number
  readonly detail?: string
  readonly instance?: string
  /** Stable name of the cause; what a client branches on. */
  readonly code?: string
  readonly [member: string]: unknown
}

/** What more is known of an {@link OperationError}. */
type Circumstances = Partial<Pick<OperationError, 'status' | 'problem' | 'cause'>>

/** Following or cancelling did not work out; `code` says why. The operation itself may be well. */
export class OperationError extends Error {
  declare readonly code: OperationErrorCode
  /** HTTP status of the answer, where there was one. */
  declare readonly status?: number
  /** The problem document of the answer, where it had one. */
  declare readonly problem?: Problem | undefined

  constructor(code: OperationErrorCode, about: unknown, circumstances?: Circumstances) {
    super(`${code}: ${about}`)
    Object.assign(this, { name: 'OperationError', code }, circumstances)
  }
}

/** What an answer says that is none to follow. Reads its body. */
export async function refusal(response: Response): Promise<OperationError> {
  return new OperationError('refused', response.status, {
    status: response.status,
    problem: objectOf(await response.text()),
  })
}
