import { utcDateTime } from '../../http/date-time.js'
import { parseInt64 } from '../../json/int64.js'
import type { ProblemIssue } from '../../problem/problem-error.js'

/** A key that a list is walked by. */
export type PageKey = 'id' | 'time'

/** Which items of a list a request asks for. `Id` is `string` where the list's `idFormat` is `text`. */
export interface Page<Id extends bigint | string = bigint> {
  /** At most this many items are answered. */
  readonly limit: number
  /** How many to fetch: one more than {@link Page.limit} tells whether there is a next page. */
  readonly fetch: number
  /**
   * What the rows are ordered by: `id`, or `time` and then `id`; newest first, with {@link Page.afterId} oldest first.
   */
  readonly by: PageKey
  /** Items before this one: `id < beforeId`, newest first; with {@link Page.beforeTime} it breaks ties. */
  readonly beforeId?: Id
  /**
   * Items before this time, newest first, in UTC: `time < beforeTime`; with {@link Page.beforeId}
   * `(time, id) < (beforeTime, beforeId)`.
   */
  readonly beforeTime?: string
  /** Items after this one, oldest first: `id > afterId`. */
  readonly afterId?: Id
  /** The client wants `total`, which is costly to count. */
  readonly includeTotal: boolean
}

/** How {@link readPage} reads. */
export interface PageRules {
  readonly defaultLimit: number
  readonly maxLimit: number
  readonly idFormat: 'int64' | 'text'
  /** The keys that the list can be walked by; a request without a cursor goes by the first. */
  readonly by: readonly PageKey[]
  /** Whether the list counts its items for `include_total`. */
  readonly total: boolean
}

/** The query parameters of a list that say which page it is; each next page replaces them. */
export const cursorParameters: readonly string[] = ['before_id', 'before_time', 'after_id']

/** A date-time with the plus of its offset, which a query that was typed into a URL holds as a blank. */
export function withPlus(dateTime: string): string {
  return dateTime.replace(/ (?=\d\d:\d\d$)/, '+')
}

/** Reads the paging parameters of a query, as they came. Reports all faults at once. */
export function readPage(
  query: Readonly<Record<string, unknown>>,
  rules: PageRules,
): Page<bigint | string> | ProblemIssue[] {
  const issues: ProblemIssue[] = []
  const read = <Value>(
    name: string,
    expected: string,
    parse: (text: string) => Value | null,
  ): Value | undefined => {
    const received = query[name]
    if (received === undefined) return undefined
    const value = typeof received === 'string' ? parse(received) : null
    if (value !== null) return value
    issues.push({ in: 'query', name, message: `must be ${expected}, once` })
    return undefined
  }

  const id = idReaders[rules.idFormat]
  const limit = read('limit', 'a positive integer', readCount)
  const beforeId = read('before_id', 'an id', id)
  const beforeTime = read('before_time', 'an RFC 3339 date-time', (text) => utcDateTime(withPlus(text)))
  const afterId = read('after_id', 'an id', id)
  const includeTotal = read('include_total', 'true or false', readFlag)
  if (query.after_id !== undefined && (query.before_id !== undefined || query.before_time !== undefined)) {
    issues.push({
      in: 'query',
      name: 'after_id',
      message: 'must not be given together with before_id or before_time',
    })
  }
  for (const name of unservedParameters(query, rules)) {
    issues.push({ in: 'query', name, message: 'is not served by this list' })
  }
  if (beforeId !== undefined && beforeTime === undefined && !rules.by.includes('id')) {
    issues.push({ in: 'query', name: 'before_id', message: 'must be given together with before_time' })
  }
  if (issues.length > 0) return issues

  const hasId = beforeId !== undefined || afterId !== undefined
  const most = Math.min(limit ?? rules.defaultLimit, rules.maxLimit)
  return {
    limit: most,
    fetch: most + 1,
    by: beforeTime !== undefined ? 'time' : hasId ? 'id' : (rules.by[0] ?? 'id'),
    ...(beforeId === undefined ? {} : { beforeId }),
    ...(beforeTime === undefined ? {} : { beforeTime }),
    ...(afterId === undefined ? {} : { afterId }),
    includeTotal: includeTotal ?? false,
  }
}

/** The paging parameters of a list, each with whether the rules let it be asked for. */
export function servedParameters({
  by,
  total,
}: Pick<PageRules, 'by' | 'total'>): Record<PageParameter, boolean> {
  const [id, time] = [by.includes('id'), by.includes('time')]
  return { limit: true, before_id: id || time, before_time: time, after_id: id, include_total: total }
}

/** Name of a paging parameter. */
export type PageParameter = 'limit' | 'before_id' | 'before_time' | 'after_id' | 'include_total'

function unservedParameters(query: Readonly<Record<string, unknown>>, rules: PageRules): string[] {
  const served = Object.entries(servedParameters(rules))
  return served.filter(([name, isServed]) => !isServed && query[name] !== undefined).map(([name]) => name)
}

/** The parameters that lead on from a page, given its last item. */
export function nextCursor(
  page: Page<bigint | string>,
  last: { readonly id: string; readonly time: () => string },
): Record<string, string> {
  if (page.afterId !== undefined) return { after_id: last.id }
  if (page.by === 'id') return { before_id: last.id }
  // Items may share a time: the id breaks the tie, so that none is left out and none comes twice.
  return { before_time: last.time(), before_id: last.id }
}

/**
 * What the id or the time of a last item is not, though a next page would be asked for by it; `null` where
 * {@link readPage} will read it.
 */
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

function readId(text: string): bigint | null {
  const id = parseInt64(text)
  return id === null || id < 0n ? null : id
}

const longestId = 200

function readText(text: string): string | null {
  return text === '' || text.length > longestId || hasControl(text) ? null : text
}

const idReaders: Readonly<Record<PageRules['idFormat'], (text: string) => bigint | string | null>> = {
  int64: readId,
  text: readText,
}

// A database may refuse them, and no id has them.
function hasControl(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\u007f')
}

function readFlag(text: string): boolean | null {
  return text === 'true' ? true : text === 'false' ? false : null
}
