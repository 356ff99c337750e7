import type { FastifyInstance, FastifyPluginAsync, FastifyRequest, RouteOptions } from 'fastify'
import { keyStyleOf } from '../../convention/contexts.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { offerNames } from '../../convention/offer-names.js'
import { hasSerializerOfTheApp } from '../../convention/reply.js'
import { jsonSchemasOf, ownParameters } from '../../convention/route-schemas.js'
import { hiddenFieldsOf, needFields } from '../../convention/selection.js'
import { reporterOf } from '../../report/report.js'
import { isPlainObject, type SchemaObject, type SchemaStore } from '../../schema/json-schema.js'
import { partsOf, propertiesOf, SchemaReader } from '../../schema/reader.js'
import { queryOf } from '../../schema/responses.js'
import { memberName } from '../../words/words.js'
import { countAnswer, keysOf, readPageOf, requestedOf, requests, writeList } from './hooks.js'
import { describePages, documentPages, missingMembers, offsetBreach, parameterNames } from './openapi.js'
import {
  type ListRules,
  type ListsOptions,
  type ListsRouteOptions,
  limitsOf,
  listsOptions,
  listsRouteOptions,
} from './options.js'
import type { Page, PageOf } from './page.js'

export { type Keyset, type KeysetOptions, keyset } from './keyset.js'
export type { ListsOptions, ListsRouteOptions } from './options.js'
export type { Page, PageKey } from './page.js'

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
  rules: ['order', 'answer', 'schema', 'offset', 'hidden'],
  rulesOfRequests: ['order', 'answer'],
  acceptsTrue: true,
  options: listsOptions,
  routeOptions: listsRouteOptions,
  setUp({ app, options, atReady }) {
    const { defaultLimit } = options
    limitsOf('lists', defaultLimit === undefined ? {} : { defaultLimit }, options)
    requests.declare(app)
    const offered = { plugin: 'lists', mode: options.mode }
    return {
      atReady,
      reporter: reporterOf(app),
      needPage: offerNames(app, { ...offered, owner: 'request', members: { page: { get: pageOf } } }),
      needList: offerNames(app, { ...offered, owner: 'reply', members: { list: { value: writeList } } }),
    }
  },
  route({ app, name, path, route, methods, options, isConfigured, exclusionReason, state, addFinding }) {
    if (route === null) return undefined
    const find = (rule: 'schema' | 'offset' | 'hidden', found: readonly Found[]) => {
      for (const { problem, instead } of found) addFinding(rule, problem, instead)
    }
    if (methods.includes('GET') && exclusionReason === null)
      state.atReady(() => find('offset', offsetPaging(app, route)))
    if (!isConfigured) return undefined

    const own = route.config?.lists === true ? {} : (route.config?.lists as ListsRouteOptions)
    const keyStyle = keyStyleOf(app)
    const rules: ListRules = {
      ...options,
      ...limitsOf(`${name} config.lists`, own, options),
      member: options.member ?? memberName(path, keyStyle),
      time: options.time ?? (keyStyle === 'camelCase' ? 'createdAt' : 'created_at'),
    }
    state.needPage(name, 'page')
    state.needList(name, 'list')
    state.atReady(() => find('schema', droppedMembers(app, route, rules)))
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
  if (hasSerializerOfTheApp(app, route.serializerCompiler) && response === route.schema?.response) return []
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
