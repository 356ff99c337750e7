import type { FastifyInstance, FastifyRequest, FastifySchema, RouteOptions } from 'fastify'
import { removeParameters } from '../../fastify/bypass-query-validation.js'
import { hiddenFieldsOf } from '../../fastify/hidden-fields.js'
import { headSiblings } from '../../fastify/internals.js'
import { keyStyleOf } from '../../fastify/key-style.js'
import { type CompleteSchema, completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { needFields } from '../../fastify/needed-fields.js'
import { offerNames } from '../../fastify/offer-names.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { hasSerializerOfTheApp } from '../../fastify/reply-serializer.js'
import { addHook } from '../../fastify/route.js'
import { hasValidatorOfTheApp, jsonSchemasOf } from '../../fastify/route-schemas.js'
import { isPlainObject, type SchemaObject, type SchemaStore } from '../../json-schema/json-schema.js'
import { memberName } from '../../json-schema/member-name.js'
import { partsOf, propertiesOf } from '../../json-schema/parts.js'
import type { RouteSchema } from '../../json-schema/query-schema.js'
import { SchemaReader } from '../../json-schema/reader.js'
import { resolveOptions, resolveRouteOptions } from '../../options.js'
import { routeDescriber } from '../../problem/route-description.js'
import { exclusionReasonOf } from '../../rules/exceptions.js'
import type { Mode } from '../../rules/modes.js'
import { type Reporter, reporterOf } from '../../rules/report.js'
import { keysOf, pageReader, requestedOf, requests, writeList } from './hooks.js'
import { offsetBreach } from './offset-paging.js'
import { describePages, missingMembers, parameterNames, withPaging } from './openapi.js'
import {
  declaredLimits,
  type ListRules,
  type ListsOptions,
  type ListsRouteOptions,
  listsChecks,
  listsDefaults,
  listsRouteChecks,
  timeNames,
  withinMaximum,
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
 * `config: { lists: {} }` makes a route a list. The parameters are added to its query schema, and so to the OpenAPI document.
 *
 * Not for lists that are sorted by a value that changes or repeats: keyset paging needs a stable order.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const lists = conventionPlugin<ListsOptions>('lists', function setUpLists(app, received) {
  const options = withinMaximum(
    'lists',
    received,
    resolveOptions('lists', received, listsChecks, listsDefaults),
  )
  const reporter = reporterOf(app)
  const isHeadSibling = headSiblings(app)
  requests.declare(app)
  const offered = { plugin: 'lists', mode: options.mode }
  const needPage = offerNames(app, { ...offered, owner: 'request', members: { page: { get: pageOf } } })
  const needList = offerNames(app, { ...offered, owner: 'reply', members: { list: { value: writeList } } })

  const described: { readonly route: RouteOptions; readonly complete: CompleteSchema }[] = []
  app.addHook('onReady', function describeLists(done) {
    for (const { route, complete } of described) completeWhenRead(route, complete)
    done()
  })
  const describe = routeDescriber(app)
  app.addHook('onRoute', function completeListRoute(route) {
    const isSibling = isHeadSibling(route)
    const name = `${[route.method].flat().join(', ')} ${route.path}`
    const readsItems = !isSibling && [route.method].flat().includes('GET')
    if (readsItems && route.config?.lists !== false && exclusionReasonOf(route) === null) {
      reporter.checkAtReady(() => findOffsetPaging(this, { route, name }, options.mode, reporter))
    }
    const given = route.config?.lists === true ? {} : route.config?.lists
    if (given === undefined || given === false) return
    const label = `${name} config.lists`
    const keyStyle = keyStyleOf(this)
    const resolved = resolveRouteOptions<ListsRouteOptions, ListRules>(label, given, listsRouteChecks, {
      ...options,
      ...declaredLimits(jsonSchemasOf(route), options),
      member: memberName(route.path, keyStyle),
      time: received.time ?? timeNames[keyStyle],
    })
    if (resolved === false) return
    const rules = withinMaximum(label, given, resolved)
    if (!isSibling) {
      needPage(this, name, 'page')
      needList(this, name, 'list')
    }
    describe(route, describePages)
    needFields(route, (request) => keysOf(requestedOf(request)))
    addHook(route, 'preValidation', 'lists', pageReader({ rules, reporter, hasMore: false }))
    const complete = (schema: FastifySchema): FastifySchema =>
      withPaging(schema, rules, () => this.getSchemas() as SchemaStore)
    // A compiler of the app need not know JSON Schema, nor convert texts to numbers.
    if (hasValidatorOfTheApp(this, route)) {
      route.schema ??= {}
      const { querystring, query } = route.schema as { querystring?: unknown; query?: unknown }
      const declared = querystring ?? query
      described.push({ route, complete })
      if (declared !== undefined) removeParameters(this, route, declared, parameterNames(rules), 'lists')
    } else route.schema = complete(route.schema ?? {})
    if (!isSibling) {
      reporter.checkAtReady(() => findDroppedMembers(this, { route, name }, rules, reporter))
      findHiddenKeys({ route, name }, rules, reporter)
    }
  })
})

function pageOf(this: FastifyRequest): Page {
  return requestedOf(this).page as Page
}

interface NamedRoute {
  readonly route: RouteOptions
  /** The name when it was declared. Fastify changes the path of a route at `/` below a prefix for its form with a slash. */
  readonly name: string
}

/** Reports a response schema without the member for the items, or without `total`: the serializer would remove them silently. */
function findDroppedMembers(
  app: FastifyInstance,
  { route, name: routeName }: NamedRoute,
  { mode, member, total }: ListRules,
  reporter: Reporter,
): void {
  const response = jsonSchemasOf(route)?.response
  // A serializer of the app may send more than a JSON Schema names; one of another library removes it.
  const isUnknown =
    hasSerializerOfTheApp(app, route.serializerCompiler) && response === route.schema?.response
  if (mode === 'off' || isUnknown) return
  const members = total ? [member, 'total'] : [member]
  for (const name of missingMembers(response, members, app.getSchemas() as SchemaStore)) {
    reporter.addFinding({
      plugin: 'lists',
      rule: 'schema',
      route: routeName,
      problem: `the response schema of 200 has no '${name}', so it is removed from every response`,
      instead:
        name === member
          ? `properties: { ${name}: { type: 'array', items: … } }, or config.lists.member`
          : "properties: { total: { type: 'integer' } }, or config.lists.total: false",
      mode,
    })
  }
}

/** Reports a route that pages by offset. */
function findOffsetPaging(
  app: FastifyInstance,
  { route, name }: NamedRoute,
  mode: Mode,
  reporter: Reporter,
): void {
  const { querystring, query = querystring } = (jsonSchemasOf(route) ?? {}) as RouteSchema
  if (mode === 'off' || !isPlainObject(query)) return
  const reader = new SchemaReader(app.getSchemas() as SchemaStore)
  const breach = offsetBreach(propertiesOf(partsOf(reader, [query as SchemaObject])).keys())
  if (breach === null) return
  reporter.addFinding({ plugin: 'lists', route: name, mode, ...breach })
}

/** Reports a key of the list that `config.fields` hides: the `Link` to the next page would show its value. */
function findHiddenKeys(
  { route, name: routeName }: NamedRoute,
  { mode, id, time, by }: ListRules,
  reporter: Reporter,
): void {
  const hidden = hiddenFieldsOf(route)
  // A page by time also needs the id, for rows with the same time.
  const keys = by.includes('time') ? [id, time] : [id]
  for (const name of keys) {
    if (mode === 'off' || !Object.hasOwn(hidden, name)) continue
    reporter.addFinding({
      plugin: 'lists',
      rule: 'hidden',
      route: routeName,
      problem: `${name} is hidden by config.fields, and the Link to the next page shows it`,
      instead: name === id ? 'config.lists.id of a field that is not hidden' : "config.lists.by: ['id']",
      mode,
    })
  }
}
