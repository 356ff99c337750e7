import type { FastifyInstance, FastifyPluginAsync, FastifyRequest, RouteOptions } from 'fastify'
import { keyStyleOf } from '../../convention/contexts.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { hasCompiledSerializer, isRead } from '../../convention/exchange.js'
import { ownCompilers } from '../../convention/internals.js'
import { offerNames } from '../../convention/offer-names.js'
import { jsonSchemasOf } from '../../convention/route-schemas.js'
import { hiddenFieldsOf, needFields, ownParameters } from '../../convention/selection.js'
import {
  type Check,
  flag,
  integer,
  invalid,
  listOf,
  type OptionsOf,
  oneOf,
  option,
  optional,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { modeOption } from '../../report/modes.js'
import { reporterOf } from '../../report/report.js'
import { isPlainObject, type SchemaObject, type SchemaStore } from '../../schema/json-schema.js'
import { partsOf, propertiesOf, SchemaReader } from '../../schema/reader.js'
import { queryOf } from '../../schema/responses.js'
import { memberName } from '../../words/words.js'
import { countAnswer, keysOf, readPageOf, requestedOf, writeList } from './hooks.js'
import { describePages, documentPages, missingMembers, offsetBreach, parameterNames } from './openapi.js'
import type { ListRules, Page, PageKey, PageOf } from './page.js'

export { type Keyset, type KeysetFragments, type KeysetOptions, keyset } from './keyset.js'
export type { Page, PageKey } from './page.js'

const keys: Check<readonly PageKey[]> = listOf(oneOf('id', 'time'), "'id', 'time' or both")

const limit = integer(1, 10_000)

const listsOptions = {
  /**
   * The mode of the checks of `reply.list()` (rows that do not lie beyond the cursor), of the response schema (members that
   * it would remove), and of query schemas that page by offset: `enforce` sends a 500 and stops the boot, `report` counts
   * and reports, `off` checks neither. The parameters of a request are checked in every mode.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Items on a page if the request has no `limit`.
   * @default 50, or `maxLimit` if that is less
   */
  defaultLimit: optional(limit),
  /**
   * Maximum of items on a page; a larger `limit` is lowered to it.
   * @default 200
   */
  maxLimit: option(limit, 200),
  /**
   * Form of ids: `int64` reads them as exact BigInts, `text` accepts any string of up to 200 characters.
   * @default 'int64'
   */
  idFormat: option(oneOf('int64', 'text'), 'int64'),
  /**
   * Field of an item that holds its id.
   * @default 'id'
   */
  id: option(text(), 'id'),
  /**
   * Field of an item with the time for `before_time`. It needs the full precision that the store sorts by: a `Date` has
   * milliseconds, so with a column of microseconds rows would be missing between two pages. Return such a time as text, or
   * limit the column to milliseconds.
   * @default 'created_at', or 'createdAt' if the `keyStyle` of `responseRules` is camelCase
   */
  time: optional(text()),
  /**
   * The keys that the handler supports: `id` for `before_id` and `after_id`, `time` for `before_time`. A request without a
   * cursor pages by the first. Parameters of other keys are a 400, and not in the OpenAPI document.
   * @default ['id', 'time']
   */
  by: option(keys, ['id', 'time']),
  /**
   * Whether the handler supports `include_total=true`; if not, that is a 400.
   * @default true
   */
  total: option(flag, true),
}

const listsRouteOptions = {
  ...listsOptions,
  /**
   * Member of the response that holds the items.
   * @default the last literal segment of the path, in the `keyStyle` of `responseRules`
   */
  member: optional(text()),
}

/** Options of the plugin `lists`. */
export type ListsOptions = OptionsOf<typeof listsOptions>

/** Options of a route, under `config.lists`. An object makes the route a list, even if it is empty. */
export type ListsRouteOptions = OptionsOf<typeof listsRouteOptions>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Makes the route a list with keyset paging; `true` is `{}`. */
    lists?: ListsRouteOptions | boolean
  }
  interface FastifyRequest<RouteGeneric, RawServer, RawRequest, SchemaCompiler, TypeProvider, ContextConfig> {
    /** The requested page of a list route. Reading it on another route throws. */
    readonly page: PageOf<ContextConfig>
  }
  interface FastifyReply {
    /**
     * Returns the payload of a list route, typed as the handler's reply, `{ "<member>": [...] }`, and sets a `Link` to the next page if there is one.
     *
     * @param rows at most `request.page.fetch` rows, in the order of `request.page`
     * @param total number of all items, if the client asks for it (`request.page.includeTotal`)
     * @throws TypeError if there is a next page, and the id or the time of the last row cannot be its cursor; if a row does
     * not lie beyond the cursor of the request and beyond the row before it
     */
    list<Row extends object, Answer = Record<string, unknown>>(
      rows: readonly Row[],
      total?: number | bigint,
    ): Answer
  }
}

/**
 * Keyset paging for list routes. `request.page` has the parameters `limit`, `before_id`, `before_time`, `after_id` and
 * `include_total`; `reply.list(rows)` returns the payload, and sets a `Link` to the next page (RFC 8288).
 * `config: { lists: {} }` makes a route a list.
 *
 * Not for lists that are sorted by a value that changes or repeats: keyset paging needs a stable order.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const lists: FastifyPluginAsync<ListsOptions & RegistrationOptions> = convention({
  name: 'lists',
  rules: ['order', 'answer', 'schema', 'offset', 'hidden', 'method'],
  acceptsTrue: true,
  options: listsOptions,
  routeOptions: listsRouteOptions,
  setUp({ app, options }) {
    limitsOf('lists', options, options)
    const offered = { plugin: 'lists', mode: options.mode }
    return {
      reporter: reporterOf(app),
      needPage: offerNames(app, { ...offered, owner: 'request', members: { page: { get: pageOf } } }),
      needList: offerNames(app, { ...offered, owner: 'reply', members: { list: { value: writeList } } }),
    }
  },
  route(context) {
    const { app, name, path, route, methods, options, isConfigured, state, atReady } = context
    if (route === null) return undefined
    const find = (rule: 'schema' | 'offset' | 'hidden', found: readonly Found[]) => {
      for (const { problem, instead } of found) context.addFinding(rule, problem, instead)
    }
    if (methods.includes('GET') && context.exclusionReason === null)
      atReady(() => find('offset', offsetPaging(app, route)))
    if (!isConfigured) return undefined
    if (!methods.some(isRead)) {
      const problem = `config.lists on ${methods.join(', ')}: a client follows the Link to the next page by GET`
      context.addFinding('method', problem, 'a route with GET, or no config.lists')
    }

    const own = route.config?.lists === true ? {} : (route.config?.lists as ListsRouteOptions)
    const keyStyle = keyStyleOf(app)
    const rules: ListRules = {
      ...options,
      ...limitsOf(`${name} config.lists`, options, own),
      member: options.member ?? memberName(path, keyStyle),
      time: options.time ?? (keyStyle === 'camelCase' ? 'createdAt' : 'created_at'),
    }
    state.needPage(name, 'page')
    state.needList(name, 'list')
    atReady(() => find('schema', droppedMembers(app, route, rules)))
    find('hidden', hiddenKeys(route, rules))
    needFields(route, (request) => keysOf(requestedOf(request)))
    const list = { rules, reporter: state.reporter, hasMore: false }
    const { take } = ownParameters(app, route, parameterNames(rules))
    return {
      preSerialization: countAnswer,
      preValidation: readPageOf(list, take),
      describe: describePages,
      document: documentPages(rules),
    }
  },
})

function pageOf(this: FastifyRequest): Page {
  return requestedOf(this).page as Page
}

interface Found {
  readonly problem: string
  readonly instead: string
}

/** Finds a response schema without the member for the items, or without `total`: the serializer would remove them silently. */
function droppedMembers(app: FastifyInstance, route: RouteOptions, { member, total }: ListRules): Found[] {
  const response = jsonSchemasOf(route)?.response
  // A serializer of the app may send more than a JSON Schema names; one of another library removes it.
  const isOfTheApp = hasCompiledSerializer(app, route) || ownCompilers(app).replySerializer
  if (isOfTheApp && response === route.schema?.response) return []
  const members = total ? [member, 'total'] : [member]
  return missingMembers(response, members, app.getSchemas() as SchemaStore).map((name) => ({
    problem: `the response schema of 200 has no '${name}', so it is removed from every response`,
    instead:
      name === member
        ? `properties: { ${name}: { type: 'array', items: … } }, or config.lists.member`
        : "properties: { total: { type: 'integer' } }, or config.lists.total: false",
  }))
}

function offsetPaging(app: FastifyInstance, route: RouteOptions): Found[] {
  const query = queryOf(jsonSchemasOf(route))
  if (!isPlainObject(query)) return []
  const reader = new SchemaReader(app.getSchemas() as SchemaStore)
  const breach = offsetBreach(propertiesOf(partsOf(reader, [query as SchemaObject])).keys())
  return breach === null ? [] : [breach]
}

/** Finds a key of the list that `config.fields` hides: the `Link` to the next page would show its value. */
function hiddenKeys(route: RouteOptions, { id, time, by }: ListRules): Found[] {
  const hidden = hiddenFieldsOf(route)
  // A page by time also needs the id, for rows with the same time.
  const keys = by.includes('time') ? [id, time] : [id]
  return keys
    .filter((name) => Object.hasOwn(hidden, name))
    .map((name) => ({
      problem: `${name} is hidden by config.fields, and the Link to the next page shows it`,
      instead: name === id ? 'config.lists.id of a field that is not hidden' : "config.lists.by: ['id']",
    }))
}

/** Returns the limits of a route, or of the plugin: its options, and those that it sets itself. */
function limitsOf(
  label: string,
  { defaultLimit = 50, maxLimit }: Pick<ResolvedOptions<typeof listsOptions>, 'defaultLimit' | 'maxLimit'>,
  own: { readonly defaultLimit?: number | undefined },
): Required<Pick<ListsOptions, 'defaultLimit' | 'maxLimit'>> {
  if (own.defaultLimit !== undefined && own.defaultLimit > maxLimit)
    invalid(`${label}.defaultLimit`, `at most maxLimit (${maxLimit})`, own.defaultLimit)
  return { maxLimit, defaultLimit: Math.min(defaultLimit, maxLimit) }
}
