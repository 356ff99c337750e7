import { objectOf } from './object-of.js'
import { OperationError, type Problem } from './operation-error.js'
import { urlOf } from './url-of.js'

/** What to call to cancel. */
export interface CancelLink {
  readonly rel: 'cancel'
  readonly method: string
  readonly href: string
}

/** It has not ended. A state that this release does not know reads as this one. */
export interface RunningOperation {
  readonly status: 'In progress'
  /** From 0 to 1, where the work says so. */
  readonly progress?: number
  /** There while it can be cancelled. */
  readonly link?: CancelLink
  readonly [member: string]: unknown
}

/** It ended well. */
export interface SucceededOperation<Result = unknown> {
  readonly status: 'Succeeded'
  /** What came of it, where that is no resource; of the type that the caller says, unchecked. */
  readonly result?: Result
  /** Absolute URL of the resource that it created. It is not fetched, and may be of another origin. */
  readonly resource?: string
  readonly [member: string]: unknown
}

/** It ended badly; its `error.code` is `operation-cancelled` where it was cancelled. */
export interface FailedOperation {
  readonly status: 'Failed'
  /** A problem with a `message`, where the service gives a reason. */
  readonly error?: Problem
  readonly [member: string]: unknown
}

/** How an operation ended. */
export type OperationEnd<Result = unknown> = SucceededOperation<Result> | FailedOperation

/** A status document, with all of its members; of the three states the last two are final. */
export type OperationState<Result = unknown> = RunningOperation | OperationEnd<Result>

/**
 * Reads a status document.
 *
 * @param base what relative URLs in it are relative to
 * @param location where a 303 points to, where it came with one
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
