import {
  begin,
  claim,
  finish,
  type NewOperation,
  newOperationId,
  type OperationEnd,
  type OperationRecord,
} from '../../../src/plugins/operations/record.js'

/** Time of the start in these tests; manual clocks are set to it. */
export const start = '2026-11-20T08:00:00Z'
export const startTime = Date.parse(start)

export const lease = 30_000
export const retention = 86_400_000

const refusal = { code: 'not-retryable', title: 'Not retryable', status: 409, detail: 'It is paid' }
export const failed: OperationEnd = { status: 'Failed', error: refusal }
export const succeeded: OperationEnd = { status: 'Succeeded', resource: null, result: '{"sent":1}' }

export const idOf = (number: number) => number.toString(16).padStart(32, '0')

function newOperation(over: Partial<NewOperation> = {}): NewOperation {
  const none = { owner: null, input: null, onePer: null, requestId: null, priority: 0, delay: 0 }
  return { name: 'work', access: 'id', cancellable: true, ...none, ...over }
}

/** Returns a record that begins at {@link startTime}, without a run. */
export function begun(over: Partial<OperationRecord> = {}): OperationRecord {
  const operation = newOperation({ name: 'payments.retry', owner: '42', access: 'owner', input: '{"id":7}' })
  return Object.freeze({ ...begin(idOf(1), operation, startTime, startTime + lease), ...over })
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

/** The time at which records of {@link started} are due. */
export const time = Date.parse('2001-01-01T00:00:00Z')

/** Returns a new record with an id of its own. */
export function started(members: Partial<OperationRecord> = {}): OperationRecord {
  return { ...begin(newOperationId(), newOperation(), time, time), ...members }
}

/** Returns the record of an operation that has succeeded, and stays for a day of the clock of the machine. */
export function ended(record: OperationRecord, result: string | null = null): OperationRecord {
  const final = sure(finish(record, null, { status: 'Succeeded', resource: null, result }, time, 0))
  const goneAt = Date.now() + retention
  return { ...final, goneAt, dueAt: goneAt + retention }
}
