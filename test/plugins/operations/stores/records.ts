import { randomBytes } from 'node:crypto'
import type { OperationRecord } from '../../../../src/plugins/operations/record.js'
import { begin, finish } from '../../../../src/plugins/operations/transitions.js'

export const time = Date.parse('2001-01-01T00:00:00Z')

/** Returns a new record, due at `time`; of form 1 if that is among the members. */
export function started(members: Partial<OperationRecord> = {}): OperationRecord {
  const operation = { name: 'work', owner: null, access: 'id', cancellable: true, priority: 0 } as const
  const start = { ...operation, requestId: null, traceparent: null, delay: 0, input: null }
  const { schema = 2 } = members
  return { ...begin(randomBytes(16).toString('hex'), start, time, time, schema), ...members }
}

/** Returns the record of an operation that has succeeded, and stays for a day of the clock of the machine. */
export function ended(record: OperationRecord, result: string | null = null): OperationRecord {
  const final = finish(record, null, { status: 'Succeeded', resource: null, result }, time, 0)
  if (final === null) throw new Error('it is final already')
  const goneAt = Date.now() + 86_400_000
  return { ...final, goneAt, dueAt: goneAt + 86_400_000 }
}
