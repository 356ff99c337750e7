import { objectOf } from './object-of.js'

/**
 * Why the state of an operation cannot be read, or why the cancellation failed.
 *
 * - `not-accepted`: the response is not a 202, or has no status URL that the client can read.
 * - `untrusted-url`: the service returned a URL of another origin, or of a scheme other than http and https.
 * - `attempts-exhausted`: the operation has not ended after the maximum of attempts; `cause` is the last error.
 * - `refused`: a 4xx other than 429, or a redirect; for a cancellation, every status that is not 2xx. A redirect has the
 *   `status` 0 in browsers, which hide it.
 * - `malformed`: the response is not a status document.
 * - `not-cancellable`: the last state has no link.
 */
export type OperationErrorCode =
  | 'not-accepted'
  | 'untrusted-url'
  | 'attempts-exhausted'
  | 'refused'
  | 'malformed'
  | 'not-cancellable'

/** A problem document (RFC 9457) of a response; its members are not checked. */
export interface Problem {
  readonly type?: string
  readonly title?: string
  readonly status?: number
  readonly detail?: string
  readonly instance?: string
  /** Stable name of the cause; let your code branch on it. */
  readonly code?: string
  readonly [member: string]: unknown
}

/** Options of an {@link OperationError}. */
type Circumstances = Partial<Pick<OperationError, 'status' | 'problem' | 'cause'>>

/** The state of an operation cannot be read, or the cancellation failed; `code` is the cause. The operation may still succeed. */
export class OperationError extends Error {
  declare readonly code: OperationErrorCode
  /** HTTP status of the response, if there was one. */
  declare readonly status?: number
  /** The problem document of the response, if it had one. */
  declare readonly problem?: Problem | undefined

  constructor(code: OperationErrorCode, about: unknown, circumstances?: Circumstances) {
    super(`${code}: ${about}`)
    Object.assign(this, { name: 'OperationError', code }, circumstances)
  }
}

/** Returns the error for a refusal. Reads the body of the response. */
export async function refusal(response: Response): Promise<OperationError> {
  return new OperationError('refused', response.status, {
    status: response.status,
    problem: objectOf(await response.text()),
  })
}
