import { utcDateTime } from '../../http/dates.js'
import { parseInt64 } from '../../json/int64.js'
import type { ProblemIssue } from '../../problem/problem-error.js'
import type { Mode } from '../../report/modes.js'

/** A key that a list pages by. */
export type PageKey = 'id' | 'time'

/** The requested page of a list. `Id` is `string` if the list's `idFormat` is `text`. */
export interface Page<Id extends bigint | string = bigint> {
  /** Maximum of items in the response. */
  readonly limit: number
  /** Number of rows to fetch: one more than {@link Page.limit}, which shows whether there is a next page. */
  readonly fetch: number
  /**
   * The order of the rows: by `id`, or by `time` and then `id`; newest first, with {@link Page.afterId} oldest first.
   */
  readonly by: PageKey
  /** Items before this one: `id < beforeId`, newest first; with {@link Page.beforeTime} it orders rows of the same time. */
  readonly beforeId?: Id
  /**
   * Items before this time, newest first, in UTC: `time < beforeTime`; with {@link Page.beforeId}
   * `(time, id) < (beforeTime, beforeId)`.
   */
  readonly beforeTime?: string
  /** Items after this one, oldest first: `id > afterId`. */
  readonly afterId?: Id
  /** Whether the client asks for `total`, which is expensive to count. */
  readonly includeTotal: boolean
}

/** The page of a route, by its `config`: its ids may be of both types where TypeScript does not see the config. */
export type PageOf<Config> = Page<
  Config extends { readonly lists: infer Options }
    ? Options extends { readonly idFormat: infer Format }
      ? Format extends 'text'
        ? string
        : bigint
      : 'idFormat' extends keyof Options
        ? bigint | string
        : bigint
    : bigint | string
>

export interface PageRules {
  readonly defaultLimit: number
  readonly maxLimit: number
  readonly idFormat: 'int64' | 'text'
  readonly by: readonly PageKey[]
  readonly total: boolean
}

export const cursorParameters: readonly string[] = ['before_id', 'before_time', 'after_id']

/** Restores the plus of an offset, which a query parser reads as a space if it is not encoded. */
export function withPlus(dateTime: string): string {
  return dateTime.replace(/ (?=\d\d:\d\d$)/, '+')
}

export function readPage(
  query: Readonly<Record<string, unknown>>,
  rules: PageRules,
): Page<bigint | string> | ProblemIssue[] {
  const issues: ProblemIssue[] = []
  const refuse = (name: string, message: string): void => {
    issues.push({ in: 'query', name, message })
  }
  const read = <Value>(name: string, expected: string, parse: (text: string) => Value | null) => {
    const received = query[name]
    const value = typeof received === 'string' ? parse(received) : null
    if (value === null && received !== undefined) refuse(name, `must be ${expected}, once`)
    return value ?? undefined
  }

  const id = idReaders[rules.idFormat]
  const limit = read('limit', 'a positive integer', readCount)
  const beforeId = read('before_id', 'an id', id)
  const beforeTime = read('before_time', 'an RFC 3339 date-time', (text) => utcDateTime(withPlus(text)))
  const afterId = read('after_id', 'an id', id)
  const includeTotal = read('include_total', 'true or false', readFlag)
  if (query.after_id !== undefined && (query.before_id !== undefined || query.before_time !== undefined))
    refuse('after_id', 'must not be given together with before_id or before_time')
  for (const [name, isServed] of Object.entries(servedParameters(rules)))
    if (!isServed && query[name] !== undefined) refuse(name, 'is not served by this list')
  if (beforeId !== undefined && beforeTime === undefined && !rules.by.includes('id'))
    refuse('before_id', 'must be given together with before_time')
  if (issues.length > 0) return issues

  const hasId = beforeId !== undefined || afterId !== undefined
  const most = Math.min(limit ?? rules.defaultLimit, rules.maxLimit)
  return {
    limit: most,
    fetch: most + 1,
    by: beforeTime !== undefined ? 'time' : hasId ? 'id' : (rules.by[0] ?? 'id'),
    ...(beforeId !== undefined && { beforeId }),
    ...(beforeTime !== undefined && { beforeTime }),
    ...(afterId !== undefined && { afterId }),
    includeTotal: includeTotal ?? false,
  }
}

type Served = Pick<PageRules, 'by' | 'total'>

export function servedParameters({ by, total }: Served): Record<PageParameter, boolean> {
  const [id, time] = [by.includes('id'), by.includes('time')]
  return { limit: true, before_id: id || time, before_time: time, after_id: id, include_total: total }
}

export type PageParameter = 'limit' | 'before_id' | 'before_time' | 'after_id' | 'include_total'

/** @param last returns the id or the time of the last item */
export function nextCursor(
  page: Page<bigint | string>,
  last: (part: 'id' | 'time') => string,
): Record<string, string> {
  const id = last('id')
  if (page.afterId !== undefined) return { after_id: id }
  if (page.by === 'id') return { before_id: id }
  // Items may have the same time: with the id none is missing, and none is repeated.
  return { before_time: last('time'), before_id: id }
}

/** Returns the expected form if the id or the time of a last item cannot be a cursor. */
export function cursorFault(
  part: 'id' | 'time',
  text: string,
  { idFormat }: Pick<PageRules, 'idFormat'>,
): string | null {
  if (part === 'time') return utcDateTime(text) === null ? 'an RFC 3339 date-time' : null
  if (idReaders[idFormat](text) !== null) return null
  return idFormat === 'int64'
    ? 'an int64 of at least 0'
    : `a text of 1 to ${longestId} characters, without control characters`
}

function readCount(text: string): number | null {
  return /^0*[1-9]\d*$/.test(text) ? Number(text) : null
}

const longestId = 200
const textId = new RegExp(`^[^\\u0000-\\u001f\\u007f]{1,${longestId}}$`)

const idReaders: Readonly<Record<PageRules['idFormat'], (text: string) => bigint | string | null>> = {
  int64(text) {
    const id = parseInt64(text)
    return id === null || id < 0n ? null : id
  },
  // A database may refuse control characters, and ids do not have them.
  text: (text) => (textId.test(text) ? text : null),
}

function readFlag(text: string): boolean | null {
  return text === 'true' ? true : text === 'false' ? false : null
}

interface RowFields extends Pick<PageRules, 'idFormat'> {
  readonly id: string
  readonly time: string
}

export interface ListRules extends PageRules, RowFields {
  readonly mode: Mode
  readonly member: string
}

/** What the rows of a page are sorted by: `id` alone, or `time`, in a form that sorts as text, and then `id`. */
interface Key {
  readonly id: bigint | number | string | null
  readonly time: string
  /** Whether the time may have lost digits: a `Date` ends at milliseconds. */
  readonly isDate: boolean
}

export function orderFault(
  page: Page<bigint | string>,
  rows: readonly object[],
  fields: RowFields,
): string | null {
  const { afterId, beforeId = null, beforeTime } = page
  const id = afterId ?? beforeId
  const time = beforeTime === undefined ? '' : (sortable(beforeTime) ?? '')
  const cursor = id === null && beforeTime === undefined ? null : { id, time, isDate: false }
  let before: Key | null = cursor
  let count = 0
  for (const row of rows) {
    count++
    const key = keyOf(row as Readonly<Record<string, unknown>>, page, fields)
    if (typeof key === 'string') return `row ${count} has no valid ${key}`
    if (before !== null && !isBeyond(before, key, page, fields.idFormat === 'text'))
      return `row ${count} does not lie beyond ${before === cursor ? 'the cursor' : 'the row before it'}`
    before = key
  }
  return null
}

function keyOf(
  row: Readonly<Record<string, unknown>>,
  { by }: Page<bigint | string>,
  fields: RowFields,
): Key | string {
  const id = idOf(row[fields.id], fields.idFormat)
  if (id === null) return fields.id
  if (by === 'id') return { id, time: '', isDate: false }
  const value = row[fields.time]
  const isDate = value instanceof Date
  const text = isDate && !Number.isNaN(value.getTime()) ? value.toISOString() : value
  const time = typeof text === 'string' ? sortable(text) : null
  return time === null ? fields.time : { id, time, isDate }
}

function isBeyond(before: Key, key: Key, { by, afterId }: Page<bigint | string>, isText: boolean): boolean {
  if (by === 'time' && key.time !== before.time) return key.time < before.time
  // A cursor without an id is a time; all rows of the page are earlier.
  if (before.id === null || key.id === null) return false
  if (before.isDate && key.isDate) return true
  // The store decides the order of text ids, so only a repeated row is found.
  if (isText) return String(key.id) !== String(before.id)
  return afterId === undefined ? key.id < before.id : key.id > before.id
}

function idOf(value: unknown, format: RowFields['idFormat']): Key['id'] {
  if (typeof value === 'bigint' || typeof value === 'number') return value
  if (typeof value !== 'string') return null
  if (format === 'text') return value
  return /^-?\d{1,20}$/.test(value) ? BigInt(value) : null
}

const utc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/

function sortable(time: string): string | null {
  const inUtc = utc.test(time) ? time : utcDateTime(time)
  return inUtc === null ? null : inUtc.slice(0, 19) + inUtc.slice(20, -1).padEnd(9, '0')
}
