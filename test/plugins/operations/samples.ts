import {
  begin,
  claim,
  type NewOperation,
  type OperationEnd,
  type OperationFailure,
  type OperationRecord,
} from '../../../src/plugins/operations/record.js'

/** Time of the start in these tests; manual clocks are set to it. */
export const start = '2026-11-20T08:00:00Z'
export const startTime = Date.parse(start)

export const lease = 30_000
export const retention = 86_400_000

export const failure: OperationFailure = {
  code: 'not-retryable',
  title: 'Not retryable',
  status: 409,
  detail: 'It is paid',
}

export const failed: OperationEnd = { status: 'Failed', error: failure }
export const succeeded: OperationEnd = { status: 'Succeeded', resource: null, result: '{"sent":1}' }

export function idOf(number: number): string {
  return number.toString(16).padStart(32, '0')
}

export function newOperation(over: Partial<NewOperation> = {}): NewOperation {
  return {
    name: 'work',
    owner: null,
    access: 'id',
    input: null,
    cancellable: true,
    onePer: null,
    priority: 0,
    delay: 0,
    requestId: null,
    ...over,
  }
}

/** Returns a record that begins at {@link startTime}, without a run. */
export function begun(over: Partial<OperationRecord> = {}): OperationRecord {
  const operation = newOperation({ name: 'payments.retry', owner: '42', access: 'owner', input: '{"id":7}' })
  return Object.freeze({
    ...begin(idOf(1), operation, startTime, startTime + lease),
    ...over,
  })
}

/** Returns the record of the next run, for some time. */
export function claimed(record: OperationRecord, now = startTime, takesOver = false, time = lease) {
  return sure(claim(record, now, { runUntil: now + time, dueAt: now + time, takesOver }))
}

/** Returns a value that a test expects to be there. */
export function sure<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined) throw new Error('there is no value')
  return value
}
