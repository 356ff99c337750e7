import { reasonPhrases } from '../http/status.js'
import { clip } from '../text.js'
import { type ProblemError, type ProblemIssue, problemTypes } from './problem-error.js'

/** Media type of a problem document (RFC 9457 §3). It has no charset parameter: JSON is UTF-8. */
export const problemMediaType = 'application/problem+json'

export const defaultTypeBase = 'urn:problem-type:fastify-conventions:'

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
  error: ProblemError,
  typeBase: string,
  requestId?: string,
  keptMembers: readonly string[] = [],
): ProblemDocument {
  const isClientError = error.statusCode < 500
  const detail = isClientError || isOurs(error.code) ? clip(error.message, longestDetail) : serverFaultDetail
  return {
    ...Object.fromEntries(keptMembers.flatMap((name) => keptMember(name, error.statusCode, detail))),
    ...(isClientError ? error.extensions : undefined),
    type: typeBase + error.code,
    title: clip(error.title, longestName),
    status: error.statusCode,
    detail,
    ...(requestId === undefined ? undefined : { instance: occurrence(requestId) }),
    code: error.code,
    ...(isClientError && error.errors !== undefined ? { errors: error.errors } : undefined),
  }
}

// A member such as `issues` may be a list or an object, so it is there only if the app has sent it.
function keptMember(name: string, status: number, detail: string): [name: string, value: string | number][] {
  if (name === 'statusCode') return [[name, status]]
  if (name === 'error') return [[name, reasonPhrases[status] ?? String(status)]]
  return /(?:message|msg|text|reason|description)$/i.test(name) ? [[name, detail]] : []
}

/** Returns the URI of an occurrence, from the first 200 characters of the request id. */
export function occurrence(requestId: string): string {
  return `urn:request:${encodeURIComponent(String(requestId).slice(0, longestName).toWellFormed())}`
}

// The texts of this package's own 5xx codes are written for clients; those of an app may not be.
function isOurs(code: string): boolean {
  return code !== 'internal-server-error' && Object.hasOwn(problemTypes, code)
}

/** Returns a whole response of HTTP/1.1 with `no-store`, for a connection on which no request could be read. */
export function rawProblem(
  document: ProblemDocument,
  date: Date,
  fields: Readonly<Record<string, string>> = {},
): string {
  const body = JSON.stringify(document)
  return [
    `HTTP/1.1 ${document.status} ${reasonPhrases[document.status] ?? ''}`,
    `Date: ${date.toUTCString()}`,
    'Connection: close',
    'Cache-Control: no-store',
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
    `Content-Type: ${problemMediaType}`,
    `Content-Length: ${new TextEncoder().encode(body).length}`,
    '',
    body,
  ].join('\r\n')
}
