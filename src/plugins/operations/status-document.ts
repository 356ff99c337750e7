import type { OperationFailure, OperationRecord, OperationStatus } from './record.js'

/**
 * The status document of an operation. Answers write `created_at` and `finished_at` in the `keyStyle` of `responseRules`:
 * `createdAt`, `finishedAt` in camelCase.
 */
export interface StatusDocument {
  readonly id: string
  readonly status: OperationStatus
  /** From 0 to 1. */
  readonly progress?: number
  /** How to cancel it; there only while that can be done. */
  readonly link?: { readonly rel: 'cancel'; readonly method: 'DELETE'; readonly href: string }
  /** RFC 3339. */
  readonly created_at: string
  /** RFC 3339. */
  readonly finished_at?: string
  /** URL of what it created; under this name generic clients of long-running operations look for it. */
  readonly resourceLocation?: string
  /** What else came of it. */
  readonly result?: unknown
  /** Why it failed: a problem document, whose text is there once more as `message`, where generic clients look for it. */
  readonly error?: OperationFailure & { readonly type: string; readonly message: string }
}

/** What the document needs to know besides the record. */
export interface StatusContext {
  /** URL of the operation. */
  readonly href: string
  /** What the `type` of a problem begins with. */
  readonly typeBase: string
  /** Reads a result as the registry keeps it. */
  readonly readResult: (json: string) => unknown
}

/** The document of an operation as its record stands. */
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
