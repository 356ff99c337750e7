import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, RouteOptions } from 'fastify'
import { bootErrors } from '../../boot-errors.js'
import { hiddenFieldsOf } from '../../fastify/hidden-fields.js'
import { headSiblings } from '../../fastify/internals.js'
import { keyStyleOf } from '../../fastify/key-style.js'
import { needFields } from '../../fastify/needed-fields.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { hasSerializerOfTheApp } from '../../fastify/reply-serializer.js'
import { addHook } from '../../fastify/route.js'
import { decorateOnce, requestSlot } from '../../fastify/slots.js'
import type { SchemaStore } from '../../json-schema/json-schema.js'
import { memberName } from '../../json-schema/member-name.js'
import {
  type Check,
  type Checks,
  flag,
  integer,
  invalid,
  listOf,
  oneOf,
  resolveOptions,
  resolveRouteOptions,
  text,
} from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import { type Mode, modes } from '../../rules/modes.js'
import { type Reporter, reporterOf } from '../../rules/report.js'
import { type List, type ListRequest, type ListRules, listAnswer, listRequest } from './list-answer.js'
import { missingMembers, withPaging } from './openapi.js'
import { type Page, type PageKey, readPage, withPlus } from './page.js'

export { type Keyset, type KeysetOptions, keyset } from './keyset.js'
export type { Page, PageKey } from './page.js'

/** Options of {@link lists}. */
export interface ListsOptions {
  /**
   * What is done about a page that `reply.list()` is given and that does not lie beyond its cursor, and about response
   * schemas that would drop the items: `enforce` answers 500 and stops the boot, `report` counts and reports, `off` looks
   * at neither. Of the parameters a list is asked with, nothing depends on it.
   * @default 'enforce'
   */
  readonly mode?: Mode
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
   * @default 'created_at', or 'createdAt' where the `keyStyle` of `responseRules` is camelCase
   */
  readonly time?: string
  /**
   * The keys that the handler can walk by: `id` for `before_id` and `after_id`, `time` for `before_time`. A request
   * without a cursor goes by the first. Parameters of other keys are a 400, and not in the OpenAPI document.
   * @default ['id', 'time']
   */
  readonly by?: readonly PageKey[]
  /**
   * Whether the handler counts all items where `include_total=true` asks for it; otherwise that is a 400.
   * @default true
   */
  readonly total?: boolean
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
     * @throws TypeError when there is a next page and the last row has no id, or no time, that it could be asked for by;
     * when the rows do not lie beyond the cursor of the request, each beyond the one before it
     */
    list<Row extends object>(rows: readonly Row[], total?: number | bigint): Record<string, unknown>
  }
}

const keys: Check<readonly PageKey[]> = (label, received) => {
  const given = listOf(oneOf('id', 'time'))(label, received)
  return given.length > 0 ? given : invalid(label, "'id', 'time' or both", received)
}

const checks: Checks<ListsOptions> = {
  mode: oneOf(...modes),
  defaultLimit: integer(1, 10_000),
  maxLimit: integer(1, 10_000),
  idFormat: oneOf('int64', 'text'),
  id: text(),
  time: text(),
  by: keys,
  total: flag,
}

const routeChecks: Checks<ListsRouteOptions> = { ...checks, member: text() }

const defaults: Required<ListsOptions> = {
  mode: 'enforce',
  defaultLimit: 50,
  maxLimit: 200,
  idFormat: 'int64',
  id: 'id',
  time: 'created_at',
  by: ['id', 'time'],
  total: true,
}

const timeNames = { snake_case: defaults.time, camelCase: 'createdAt' } as const

const requests = requestSlot<ListRequest>('lists.request')

/**
 * Keyset paging for list routes: `limit`, `before_id`, `before_time`, `after_id` and
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
  const reporter = reporterOf(app)
  const isHeadSibling = headSiblings(app)
  const areFree = !app.hasRequestDecorator('page') && !app.hasReplyDecorator('list')
  const decorate = decorateOnce(areFree, () => {
    requests.declare(app)
    app.decorateRequest('page', {
      getter() {
        return requestedOf(this as FastifyRequest).page as Page
      },
    })
    app.decorateReply('list', writeList)
  })

  app.addHook('onRoute', function completeListRoute(route) {
    const isSibling = isHeadSibling(route)
    if (route.config?.lists === undefined || route.config.lists === false) return
    const label = `${[route.method].flat().join(', ')} ${route.path} config.lists`
    const keyStyle = keyStyleOf(this)
    const resolved = resolveRouteOptions<ListsRouteOptions, ListRules>(
      label,
      route.config.lists,
      routeChecks,
      {
        ...options,
        ...declaredLimits(route.schema, options),
        member: memberName(route.path, keyStyle),
        time: received.time ?? timeNames[keyStyle],
      },
    )
    if (resolved === false) return
    const rules = withinMaximum(label, route.config.lists, resolved)
    decorate()
    route.schema = withPaging(route.schema, rules, () => this.getSchemas() as SchemaStore)
    needFields(route, (request) => keysOf(requestedOf(request)))
    addHook(route, 'preValidation', 'lists', pageReader({ rules, reporter, told: new Set(), hasMore: false }))
    if (!isSibling) {
      reporter.checkAtReady(() => findDroppedMembers(this, route, rules, reporter))
      findHiddenKeys(route, rules, reporter)
    }
  })
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

/** A response schema that would drop the items or their total, with a 200 that says nothing. */
function findDroppedMembers(
  app: FastifyInstance,
  route: RouteOptions & { readonly path: string },
  { mode, member, total }: ListRules,
  reporter: Reporter,
): void {
  if (mode === 'off' || hasSerializerOfTheApp(app, route.serializerCompiler)) return
  const members = total ? [member, 'total'] : [member]
  for (const name of missingMembers(route.schema?.response, members, app.getSchemas() as SchemaStore)) {
    reporter.addFinding({
      plugin: 'lists',
      rule: 'schema',
      route: `${[route.method].flat().join(', ')} ${route.path}`,
      problem: `the response schema of 200 has no '${name}', so it is left out of every answer`,
      instead:
        name === member
          ? `properties: { ${name}: { type: 'array', items: … } }, or config.lists.member`
          : "properties: { total: { type: 'integer' } }, or config.lists.total: false",
      mode,
    })
  }
}

/** A key of the list that `config.fields` hides: the `Link` to the next page would show that of the last row. */
function findHiddenKeys(
  route: RouteOptions & { readonly path: string },
  { mode, id, time, by }: ListRules,
  reporter: Reporter,
): void {
  const hidden = hiddenFieldsOf(route)
  // A page by time goes by the id too, for rows with the same time.
  const keys = by.includes('time') ? [id, time] : [id]
  for (const name of keys) {
    if (mode === 'off' || !Object.hasOwn(hidden, name)) continue
    reporter.addFinding({
      plugin: 'lists',
      rule: 'hidden',
      route: `${[route.method].flat().join(', ')} ${route.path}`,
      problem: `${name} is hidden by config.fields, and the Link to the next page shows it`,
      instead: name === id ? 'config.lists.id of a field that is not hidden' : "config.lists.by: ['id']",
      mode,
    })
  }
}

function pageReader(list: List) {
  return function readPageOnPreValidation(
    request: FastifyRequest,
    reply: FastifyReply,
    next: (error?: Error) => void,
  ): void {
    const query = (request.query ?? {}) as Record<string, unknown>
    // Validation, which comes after this, sees the time as it was meant.
    if (typeof query.before_time === 'string') query.before_time = withPlus(query.before_time)
    const page = readPage(query, list.rules)
    if (Array.isArray(page)) {
      const detail = page.map((issue) => `${'name' in issue ? issue.name : ''} ${issue.message}`).join('; ')
      refuse(request, reply, new ProblemError('validation', { detail, errors: page }), next)
      return
    }
    requests.set(request, listRequest(page, list))
    next()
  }
}

function writeList(
  this: FastifyReply,
  rows: readonly object[],
  total?: number | bigint,
): Record<string, unknown> {
  return listAnswer(this, requestedOf(this.request), rows, total)
}

/** The fields of a row that its page goes by. */
function keysOf({ page, list }: ListRequest): readonly string[] {
  const { id, time } = list.rules
  return page.by === 'time' ? [id, time] : [id]
}

function requestedOf(request: FastifyRequest): ListRequest {
  const list = requests.get(request)
  if (list === undefined) throw new bootErrors.FST_CONV_NOT_A_LIST(request.routeOptions.url ?? request.url)
  return list
}
