import { callerIdText } from '../../fastify/caller.js'
import { listMembers, memberParts } from '../../http/list-header.js'
import type { OperationAccess, OperationOwner, OperationRecord } from './record.js'

/** Who starts an operation, and from which request. */
export interface Starter extends Caller {
  readonly requestId: string | null
  readonly traceparent: string | null
}

/** A caller, and who may see what they start. */
export interface Caller {
  /** Id of the caller; `null` if the caller is not known. */
  readonly owner: string | null
  readonly access: OperationAccess
}

/** The app itself: no caller sees what it starts without an owner. */
export const internal: Starter = Object.freeze({
  owner: null,
  access: 'internal',
  requestId: null,
  traceparent: null,
})

/** Returns the caller with an id; one without an id shares operations by their ids. */
export function callerOf(owner: OperationOwner | undefined): Caller {
  const id = callerIdText(owner, 'operations: the owner is not an id')
  return id === null ? { owner: null, access: 'id' } : { owner: id, access: 'owner' }
}

/** Whether a caller may see an operation. */
export function maySee({ owner, access }: Caller, record: OperationRecord): boolean {
  return record.access === access && record.owner === owner
}

/** Returns a `traceparent` (W3C Trace Context §3.2), or `null` for another value. */
export function traceparentOf(field: unknown): string | null {
  return typeof field === 'string' && form.test(field) ? field : null
}

const form = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]{0,64})?$/

/** The preferences of a client that this package supports (RFC 7240). */
export interface Preferences {
  /** `respond-async` (§4.1): whether the client prefers a 202 over waiting. */
  readonly respondAsync: boolean
  /** `wait` (§4.3): how long the client is willing to wait, in seconds; `null` if not given. */
  readonly wait: number | null
}

/** Maximum of seconds that a request waits. */
export const maxWait = 10

/** The preferences of a request without `Prefer`. */
export const noPreferences: Preferences = Object.freeze({ respondAsync: false, wait: null })

/** Reads `Prefer` (RFC 7240 §2). */
export function readPrefer(field: string | undefined): Preferences {
  if (field === undefined || field.length > maxLength) return noPreferences
  const found = new Map<string, string>()
  for (const member of listMembers(field)) {
    const [, name, value = ''] = preference.exec(memberParts(member)[0] ?? '') ?? []
    const key = name?.toLowerCase()
    if (key !== undefined && !found.has(key)) found.set(key, unquoted(value))
  }
  return { respondAsync: found.get('respond-async') === '', wait: secondsOf(found.get('wait')) }
}

const maxLength = 1024

const preference = /^([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(.*))?$/s

function unquoted(value: string): string {
  return value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
}

// Bounded, so that the milliseconds of it are a safe integer.
function secondsOf(value: string | undefined): number | null {
  return value !== undefined && /^\d+$/.test(value) ? Math.min(Number(value), 1_000_000_000) : null
}
