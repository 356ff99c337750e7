import { utcDateTime } from '../../http/date-time.js'
import type { Page, PageRules } from './page.js'

export interface RowFields extends Pick<PageRules, 'idFormat'> {
  readonly id: string
  readonly time: string
}

// The store decides the order of text ids, so for these only repetitions are found.
export function orderFault(
  page: Page<bigint | string>,
  rows: readonly object[],
  fields: RowFields,
): string | null {
  const cursor = cursorKey(page)
  const seen = new Set<string>()
  let before = cursor
  for (const [index, row] of rows.entries()) {
    const key = keyOf(row as Readonly<Record<string, unknown>>, page, fields)
    if (typeof key === 'string') return `row ${index + 1} has no valid ${key}`
    if (before !== null && !isBeyond(before, key, page, fields))
      return `row ${index + 1} does not lie beyond ${before.isCursor ? 'the cursor' : 'the row before it'}`
    if (fields.idFormat === 'text') {
      const id = String(key.id)
      if (id === cursor?.id) return `row ${index + 1} does not lie beyond the cursor`
      if (seen.has(id)) return `row ${index + 1} has the id of a row before it`
      seen.add(id)
    }
    before = key
  }
  return null
}

interface Key {
  readonly id: bigint | number | string | null
  /** In a form that sorts as text. */
  readonly time: string
  /** Whether the time may have lost digits: a `Date` ends at milliseconds. */
  readonly isDate: boolean
  readonly isCursor: boolean
}

function cursorKey({ afterId, beforeId, beforeTime }: Page<bigint | string>): Key | null {
  const id = afterId ?? beforeId ?? null
  if (id === null && beforeTime === undefined) return null
  const time = beforeTime === undefined ? '' : (sortable(beforeTime) ?? '')
  return { id, time, isDate: false, isCursor: true }
}

/** Returns the name of the field if it is missing. */
function keyOf(
  row: Readonly<Record<string, unknown>>,
  { by }: Page<bigint | string>,
  fields: RowFields,
): Key | string {
  const id = idOf(row[fields.id], fields.idFormat)
  if (id === null) return fields.id
  const value = by === 'time' ? row[fields.time] : ''
  const isDate = value instanceof Date
  const time = by === 'id' ? '' : timeOf(value)
  return time === null ? fields.time : { id, time, isDate, isCursor: false }
}

function isBeyond(before: Key, key: Key, { by, afterId }: Page<bigint | string>, fields: RowFields): boolean {
  if (by === 'time' && key.time !== before.time) return key.time < before.time
  // A cursor without an id is a time that the rows lie before.
  if (before.id === null || key.id === null) return false
  if (before.isDate && key.isDate) return true
  if (fields.idFormat === 'text') return String(key.id) !== String(before.id)
  return afterId === undefined ? key.id < before.id : key.id > before.id
}

function idOf(value: unknown, format: RowFields['idFormat']): bigint | number | string | null {
  if (typeof value === 'bigint' || typeof value === 'number') return value
  if (typeof value !== 'string') return null
  if (format === 'text') return value
  return /^-?\d{1,20}$/.test(value) ? BigInt(value) : null
}

function timeOf(value: unknown): string | null {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : sortable(value.toISOString())
  return typeof value === 'string' ? sortable(value) : null
}

const utc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/

function sortable(time: string): string | null {
  const inUtc = utc.test(time) ? time : utcDateTime(time)
  return inUtc === null ? null : inUtc.slice(0, 19) + inUtc.slice(20, -1).padEnd(9, '0')
}
