import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { refuse } from '../adapter/answer.js'
import { keyStyleOf } from '../adapter/key-style.js'
import { conventionPlugin } from '../adapter/plugin.js'
import { bootErrors, ProblemError } from '../errors.js'
import { formatLinks, hrefWith } from '../http/links.js'
import { pathOf, queryOf } from '../http/request-target.js'
import {
  type Checks,
  integer,
  invalid,
  oneOf,
  resolveOptions,
  resolveRouteOptions,
  text,
} from '../options.js'
import { memberName } from '../representation/member-name.js'
import { cursorFault, cursorParameters, nextCursor, type Page, readPage } from '../representation/page.js'
import { withPaging } from '../representation/schema/list-schema.js'
import type { SchemaStore } from '../representation/schema/schema-refs.js'

export type { Page } from '../representation/page.js'

/** Options of {@link lists}. */
export interface ListsOptions {
  /**
   * Items on a page where the request names no `limit`.
   * @default 50, or `maxLimit` where that is less
   */
  readonly defaultLimit?: number
  /**
   * Most items on a page; a larger `limit` is lowered to it.
   * @default 200
   */
  readonly maxLimit?: number
  /**
   * Form of ids: `int64` reads them as exact BigInt, `text` takes any string of up to 200 characters.
   * @default 'int64'
   */
  readonly idFormat?: 'int64' | 'text'
  /**
   * Field of an item that holds its id.
   * @default 'id'
   */
  readonly id?: string
  /**
   * Field of an item that holds the time that `before_time` goes by. It has to have every digit that the store sorts
   * by: a `Date` ends at milliseconds, so over a column with microseconds rows would be left out between two pages.
   * Give such a time as text, or have the column end at milliseconds too.
   * @default 'created_at'
   */
  readonly time?: string
}

/** What a route says under `config.lists`; an object, be it empty, makes the route a list. */
export interface ListsRouteOptions extends ListsOptions {
  /**
   * Member of the answer that holds the items. Default: the last literal segment of the path, in snake_case or in the
   * `keyStyle` of `responseRules`.
   */
  readonly member?: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Makes the route a list with keyset paging. */
    lists?: ListsRouteOptions | false
  }
  interface FastifyRequest {
    /** Which items a list route is asked for. Reading it on another route throws. */
    readonly page: Page
  }
  interface FastifyReply {
    /**
     * The answer of a list route: `{ "<member>": [...] }`, with a `Link` header to the next page when there is one.
     *
     * @param rows what was fetched, at most `request.page.fetch` rows in the order of the walk
     * @param total number of all items, where the client asked for it (`request.page.includeTotal`)
     * @throws TypeError when there is a next page and the last row has no id, or no time, that it could be asked for by
     */
    list<Row extends object>(rows: readonly Row[], total?: number | bigint): Record<string, unknown>
  }
}

const checks: Checks<ListsOptions> = {
  defaultLimit: integer(1, 10_000),
  maxLimit: integer(1, 10_000),
  idFormat: oneOf('int64', 'text'),
  id: text(),
  time: text(),
}

const routeChecks: Checks<ListsRouteOptions> = { ...checks, member: text() }

const defaults: Required<ListsOptions> = {
  defaultLimit: 50,
  maxLimit: 200,
  idFormat: 'int64',
  id: 'id',
  time: 'created_at',
}

/** A list route. */
interface List {
  readonly rules: Required<ListsRouteOptions>
  /** The log has been told that times come as `Date`. */
  toldOfDates: boolean
}

interface ListRequest {
  readonly page: Page<bigint | string>
  readonly list: List
}

const listOfRequest = Symbol('fastify-conventions.lists.request')

type WithList = { [listOfRequest]: ListRequest | null }

/**
 * Keyset paging for list routes (seed §4 "Query parameters"): `limit`, `before_id`, `before_time`, `after_id` and
 * `include_total` are read into `request.page`, and `reply.list(rows)` writes the answer with a `Link` to the next
 * page (RFC 8288). A route becomes a list by `config: { lists: {} }`; its query schema is completed, so that the
 * OpenAPI document shows the parameters.
 *
 * Not for lists that are sorted by something that changes or repeats: a keyset walk needs an order that stays.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const lists = conventionPlugin<ListsOptions>('lists', function setUpLists(app, received) {
  const options = withinMaximum('lists', received, resolveOptions('lists', received, checks, defaults))
  let decorated = false
  if (!app.hasRequestDecorator('page') && !app.hasReplyDecorator('list')) decorateOnce()

  app.addHook('onRoute', function completeListRoute(route) {
    if (route.config?.lists === undefined || route.config.lists === false) return
    const label = `${[route.method].flat().join(', ')} ${route.path} config.lists`
    const resolved = resolveRouteOptions<ListsRouteOptions, Required<ListsRouteOptions>>(
      label,
      route.config.lists,
      routeChecks,
      {
        ...options,
        ...declaredLimits(route.schema, options),
        member: memberName(route.path, keyStyleOf(this)),
      },
    )
    if (resolved === false) return
    const rules = withinMaximum(label, route.config.lists, resolved)
    decorateOnce()
    route.schema = withPaging(route.schema, rules, () => this.getSchemas() as SchemaStore)
    route.preValidation = [pageReader(rules), ...[route.preValidation ?? []].flat()]
  })

  // An app without lists may have names of its own; one with lists is told by Fastify that they are taken.
  function decorateOnce(): void {
    if (decorated) return
    decorated = true
    app.decorateRequest(listOfRequest, null)
    app.decorateRequest('page', {
      getter() {
        return listOf(this as FastifyRequest).page as Page
      },
    })
    app.decorateReply('list', writeList)
  }
})

/** What the route's own schema says of `limit`; `config.lists` may say otherwise. */
function declaredLimits(schema: FastifySchema | undefined, options: Required<ListsOptions>): ListsOptions {
  const { querystring, query } = (schema ?? {}) as {
    readonly querystring?: Limited
    readonly query?: Limited
  }
  const { default: declared, maximum } = (querystring ?? query)?.properties?.limit ?? {}
  return {
    maxLimit: typeof maximum === 'number' ? maximum : options.maxLimit,
    defaultLimit: typeof declared === 'number' ? declared : options.defaultLimit,
  }
}

interface Limited {
  readonly properties?: {
    readonly limit?: { readonly default?: unknown; readonly maximum?: unknown }
  }
}

/** The rules with a default limit that is no more than the maximum; one that was `given` here is not lowered. */
function withinMaximum<Rules extends Required<ListsOptions>>(
  label: string,
  given: ListsOptions,
  rules: Rules,
): Rules {
  const { defaultLimit, maxLimit } = rules
  if (defaultLimit <= maxLimit) return rules
  if (given.defaultLimit !== undefined)
    invalid(`${label}.defaultLimit`, `at most maxLimit (${maxLimit})`, defaultLimit)
  return Object.freeze({ ...rules, defaultLimit: maxLimit })
}

function pageReader(rules: Required<ListsRouteOptions>) {
  const list: List = { rules, toldOfDates: false }
  return function readPageOnPreValidation(
    request: FastifyRequest,
    reply: FastifyReply,
    next: (error?: Error) => void,
  ): void {
    const page = readPage((request.query ?? {}) as Record<string, unknown>, rules)
    if (Array.isArray(page)) {
      const detail = page.map((issue) => `${'name' in issue ? issue.name : ''} ${issue.message}`).join('; ')
      refuse(request, reply, new ProblemError('validation', { detail, errors: page }), next)
      return
    }
    ;(request as unknown as WithList)[listOfRequest] = { page, list }
    next()
  }
}

function writeList(
  this: FastifyReply,
  rows: readonly object[],
  total?: number | bigint,
): Record<string, unknown> {
  const { page, list } = listOf(this.request)
  const { rules } = list
  const items = rows.length > page.limit ? rows.slice(0, page.limit) : rows
  const last = items.at(-1) as Record<string, unknown> | undefined
  if (rows.length > page.limit && last !== undefined) {
    // What the client asked for: the path that is served may be the server's own affair.
    const target = this.request.originalUrl
    const cursor = nextCursor(page, {
      id: cursorText('id', last, rules),
      time: () => {
        if (last[rules.time] instanceof Date) tellOfDates(this, list)
        return cursorText('time', last, rules)
      },
    })
    const href = hrefWith(pathOf(target), queryOf(target), cursorParameters, cursor)
    const links = [this.getHeader('link') ?? [], formatLinks([{ href, rel: 'next' }])].flat()
    this.header('link', links.join(', '))
  }
  return { [rules.member]: items, ...(total === undefined ? {} : { total: countOf(total) }) }
}

// A count is no identifier: what a Number holds is written as one, also by JSON.stringify.
function countOf(total: number | bigint): number | bigint {
  return total <= Number.MAX_SAFE_INTEGER ? Number(total) : total
}

function listOf(request: FastifyRequest): ListRequest {
  const list = (request as unknown as WithList)[listOfRequest]
  if (list === null || list === undefined)
    throw new bootErrors.FST_CONV_NOT_A_LIST(request.routeOptions.url ?? request.url)
  return list
}

/** What the next page goes by, as the client will send it; a link that could not be followed is not made. */
function cursorText(
  part: 'id' | 'time',
  row: Readonly<Record<string, unknown>>,
  rules: Required<ListsRouteOptions>,
): string {
  const field = rules[part]
  const text = textOf(row[field])
  if (text === null) throw new TypeError(`lists: the last row has no ${field} to lead on from`)
  const expected = cursorFault(part, text, rules)
  if (expected === null) return text
  throw new TypeError(`lists: no page can lead on from the last row: its ${field} is not ${expected}`)
}

function textOf(value: unknown): string | null {
  if (value instanceof Date) return value.toISOString()
  const isText = typeof value === 'string' || typeof value === 'bigint' || typeof value === 'number'
  return isText ? String(value) : null
}

function tellOfDates(reply: FastifyReply, list: List): void {
  if (list.toldOfDates) return
  list.toldOfDates = true
  reply.log.warn(
    `lists: ${reply.request.routeOptions.url}: ${list.rules.time} is a Date, which ends at milliseconds. Where the ` +
      'store has more digits, rows are left out between pages: give it as text, with every digit',
  )
}
