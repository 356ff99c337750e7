import type { FastifyReply, FastifyRequest } from 'fastify'
import { bootErrors } from '../../boot-errors.js'
import { headerOf } from '../../convention/exchange.js'
import { requestSlot } from '../../convention/slots.js'
import type { Effect, RequestStep } from '../../convention/steps.js'
import { addLinks, formatLinks, hrefWith } from '../../http/header-fields.js'
import { pathOf, queryOf } from '../../http/url.js'
import { ProblemError } from '../../problem/problem-error.js'
import type { Reporter } from '../../report/report.js'
import {
  cursorFault,
  cursorParameters,
  type ListRules,
  nextCursor,
  orderFault,
  type Page,
  readPage,
  withPlus,
} from './page.js'

const requests = requestSlot<ListRequest>('lists.request')

export function readPageOf(list: List, take: ((request: FastifyRequest) => void) | null): RequestStep {
  return (request) => {
    const query = (request.query ?? {}) as Record<string, unknown>
    // In a query a plus sign stands for a space; validation follows and needs the sign.
    if (typeof query.before_time === 'string') query.before_time = withPlus(query.before_time)
    const page = readPage(query, list.rules)
    take?.(request)
    if (!Array.isArray(page)) {
      const read: ListRequest = {
        page: {
          ...page,
          get fetch() {
            read.readFetch = true
            return page.fetch
          },
        },
        list,
        readFetch: false,
        isListed: false,
      }
      requests.set(request, read)
      return undefined
    }
    const detail = page.map((issue) => `${'name' in issue ? issue.name : ''} ${issue.message}`).join('; ')
    const refusal = new ProblemError('validation', { detail, errors: page })
    return { rule: 'order', refusal, isNeeded: true }
  }
}

/** Counts a 200 of a list that `reply.list()` did not make: it has no `Link`, and its order is not checked. */
export function countAnswer(request: FastifyRequest, { statusCode }: FastifyReply): Effect | undefined {
  if (statusCode !== 200 || requests.get(request)?.isListed !== false) return undefined
  const given = 'a 200 that reply.list() did not make: it has no Link, and its order is not checked'
  return { rule: 'answer', given, notice: 'each route' }
}

export function keysOf({ page, list }: ListRequest): readonly string[] {
  const { id, time } = list.rules
  return page.by === 'time' ? [id, time] : [id]
}

/** @throws FST_CONV_NOT_A_LIST if the route is not a list */
export function requestedOf(request: FastifyRequest): ListRequest {
  const list = requests.get(request)
  if (list === undefined) throw new bootErrors.FST_CONV_NOT_A_LIST(request.routeOptions.url ?? request.url)
  return list
}

export interface List {
  readonly rules: ListRules
  readonly reporter: Reporter
  /** Whether the handler has ever handed over more rows than a page shows. */
  hasMore: boolean
}

export interface ListRequest {
  readonly page: Page<bigint | string>
  readonly list: List
  readFetch: boolean
  isListed: boolean
}

export function writeList(
  this: FastifyReply,
  rows: readonly object[],
  total?: number | bigint,
): Record<string, unknown> {
  const request = requestedOf(this.request)
  request.isListed = true
  const { page, list, readFetch } = request
  const { rules, reporter } = list
  const hasNext = rows.length > page.limit
  list.hasMore ||= hasNext
  const items = hasNext ? rows.slice(0, page.limit) : rows
  if (hasNext) linkNext(items.at(-1) as Readonly<Record<string, unknown>>, this)
  else if (rows.length === page.limit && !readFetch && !list.hasMore)
    reporter.warnOnce('lists', this.request, missingRow)
  checkOrder(this.request)
  return { [rules.member]: items, ...(total !== undefined && { total: countOf(total) }) }

  function linkNext(last: Readonly<Record<string, unknown>>, reply: FastifyReply): void {
    if (page.by === 'time' && last[rules.time] instanceof Date)
      reporter.warnOnce('lists', reply.request, `${rules.time} ${lossOfDates}`)
    // A link goes to the URL that the client used, before any rewrite.
    const target = reply.request.originalUrl
    const cursor = nextCursor(page, (part) => cursorText(part, last, rules))
    const href = hrefWith(pathOf(target), queryOf(target), cursorParameters, cursor)
    reply.header('link', addLinks(headerOf(reply, 'link'), formatLinks([{ href, rel: 'next' }])))
  }

  function checkOrder(handled: FastifyRequest): void {
    const fault = rules.mode === 'off' ? null : orderFault(page, items, rules)
    if (fault === null) return
    const order = `${page.afterId === undefined ? 'newest' : 'oldest'} first by ${page.by}`
    const message = `lists: ${fault}; the handler has to return the rows that request.page describes: here, ${order}`
    if (rules.mode === 'enforce') throw new TypeError(message)
    reporter.observe('lists', 'order', handled, message, 500)
  }
}

// A count is not an identifier: up to 2^53 it is a Number, which JSON.stringify takes too.
function countOf(total: number | bigint): number | bigint {
  return total <= Number.MAX_SAFE_INTEGER ? Number(total) : total
}

/** @throws TypeError if the row has no cursor, or one that the list would refuse */
function cursorText(part: 'id' | 'time', row: Readonly<Record<string, unknown>>, rules: ListRules): string {
  const field = rules[part]
  const value = row[field]
  const text = value instanceof Date ? value.toISOString() : value
  if (!['string', 'bigint', 'number'].includes(typeof text))
    throw new TypeError(`lists: the last row has no ${field} for the link to the next page`)
  const expected = cursorFault(part, String(text), rules)
  if (expected === null) return String(text)
  throw new TypeError(
    `lists: the last row cannot be the cursor of the next page: its ${field} is not ${expected}`,
  )
}

const missingRow =
  'the handler gave exactly `page.limit` rows and did not read `page.fetch`: without the row after the page there is no ' +
  '`Link` to the next one'

const lossOfDates =
  'is a Date, which has milliseconds. If the store has more digits, rows are missing between pages: return it as text, ' +
  'with all digits'
