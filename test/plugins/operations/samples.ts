import type { OperationFailure, OperationRecord } from '../../../src/plugins/operations/record.js'
import { begin, type OperationEnd } from '../../../src/plugins/operations/transitions.js'

/** When things begin in these tests: a time that manual clocks are set to. */
export const start = '2026-11-20T08:00:00Z'
export const startTime = Date.parse(start)

export const lease = 30_000
export const retention = 86_400_000

/** A failure as work may give it. */
export const failure: OperationFailure = {
  code: 'not-retryable',
  title: 'Not retryable',
  status: 409,
  detail: 'It is paid',
}

export const failed: OperationEnd = { status: 'Failed', error: failure }
export const succeeded: OperationEnd = { status: 'Succeeded', resource: null, result: '{"sent":1}' }

/** An id from a number. */
export function idOf(number: number): string {
  return number.toString(16).padStart(32, '0')
}

/** A record that begins at {@link startTime}. */
export function begun(over: Partial<OperationRecord> = {}): OperationRecord {
  const operation = { name: 'payments.retry', owner: '42', input: '{"id":7}', cancellable: true }
  return Object.freeze({ ...begin(idOf(1), operation, startTime, lease), ...over })
}

/** What is there, in a test where it has to be. */
export function sure<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined) throw new Error('there is nothing')
  return value
}
