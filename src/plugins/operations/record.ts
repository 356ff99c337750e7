import { randomFillSync } from 'node:crypto'
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
 * The record of an operation: one document, which stores put, compare and replace as a whole. Times are milliseconds since the
 * epoch. Records are immutable: each change is a new record whose `version` is higher by one.
 */
export interface OperationRecord {
  /** Version of the form of this document: other releases refuse a version that they do not know. */
  readonly schema: typeof recordSchema
  /** 32 random hexadecimal digits. */
  readonly id: string
  /** 1 for a new record. */
  readonly version: number
  /** Name of the operation in `define`. */
  readonly name: string
  /** Id of the caller who started it, and who alone may see it; `null` without `identify`. */
  readonly owner: string | null
  readonly status: OperationStatus
  readonly cancellable: boolean
  /** Whether a cancellation was requested, and the current run has not ended yet. */
  readonly isCancelling: boolean
  /** The input as JSON; `null` if the operation is final. */
  readonly input: string | null
  /** Number of runs so far. It is also the fencing token: changes of earlier runs are ignored. */
  readonly run: number
  /** Time until which the current run counts as alive without a heartbeat; `null` without a run. */
  readonly runUntil: number | null
  /** Time when the sweeper has to check the record: after the lease of a run, or to delete it. */
  readonly dueAt: number
  /** From 0 to 1; `null` if the work does not report it. */
  readonly progress: number | null
  readonly createdAt: number
  /** Time of the last change of the status document; a heartbeat alone does not change it. */
  readonly updatedAt: number
  /** Time when its last run began, or when it began to wait for the next one. */
  readonly since: number
  readonly finishedAt: number | null
  /** Time from which it is a 410. */
  readonly goneAt: number | null
  /** URL of the created resource. */
  readonly resource: string | null
  /** The result as JSON. */
  readonly result: string | null
  readonly error: OperationFailure | null
}

/** Version of the form of {@link OperationRecord}. */
export const recordSchema = 1

/**
 * Reads a record of a store: as JSON, or as the value that a driver parsed.
 *
 * @throws Error if it is not a record, or has a form that this release does not know
 */
export function readRecord(kept: unknown): OperationRecord {
  const found: unknown = typeof kept === 'string' ? parsed(kept) : kept
  if (!isObject(found)) throw new Error('the store has another value in place of an operation')
  // Records of earlier releases have no `updatedAt`.
  const record = 'updatedAt' in found ? found : { ...found, updatedAt: found.finishedAt ?? found.createdAt }
  if (record.schema !== recordSchema) {
    const found = String(record.schema)
    throw new Error(
      `an operation is stored in form ${found}; this release supports only form ${recordSchema}`,
    )
  }
  const isWhole = Object.entries(kinds).every(([name, kind]) => kind(record[name]))
  if (!isWhole) throw new Error('the store has an invalid operation')
  return Object.freeze(record) as unknown as OperationRecord
}

/** Whether an operation has ended. */
export function isFinal({ status }: OperationRecord): boolean {
  return status !== 'In progress'
}

const isText = (value: unknown) => typeof value === 'string'
const isFlag = (value: unknown) => typeof value === 'boolean'
const isNumber = (value: unknown) => typeof value === 'number'
const orNull = (is: (value: unknown) => boolean) => (value: unknown) => value === null || is(value)

const kinds: { readonly [Name in keyof OperationRecord]: (value: unknown) => boolean } = {
  schema: isNumber,
  id: isText,
  version: isNumber,
  name: isText,
  owner: orNull(isText),
  status: (value) => value === 'In progress' || value === 'Succeeded' || value === 'Failed',
  cancellable: isFlag,
  isCancelling: isFlag,
  input: orNull(isText),
  run: isNumber,
  runUntil: orNull(isNumber),
  dueAt: isNumber,
  progress: orNull(isNumber),
  createdAt: isNumber,
  updatedAt: isNumber,
  since: isNumber,
  finishedAt: orNull(isNumber),
  goneAt: orNull(isNumber),
  resource: orNull(isText),
  result: orNull(isText),
  error: orNull(isObject),
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

/**
 * Returns an owner as text.
 *
 * @throws TypeError for other values: the text of an object would be the same for all callers
 */
export function ownerText(owner: OperationOwner | undefined): string | null {
  if (owner === null || owner === undefined) return null
  const isId =
    typeof owner === 'string' ? owner !== '' : typeof owner === 'bigint' || Number.isSafeInteger(owner)
  if (!isId) throw new TypeError('operations: the owner is not an id: expected a string, an integer or null')
  return String(owner)
}

const idBytes = 16
const drawn = Buffer.allocUnsafeSlow(idBytes * 256)
let used = drawn.length

/**
 * Returns a new id: 128 random bits as 32 hexadecimal digits. The bits of many ids are generated at once, because each call
 * into native code is expensive; `randomUUID` has six random bits fewer.
 */
export function newOperationId(): string {
  if (used === drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  used += idBytes
  return drawn.toString('hex', used - idBytes, used)
}

/** Whether a text has the form of an operation's id. */
export function isOperationId(text: string): boolean {
  return idForm.test(text)
}

const idForm = /^[0-9a-f]{32}$/
