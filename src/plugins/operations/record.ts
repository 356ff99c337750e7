import { randomFillSync } from 'node:crypto'
import { isObject } from '../../options.js'
import type { ProblemIssue } from '../../problem/problem-error.js'

/** Who a caller is; `null` for one that is not known. */
export type OperationOwner = string | number | bigint | null

/** Where an operation stands; the last two are final. */
export type OperationStatus = 'In progress' | 'Succeeded' | 'Failed'

/** Why an operation failed, as the client is told: no cause, no stack. */
export interface OperationFailure {
  /** As in a problem document: stable, lower-kebab, what a client branches on. */
  readonly code: string
  readonly title: string
  /** The status that a request would have been answered with. */
  readonly status: number
  /** What happened this time; a fixed text for a fault of the server. */
  readonly detail: string
  /** The faults in the input, one by one. */
  readonly errors?: readonly ProblemIssue[]
}

/**
 * All that is known of an operation, as one document that stores put, compare and replace whole. Times are milliseconds
 * since 1970. A record never changes: each change is a new one, with a `version` that is higher by one.
 */
export interface OperationRecord {
  /** Of the form of this document: instances of another release refuse what they do not know. */
  readonly schema: typeof recordSchema
  /** 32 hexadecimal digits, all of them random. */
  readonly id: string
  /** 1 for a new record. */
  readonly version: number
  /** What kind of work it is: the name that it was defined by. */
  readonly name: string
  /** Who started it, and alone may see it; `null` where callers are not told apart. */
  readonly owner: string | null
  readonly status: OperationStatus
  readonly cancellable: boolean
  /** Somebody asked to cancel it, and the run that is under way has not ended yet. */
  readonly isCancelling: boolean
  /** What the work was started with, as JSON; `null` once it is final. */
  readonly input: string | null
  /** Runs that were begun. It is the fencing token too: what an earlier run says does not count any more. */
  readonly run: number
  /** Until when the run that is under way may go on without a sign of life; `null` while there is none. */
  readonly runUntil: number | null
  /** When somebody has to look after the record: after a run that went silent, or to take it away for good. */
  readonly dueAt: number
  /** From 0 to 1; `null` where the work does not say. */
  readonly progress: number | null
  readonly createdAt: number
  /** When its status document changed last; a sign of life alone does not change it. */
  readonly updatedAt: number
  /** When its last run began, or when it began to wait for its next. */
  readonly since: number
  readonly finishedAt: number | null
  /** From when on it is answered as gone. */
  readonly goneAt: number | null
  /** URL of what it created. */
  readonly resource: string | null
  /** What else came of it, as JSON. */
  readonly result: string | null
  readonly error: OperationFailure | null
}

/** Version of the form of {@link OperationRecord}. */
export const recordSchema = 1

/**
 * Reads a record as a store keeps it: as JSON, or as what a driver made of that.
 *
 * @throws Error for what is no record, or one of a release that this one does not know
 */
export function readRecord(kept: unknown): OperationRecord {
  const found: unknown = typeof kept === 'string' ? parsed(kept) : kept
  if (!isObject(found)) throw new Error('the store has something else in the place of an operation')
  // Records of earlier releases do not say when their status document changed last.
  const record = 'updatedAt' in found ? found : { ...found, updatedAt: found.finishedAt ?? found.createdAt }
  if (record.schema !== recordSchema) {
    const found = String(record.schema)
    throw new Error(`an operation is kept in form ${found}; this release knows form ${recordSchema} alone`)
  }
  const isWhole = Object.entries(kinds).every(([name, kind]) => kind(record[name]))
  if (!isWhole) throw new Error('the store has a garbled operation')
  return Object.freeze(record) as unknown as OperationRecord
}

/** Is it over, once and for all? */
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
    throw new Error('the store has something else in the place of an operation', { cause })
  }
}

/** Returns a progress from 0 to 1, the nearest to the given number; `null` for other values. */
export function progressOf(progress: unknown): number | null {
  return typeof progress === 'number' && !Number.isNaN(progress) ? Math.min(Math.max(progress, 0), 1) : null
}

/**
 * An owner as records keep it.
 *
 * @throws TypeError for other values: the text of an object would be the same for all callers
 */
export function ownerText(owner: OperationOwner | undefined): string | null {
  if (owner === null || owner === undefined) return null
  const isId =
    typeof owner === 'string' ? owner !== '' : typeof owner === 'bigint' || Number.isSafeInteger(owner)
  if (!isId) throw new TypeError('operations: the owner is no id: expected a string, an integer or null')
  return String(owner)
}

const idBytes = 16
const drawn = Buffer.allocUnsafeSlow(idBytes * 256)
let used = drawn.length

/**
 * A new id: 128 random bits as 32 hexadecimal digits. They are drawn for many at once, for each draw is a call into native
 * code; `randomUUID`, which does so too, has six bits fewer.
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
