import { reasonPhrases } from '../http/status.js'
import { clip } from '../text.js'
import { type ProblemError, type ProblemIssue, problemTypes } from './problem-error.js'

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
