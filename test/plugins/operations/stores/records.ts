import { randomBytes } from 'node:crypto'
import { begin, finish, type OperationRecord } from '../../../../src/plugins/operations/record.js'

export const time = Date.parse('2001-01-01T00:00:00Z')

/** Returns a new record, due at `time`. */
export function started(members: Partial<OperationRecord> = {}): OperationRecord {
  const caller = { owner: null, access: 'id' } as const
  const operation = { name: 'work', ...caller, cancellable: true, onePer: null, priority: 0 }
  const start = { ...operation, requestId: null, delay: 0, input: null }
  return { ...begin(randomBytes(16).toString('hex'), start, time, time), ...members }
}

/** Returns the record of an operation that has succeeded, and stays for a day of the clock of the machine. */
export function ended(record: OperationRecord, result: string | null = null): OperationRecord {
  const final = finish(record, null, { status: 'Succeeded', resource: null, result }, time, 0)
  if (final === null) throw new Error('it is final already')
  const goneAt = Date.now() + 86_400_000
  return { ...final, goneAt, dueAt: goneAt + 86_400_000 }
}
