import { callerIdText } from '../../fastify/caller.js'
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

/**
 * Returns the caller with an id; one without an id shares operations by their ids.
 *
 * @throws TypeError for other values
 */
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
