import { randomBytes } from 'node:crypto'
import { isObject } from '../../options.js'
import type { ProblemIssue } from '../../problem/problem-error.js'

/** Id of a caller; `null` if the caller is not known. */
export type OperationOwner = string | number | bigint | null

/** Status of an operation; the last two are final. */
export type OperationStatus = 'In progress' | 'Succeeded' | 'Failed'

/** Why an operation failed, for the client: without cause and stack. */
export interface OperationFailure {
  /** The `code` of a problem document: stable, in lower-kebab case. */
  readonly code: string
  readonly title: string
  /** The HTTP status that a response with this problem would have. */
  readonly status: number
  /** Explains the occurrence; a fixed text for an error of the server. */
  readonly detail: string
  /** The faults in the input. */
  readonly errors?: readonly ProblemIssue[]
}

/**
 * Who may see an operation: its owner alone; every caller who knows its id, because its caller was not known; or, for one that
 * the app itself started, no caller at all.
 */
export type OperationAccess = 'owner' | 'id' | 'internal'

/**
 * The record of an operation: one document, which stores put, compare and replace as a whole. Times are milliseconds since the
 * epoch. Records are immutable: each change is a new record with a higher `version`.
 */
export interface OperationRecord {
  /** Version of the members of a record. A store leaves records of another one to the processes that know it. */
  readonly schema: 1
  /** 32 random hexadecimal digits. */
  readonly id: string
  /** Higher after each change, by a random step: two changes of the same version never lead to the same one. */
  readonly version: number
  /** Name of the operation in `define`. */
  readonly name: string
  /** Id of the caller who started it; `null` if there is none. */
  readonly owner: string | null
  readonly access: OperationAccess
  readonly status: OperationStatus
  readonly cancellable: boolean
  /** Whether a cancellation was requested, and the current run has not ended yet. */
  readonly isCancelling: boolean
  /** 64 hexadecimal digits, which no two operations in progress share; `null` if there may be others. */
  readonly onePer: string | null
  /** Number of runs so far. It is also the fencing token: changes of earlier runs are ignored. */
  readonly run: number
  /** Number of runs that `maxRuns` counts: those that died, and the current one. */
  readonly counted: number
  /** Time until which the current run may be alive; `null` without a run. */
  readonly runUntil: number | null
  /** Time before which it must not run; `null` for none. */
  readonly notBefore: number | null
  /** Time of the next check, see `OperationStore.takeDue`; the store may have moved it. Of a final record: when it is deleted. */
  readonly dueAt: number
  /** From 0 to 100; operations with a higher priority run first. */
  readonly priority: number
  /** From 0 to 1; `null` if the work does not report it. */
  readonly progress: number | null
  readonly createdAt: number
  /** Time of the last change, other than a heartbeat without progress. */
  readonly updatedAt: number
  readonly finishedAt: number | null
  /** Time from which it is a 410. */
  readonly goneAt: number | null
  /** URL of the created resource. */
  readonly resource: string | null
  /** The result as JSON. */
  readonly result: string | null
  readonly error: OperationFailure | null
  /** Id of the request that started it. */
  readonly requestId: string | null
}

/** The value of `schema` in all records. */
export const recordSchema = 1

/** Reads a record of a store: as JSON, or as the value that a driver parsed. */
export function readRecord(kept: unknown): OperationRecord {
  const record: unknown = typeof kept === 'string' ? parsed(kept) : kept
  if (!isObject(record)) throw new Error('the store has another value in place of an operation')
  if (record.schema !== recordSchema) {
    throw new Error(
      `an operation is stored with schema ${JSON.stringify(record.schema)}; this release reads schema ${recordSchema}`,
    )
  }
  return Object.freeze({ ...record }) as unknown as OperationRecord
}

/** Whether an operation has ended. */
export function isFinal({ status }: OperationRecord): boolean {
  return status !== 'In progress'
}

/** Whether the result of an operation is deleted: it is a 410. */
export function isGone({ goneAt }: OperationRecord, now: number): boolean {
  return goneAt !== null && goneAt <= now
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error('the store has another value in place of an operation', { cause })
  }
}

/** Returns a progress from 0 to 1, the nearest to the given number; `null` for other values. */
export function progressOf(progress: unknown): number | null {
  return typeof progress === 'number' && !Number.isNaN(progress) ? Math.min(Math.max(progress, 0), 1) : null
}

/** Returns a new id: 128 random bits as 32 hexadecimal digits. */
export function newOperationId(): string {
  return randomBytes(16).toString('hex')
}

/** Whether a text has the form of an operation's id. */
export function isOperationId(text: string): boolean {
  return idForm.test(text)
}

const idForm = /^[0-9a-f]{32}$/
