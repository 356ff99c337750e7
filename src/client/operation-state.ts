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
  readonly result?: undefined
  readonly [member: string]: unknown
}

/** The operation has succeeded. */
export interface SucceededOperation<Result = unknown> {
  readonly status: 'Succeeded'
  /** The result, if there is one; its type is not checked. */
  readonly result?: Result
  readonly link?: undefined
  /** Absolute URL of the created resource. It is not fetched, and may have another origin. */
  readonly resource?: string
  readonly [member: string]: unknown
}

/** The operation has failed; if it was cancelled, `error.code` is `operation-cancelled`. */
export interface FailedOperation {
  readonly status: 'Failed'
  /** A problem with a `message`, if the service sent one. */
  readonly error?: Problem
  readonly result?: undefined
  readonly link?: undefined
  readonly [member: string]: unknown
}

/** A final state of an operation. */
export type OperationEnd<Result = unknown> = SucceededOperation<Result> | FailedOperation

/** A status document with all of its members; the last two of the three states are final. */
export type OperationState<Result = unknown> = RunningOperation | OperationEnd<Result>

/** Reads a status document. */
export function readState<Result>(
  text: string,
  base: string,
  location?: string | null | false,
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

/** Returns an absolute URL of http or https. */
export function urlOf(reference: string | URL, base: string, isOwn?: boolean): string {
  try {
    const { href, origin } = new URL(reference, base)
    if (/^http/.test(origin) && !(isOwn && origin !== new URL(base).origin)) return href
  } catch {
    // An invalid URL is not trusted.
  }
  throw new OperationError('untrusted-url', reference)
}

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

/** Returns the object in a JSON text; `undefined` for other texts and other values. */
function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // A text that is not JSON is not an object either.
  }
  return value === Object(value) ? (value as Readonly<Record<string, unknown>>) : undefined
}
