import { clip } from '../text.js'
import { type ProblemError, type ProblemIssue, problemTypes } from './problem-error.js'

/** Media type of a problem document (RFC 9457 §3). It has no charset parameter: JSON is UTF-8. */
export const problemMediaType = 'application/problem+json'

/** Where problem types live unless `typeBase` says otherwise. */
export const defaultTypeBase = 'urn:problem-type:fastify-conventions:'

/** Characters of a `detail`: a client can make a message of validation as long as its body. */
export const longestDetail = 1000

/** Characters of a `title`, and of the request id in an `instance`: a client can choose that id. */
const longestName = 200

/** A problem document (RFC 9457 §3.1) with the extension members `code` and `errors`. */
export interface ProblemDocument {
  /** URI of the kind of problem: `typeBase` + `code`. */
  type: string
  title: string
  status: number
  /** What happened this time. A fixed text for a 5xx. */
  detail: string
  /** URI of this occurrence; ends in the request id that the log has too. */
  instance?: string
  /** Stable name of the cause, lower-kebab; what a client branches on. */
  code: string
  /** The faults in the input, one by one. */
  errors?: readonly ProblemIssue[]
}

/** Fixed text of a fault of the server: the cause is in the log, under the request id of `instance`. */
export const serverFaultDetail = 'The server failed to answer. The cause is in its log, under the request id.'

/** Returns the document for an error, without what a 5xx says of its cause. `title` and `detail` are cut. */
export function problemDocument(error: ProblemError, typeBase: string, requestId?: string): ProblemDocument {
  const isClients = error.statusCode < 500
  return {
    ...(isClients ? error.extensions : undefined),
    type: typeBase + error.code,
    title: clip(error.title, longestName),
    status: error.statusCode,
    detail: isClients || isOurs(error.code) ? clip(error.message, longestDetail) : serverFaultDetail,
    ...(requestId === undefined ? undefined : { instance: occurrence(requestId) }),
    code: error.code,
    ...(isClients && error.errors !== undefined ? { errors: error.errors } : undefined),
  }
}

/** URI of one occurrence, from the first 200 characters of the id of its request. */
export function occurrence(requestId: string): string {
  return `urn:request:${encodeURIComponent(String(requestId).slice(0, longestName).toWellFormed())}`
}

// The texts of this package's own 5xx codes are written for clients; a consumer's may not be.
function isOurs(code: string): boolean {
  return code !== 'internal-server-error' && Object.hasOwn(problemTypes, code)
}
