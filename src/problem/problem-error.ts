import { varyMerger } from '../http/header-fields.js'
import { reasonPhrases, statusCode } from '../http/status.js'
import { isObject } from '../options.js'
import { clip } from '../text.js'
import { wordsOf } from '../words/words.js'
import { boundedIssues, type ProblemIssue } from './issues.js'

export type { ProblemIssue } from './issues.js'

/**
 * The problem types of this package, by their `code`.
 *
 * A `code` is stable: clients branch on it. Title and status belong to the code (RFC 9457 §3.1.2–3.1.3); the text about
 * one occurrence is the `detail`. `docs/errors.md` describes each code; a test compares both.
 */
export const problemTypes = Object.freeze({
  'request-malformed': { status: 400, title: 'Malformed request' },
  'uri-malformed': { status: 400, title: 'Malformed URI' },
  'method-override-invalid': { status: 400, title: 'Invalid method override' },
  'body-malformed': { status: 400, title: 'Malformed body' },
  validation: { status: 400, title: 'Invalid input' },
  'fields-invalid': { status: 400, title: 'Invalid fields' },
  'integer-twin-mismatch': { status: 400, title: 'Integer and its twin differ' },
  'idempotency-key-invalid': { status: 400, title: 'Invalid idempotency key' },
  'authorization-malformed': { status: 400, title: 'Malformed authorization' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  'invalid-token': { status: 401, title: 'Invalid token' },
  'insufficient-scope': { status: 403, title: 'Insufficient scope' },
  'xsrf-token-invalid': { status: 403, title: 'Invalid XSRF token' },
  'requested-with-missing': { status: 403, title: 'Request header field missing' },
  'https-required': { status: 403, title: 'HTTPS required' },
  'not-found': { status: 404, title: 'Not found' },
  'path-uppercase': { status: 404, title: 'Path has uppercase letters' },
  'path-encoded': { status: 404, title: 'Path has encoded characters' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  'not-acceptable': { status: 406, title: 'Not acceptable' },
  'request-timeout': { status: 408, title: 'Request timeout' },
  'operation-cancelled': { status: 409, title: 'Operation cancelled' },
  'operation-finished': { status: 409, title: 'Operation finished' },
  'operation-not-cancellable': { status: 409, title: 'Operation cannot be cancelled' },
  'operation-in-progress': { status: 409, title: 'Operation in progress' },
  'idempotency-in-progress': { status: 409, title: 'Request in progress' },
  'idempotency-answer-not-kept': { status: 409, title: 'Answer not kept' },
  'operation-gone': { status: 410, title: 'Operation gone' },
  'version-retired': { status: 410, title: 'Version retired' },
  'precondition-failed': { status: 412, title: 'Precondition failed' },
  'content-too-large': { status: 413, title: 'Content too large' },
  'uri-too-long': { status: 414, title: 'URI too long' },
  'unsupported-media-type': { status: 415, title: 'Unsupported media type' },
  'expectation-failed': { status: 417, title: 'Expectation failed' },
  'idempotency-key-reused': { status: 422, title: 'Idempotency key reused' },
  'precondition-required': { status: 428, title: 'Precondition required' },
  'quota-exceeded': { status: 429, title: 'Quota exceeded' },
  'header-fields-too-large': { status: 431, title: 'Request header fields too large' },
  'internal-server-error': { status: 500, title: 'Internal server error' },
  'operation-result-invalid': { status: 500, title: 'Operation result cannot be sent' },
  'operation-interrupted': { status: 500, title: 'Operation interrupted' },
  'operation-timed-out': { status: 500, title: 'Operation timed out' },
  maintenance: { status: 503, title: 'In maintenance' },
  'server-closing': { status: 503, title: 'Server is closing' },
  'handler-timeout': { status: 503, title: 'Handler timed out' },
  'operations-full': { status: 503, title: 'Too many operations' },
  'operations-unavailable': { status: 503, title: 'Operations unavailable' },
  'idempotency-unavailable': { status: 503, title: 'Idempotency unavailable' },
  'authentication-unavailable': { status: 503, title: 'Authentication unavailable' },
} as const satisfies Readonly<Record<string, ProblemType>>)

/** What all occurrences of a problem code have in common. */
export interface ProblemType {
  /** HTTP status of the code. */
  readonly status: number
  /** Short summary of the problem type; the same in every occurrence (RFC 9457 §3.1.3). */
  readonly title: string
}

/** The codes of {@link problemTypes}. */
export type ProblemCode = keyof typeof problemTypes

/** Options of a {@link ProblemError}. */
export interface ProblemErrorOptions {
  /**
   * Explains the occurrence to the client's developer. For a 5xx it is sent only if the code is one of this package.
   * @default the title
   */
  readonly detail?: string | undefined
  /**
   * HTTP status, 400–599. Required for a code that is not one of {@link problemTypes}; 500 without it.
   * @default the status of the code
   */
  readonly status?: number | undefined
  /**
   * Summary of the problem type.
   * @default the title of the code, or the code in words
   */
  readonly title?: string | undefined
  /**
   * The faults in the input. Not sent for a 5xx. At most 50 and about 10,000 characters are kept, and each text is cut
   * after 300, because they may grow with the input.
   * @default none
   */
  readonly errors?: readonly ProblemIssue[] | undefined
  /**
   * Header fields of the response, such as `Allow` or `Retry-After`.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Further members of the problem document (RFC 9457 §3.2), such as `balance`; JSON values. Not sent for a 5xx.
   * @default none
   */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
  /**
   * The cause, for the log only.
   * @default none
   */
  readonly cause?: unknown
}

// A registered symbol: the ESM and the CommonJS build of this package recognise each other's errors.
const brand = Symbol.for('fastify-conventions.problem')

/**
 * An error that the client sees as a problem document (RFC 9457). Throw it from a handler or a hook:
 *
 * ```ts
 * throw new ProblemError('not-found', { detail: 'there is no user 42' })
 * throw new ProblemError('not-retryable', { status: 409, detail: 'only a failed payment is retried' })
 * ```
 *
 * It has `statusCode` and `headers`, which other error handlers of Fastify use.
 * Not for faults of the server: throw an ordinary error, whose text goes to the log and not to the client.
 *
 * One with a 4xx has no stack. The constructor never throws: a mistake in an argument must not hide the error. A code is put in lower-kebab case, a
 * missing or invalid `status` becomes 500, and a member of another type is left out.
 */
export class ProblemError extends Error {
  /** Loggers show it as the type of the error, also where a bundler shortens the names of classes. */
  static override readonly name = 'ProblemError'
  /** One of {@link problemTypes} or a code of your own; lower-kebab, one per cause. */
  readonly code: string
  readonly statusCode: number
  readonly title: string
  readonly errors: readonly ProblemIssue[] | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly extensions: Readonly<Record<string, unknown>> | undefined

  constructor(code: ProblemCode | (string & {}), options: ProblemErrorOptions = {}) {
    const given: ProblemErrorOptions = Object(options)
    const { headers, extensions } = given
    const type: ProblemType | undefined = Object.hasOwn(problemTypes, code)
      ? problemTypes[code as ProblemCode]
      : undefined
    const status = isErrorStatus(given.status) ? given.status : (type?.status ?? 500)
    const known = type === undefined ? (kebabCode(code) ?? statusCode(status)) : code
    const title = isText(given.title) ? given.title : (type?.title ?? inWords(known))
    const detail = typeof given.detail === 'string' ? given.detail : title
    // A stack costs more than the rest of a response, and says nothing about a fault of the client.
    const { stackTraceLimit } = Error
    if (status < 500) Error.stackTraceLimit = 0
    super(detail, given.cause === undefined ? undefined : { cause: given.cause })
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'ProblemError'
    this.code = known
    this.statusCode = status
    this.title = title
    this.errors = Array.isArray(given.errors) ? boundedIssues(given.errors) : undefined
    this.headers = isObject(headers) ? headers : undefined
    this.extensions = isObject(extensions) ? extensions : undefined
  }

  get [brand](): true {
    return true
  }
}

/** Whether a value is a {@link ProblemError}, of whichever copy of the package. */
export function isProblemError(value: unknown): value is ProblemError {
  return typeof value === 'object' && value !== null && brand in value
}

const addAccept = varyMerger('accept')

/**
 * Returns a 406 that lists the media types of the resource (RFC 9110 §15.5.7), in `detail` and as `available`. It has `Accept`
 * beside what the response varies on.
 */
export function notAcceptable(
  mediaTypes: readonly string[],
  varied: Parameters<typeof addAccept>[0],
  why = '',
): ProblemError {
  return new ProblemError('not-acceptable', {
    detail: `${why}The resource is available as ${mediaTypes.join(', ')}`,
    headers: { vary: addAccept(varied) },
    extensions: { available: mediaTypes },
  })
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function isErrorStatus(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599
}

/** Returns a code as a sentence begins: `Not retryable`. */
export function inWords(code: string): string {
  return code.charAt(0).toUpperCase() + code.slice(1).replaceAll('-', ' ')
}

const inKebabCase = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/
const maxLength = 100

/** Returns a code in lower-kebab case, the form of a problem code: `E_FUNDS` and `eFunds` are `e-funds`. */
export function kebabCode(code: unknown): string | null {
  if (typeof code !== 'string' || code.length > maxLength) return null
  if (inKebabCase.test(code)) return code
  const kebab = wordsOf(code).join('-')
  return inKebabCase.test(kebab) ? kebab : null
}

/** Media type of a problem document (RFC 9457 §3). It has no charset parameter: JSON is UTF-8. */
export const problemMediaType = 'application/problem+json'

/** Maximum number of characters of a `detail`: a validation message can be as long as the body. */
export const longestDetail = 1000

/** Maximum number of characters of a `title`, and of the request id in `instance`, which a client can choose. */
const longestName = 200

/** A problem document (RFC 9457 §3.1) with the extension members `code` and `errors`. */
export interface ProblemDocument {
  /** URI of the problem type: `typeBase` and `code`. */
  type: string
  title: string
  status: number
  /** Explanation of the occurrence. A fixed text for a 5xx. */
  detail: string
  /** URI of the occurrence; ends with the request id, which the log has too. */
  instance?: string
  /** Stable name of the cause in lower-kebab case, on which clients branch. */
  code: string
  /** The faults in the input. */
  errors?: readonly ProblemIssue[]
}

/** The `detail` of a 5xx. The cause is in the log, under the request id of `instance`. */
export const serverFaultDetail = 'The server failed to answer. The cause is in its log, under the request id.'

/** Returns the document for an error; for a 5xx without its cause. `title` and `detail` are cut. */
export function problemDocument(
  { code, statusCode: status, title, message, errors, extensions }: ProblemError,
  typeBase: string,
  requestId?: string,
  keepMembers: readonly string[] = [],
): ProblemDocument {
  const isClientError = status < 500
  const detail = isClientError || isOurs(code) ? clip(message, longestDetail) : serverFaultDetail
  const kept: Readonly<Record<string, unknown>> = {
    statusCode: status,
    error: reasonPhrases[status] ?? String(status),
    message: detail,
  }
  return {
    ...Object.fromEntries(
      keepMembers.flatMap((name) => (Object.hasOwn(kept, name) ? [[name, kept[name]]] : [])),
    ),
    ...(isClientError ? extensions : undefined),
    type: typeBase + code,
    title: clip(title, longestName),
    status,
    detail,
    ...(requestId === undefined ? undefined : { instance: occurrence(requestId) }),
    code,
    ...(isClientError && errors !== undefined ? { errors } : undefined),
  }
}

/** Returns the URI of an occurrence, from the first 200 characters of the request id. */
function occurrence(requestId: string): string {
  return `urn:request:${encodeURIComponent(String(requestId).slice(0, longestName).toWellFormed())}`
}

// The texts of this package's own 5xx codes are written for clients; those of an app may not be.
function isOurs(code: string): boolean {
  return code !== 'internal-server-error' && Object.hasOwn(problemTypes, code)
}
