import { timeOf } from '../../http/dates.js'
import { ProblemError, type ProblemIssue } from '../../problem/problem-error.js'
import { isOperationId, type OperationRecord } from './record.js'
import type { OperationQuery } from './stores/store.js'

/** Limits of a list of operations. Each may have a result of up to `maxLength` characters. */
export const listLimits = { defaultLimit: 50, maxLimit: 100 } as const

/** The link to the next page replaces them. */
export const listCursors: readonly string[] = ['before_time', 'before_id']

export function readListQuery(query: Readonly<Record<string, unknown>>): OperationQuery {
  const errors: ProblemIssue[] = []
  const read = <Value>(
    name: string,
    expected: string,
    parse: (text: string) => Value | null,
  ): Value | undefined => {
    const received = query[name]
    if (received === undefined) return undefined
    // A validator may have made a number of it.
    const value = typeof received === 'object' ? null : parse(String(received))
    if (value === null) errors.push({ in: 'query', name, message: `must be ${expected}, once` })
    return value ?? undefined
  }
  const limit = read('limit', 'a positive integer', (text) =>
    /^0*[1-9]\d*$/.test(text) ? Math.min(Number(text), listLimits.maxLimit) : null,
  )
  const createdAt = read('before_time', 'an RFC 3339 date-time', timeOf)
  const id = read('before_id', 'the id of an operation', (text) => (isOperationId(text) ? text : null))
  if (query.before_id !== undefined && query.before_time === undefined) {
    errors.push({ in: 'query', name: 'before_id', message: 'must be given together with before_time' })
  }
  if (errors.length > 0) {
    const detail = errors.map((issue) => `${'name' in issue ? issue.name : ''} ${issue.message}`).join('; ')
    throw new ProblemError('validation', { detail, errors })
  }
  return {
    // No id is below the empty one.
    before: createdAt === undefined ? undefined : { createdAt, id: id ?? '' },
    limit: limit ?? listLimits.defaultLimit,
  }
}

export function cursorAfter({ createdAt, id }: OperationRecord): Record<string, string> {
  return { before_time: new Date(createdAt).toISOString(), before_id: id }
}
