import { objectOf } from './object-of.js'
import { OperationError, type Problem } from './operation-error.js'
import { urlOf } from './url-of.js'

/** The request that cancels the operation. */
export interface CancelLink {
  readonly rel: 'cancel'
  readonly method: string
  readonly href: string
}

/** The operation has not ended. Unknown statuses are treated as this one. */
export interface RunningOperation {
  readonly status: 'In progress'
  /** From 0 to 1, if the work reports it. */
  readonly progress?: number
  /** Present while the operation can be cancelled. */
  readonly link?: CancelLink
  readonly [member: string]: unknown
}

/** The operation has succeeded. */
export interface SucceededOperation<Result = unknown> {
  readonly status: 'Succeeded'
  /** The result, if there is one; its type is not checked. */
  readonly result?: Result
  /** Absolute URL of the created resource. It is not fetched, and may have another origin. */
  readonly resource?: string
  readonly [member: string]: unknown
}

/** The operation has failed; if it was cancelled, `error.code` is `operation-cancelled`. */
export interface FailedOperation {
  readonly status: 'Failed'
  /** A problem with a `message`, if the service sent one. */
  readonly error?: Problem
  readonly [member: string]: unknown
}

/** A final state of an operation. */
export type OperationEnd<Result = unknown> = SucceededOperation<Result> | FailedOperation

/** A status document with all of its members; the last two of the three states are final. */
export type OperationState<Result = unknown> = RunningOperation | OperationEnd<Result>

/**
 * Reads a status document.
 *
 * @param base the base of relative URLs
 * @param location the `Location` of a 303, if there was one
 * @throws OperationError `malformed`, `untrusted-url`
 */
export function readState<Result>(
  text: string,
  base: string,
  location: string | null | false,
): OperationState<Result> {
  const document = objectOf(text)
  const status = location ? 'Succeeded' : document?.status
  if (typeof status !== 'string') throw new OperationError('malformed', text.slice(0, 80))
  const resource = location || document?.resourceLocation
  return {
    ...document,
    status: /^(Succeeded|Failed)$/.test(status) ? status : 'In progress',
    ...(resource ? { resource: urlOf(String(resource), base) } : {}),
  } as OperationState<Result>
}
