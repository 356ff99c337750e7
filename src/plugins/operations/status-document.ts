import type { OperationFailure, OperationRecord, OperationStatus } from './record.js'

/**
 * The status document of an operation. Responses have `created_at` and `finished_at` in the `keyStyle` of `responseRules`:
 * `createdAt`, `finishedAt` in camelCase.
 */
export interface StatusDocument {
  readonly id: string
  readonly status: OperationStatus
  /** From 0 to 1. */
  readonly progress?: number
  /** The request that cancels the operation; only while that is possible. */
  readonly link?: { readonly rel: 'cancel'; readonly method: 'DELETE'; readonly href: string }
  /** RFC 3339. */
  readonly created_at: string
  /** RFC 3339. */
  readonly finished_at?: string
  /** URL of the created resource; generic clients of long-running operations read this name. */
  readonly resourceLocation?: string
  /** The result. */
  readonly result?: unknown
  /** Why it failed: a problem document, with its text also as `message` for generic clients. */
  readonly error?: OperationFailure & { readonly type: string; readonly message: string }
}

/** Context of {@link statusDocument}. */
export interface StatusContext {
  /** URL of the operation. */
  readonly href: string
  /** Base of the `type` of problems. */
  readonly typeBase: string
  /** Parses a stored result. */
  readonly readResult: (json: string) => unknown
}

export function statusDocument(
  record: OperationRecord,
  { href, typeBase, readResult }: StatusContext,
): StatusDocument {
  const { id, status, progress, createdAt, finishedAt, resource, result, error } = record
  const document: { -readonly [Name in keyof StatusDocument]: StatusDocument[Name] } = {
    id,
    status,
    created_at: new Date(createdAt).toISOString(),
  }
  if (progress !== null) document.progress = progress
  if (canBeCancelled(record)) document.link = { rel: 'cancel', method: 'DELETE', href }
  if (finishedAt !== null) document.finished_at = new Date(finishedAt).toISOString()
  if (resource !== null) document.resourceLocation = resource
  if (result !== null) document.result = readResult(result)
  if (error !== null) document.error = { type: typeBase + error.code, ...error, message: error.detail }
  return document
}

function canBeCancelled({ status, cancellable, isCancelling }: OperationRecord): boolean {
  return status === 'In progress' && cancellable && !isCancelling
}

// Clients and proxies limit the length of a header field.
const longestResource = 4_096

/** Returns the URL of a resource: a path of the service, or an http or https URL of any host. */
export function referenceOf(resource: unknown): string | null {
  if (typeof resource !== 'string' || resource.length > longestResource) return null
  // The parser would remove them silently.
  if (controlOrSpace.test(resource)) return null
  if (!URL.canParse(resource, ownOrigin)) return null
  const { origin, protocol, href } = new URL(resource, ownOrigin)
  // A path that begins with two slashes or backslashes names another host. The parser resolves dots, so the result can
  // begin with two slashes although the input did not: '/..//host'.
  if (resource.startsWith('/')) {
    const path = href.slice(ownOrigin.length)
    return origin === ownOrigin && !path.startsWith('//') ? path : null
  }
  return /^https?:\/\//i.test(resource) && (protocol === 'http:' || protocol === 'https:') ? href : null
}

const controlOrSpace = /[^!-~\u0080-\uffff]/

// A reserved host name (RFC 2606 §2).
const ownOrigin = 'http://service.invalid'
