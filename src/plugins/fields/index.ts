import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { bypassQueryValidation, type ReadParameter } from '../../fastify/bypass-query-validation.js'
import { hasReplySerializer } from '../../fastify/internals.js'
import { keyStyleOf } from '../../fastify/key-style.js'
import { type CompleteSchema, completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { offerNames } from '../../fastify/offer-names.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { hasValidatorOfTheApp, jsonSchemasOf } from '../../fastify/route-schemas.js'
import { type FieldSelection, neededFields, selectionOf, selections } from '../../fastify/selection.js'
import { RouteSerialization, serializationOf } from '../../fastify/serialization.js'
import type { SchemaStore } from '../../json-schema/json-schema.js'
import { memberName } from '../../json-schema/member-name.js'
import { isObjectSchema } from '../../json-schema/query-schema.js'
import { invalid, resolveOptions, resolveRouteOptions } from '../../options.js'
import { routeDescriber } from '../../problem/route-description.js'
import { reporterOf } from '../../rules/report.js'
import { addCountHooks, addSelectHooks, isRead, RouteFields } from './hooks.js'
import { describeSelection, namesFields, withFieldsParameter, withSelectedFields } from './openapi.js'
import {
  type FieldsOptions,
  type FieldsRouteOptions,
  fieldsChecks,
  fieldsDefaults,
  fieldsRouteChecks,
  narrowsUnasked,
  type ResolvedFields,
} from './options.js'
import { listNames, type RouteFacts } from './selection.js'

export type { FieldSelection } from '../../fastify/selection.js'
export type { FieldsOptions, FieldsRouteOptions, IsHidden } from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Field selection of this route; `false` leaves the parameter alone. */
    fields?: FieldsRouteOptions | false
  }
  interface FastifyRequest {
    /** Which fields the request wants; `null` where the route selects none: then all. */
    readonly fields: FieldSelection | null
  }
}

/**
 * Field selection: `GET ...?fields=name,address.city` answers just those fields, of an item
 * or of each item of a list. The names are those of the route's response schema; projection is compiled from it, so a
 * selection can only narrow what the schema allows. Routes whose response schema names no fields are left alone.
 *
 * `request.fields` gives the handler the selected fields. Unknown names are a 400 problem `fields-invalid`.
 *
 * Not for clients that need a shape of their own: a selection has no aliases, no arguments and no joins.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration, and
 * FST_CONV_OPTION_INVALID when the app gets ready, for a default or hidden field that the schema does not have
 */
export const fields = conventionPlugin<FieldsOptions>('fields', function setUpFields(app, received) {
  const options = resolveOptions('fields', received, fieldsChecks, fieldsDefaults)
  const reporter = reporterOf(app)
  const routes: RouteFields[] = []
  const asked: Asked = new WeakMap()
  const describe = routeDescriber(app)
  const described: { readonly route: RouteOptions; readonly complete: CompleteSchema }[] = []

  selections.declare(app)
  const members = { fields: { get: fieldsOf } }
  offerNames(app, { plugin: 'fields', mode: options.mode, owner: 'request', members })

  app.addHook('onRoute', function selectOnRoute(route) {
    const label = `${[route.method].flat().join(', ')} ${route.path} config.fields`
    const own = resolveRouteOptions<FieldsRouteOptions, ResolvedFields>(
      label,
      route.config?.fields,
      fieldsRouteChecks,
      options,
    )
    if (own === false || own.mode === 'off') return
    const facts = factsOf(this, route, label, own)
    if (!concerns(this, route, facts, own, asked)) return
    if (own.mode === 'report') count(this, route, facts, own)
    else select(this, route, facts, own)
  })
  app.addHook('onReady', function prepareFields(done) {
    for (const route of routes) route.prepare()
    for (const { route, complete } of described) completeWhenRead(route, complete)
    done()
  })

  function select(context: FastifyInstance, route: Route, facts: RouteFacts, own: ResolvedFields): void {
    const read = facts.reads ? addParameter(context, route, own) : () => undefined
    if (facts.reads) describe(route, describeSelection)
    const complete: CompleteSchema = (schema) => withSelectedFields(schema, facts.lists, schemasOf(context))
    described.push({ route, complete })
    const serialization = serializationOf(context, route)
    const fields = new RouteFields(facts, own, serialization)
    routes.push(fields)
    addSelectHooks(route, fields, own, serialization, read)
    if (own.hidden !== undefined) reportPolls(route, facts)
  }

  // Operations have routes of their own, which do not know what the route that starts one hides.
  function reportPolls(route: Route, { label }: RouteFacts): void {
    if (typeof route.config?.operations !== 'object') return
    reporter.addException({
      plugin: 'fields',
      route: label.replace(' config.fields', ''),
      rules: ['hidden'],
      reason: 'polls of the operation that the route starts answer its result as the work returned it',
      declared: false,
      unused: false,
    })
  }

  function addParameter(context: FastifyInstance, route: Route, own: ResolvedFields): ReadParameter {
    const { querystring, query } = (route.schema ?? {}) as { querystring?: unknown; query?: unknown }
    const declared = querystring ?? query
    const complete: CompleteSchema = (schema) => withFieldsParameter(schema, own, schemasOf(context))
    // Where no schema could refuse the parameter, there is nothing to compile: it is for the document alone. A compiler of
    // the app need not know JSON Schema.
    if (declared === undefined || hasValidatorOfTheApp(context, route)) described.push({ route, complete })
    else route.schema = complete(route.schema ?? {})
    return bypassQueryValidation(context, route, declared, 'fields', 'fields')
  }

  function count(context: FastifyInstance, route: Route, facts: RouteFacts, own: ResolvedFields): void {
    const name = `${[route.method].flat().join(', ')} ${route.url}`
    const { response } = jsonSchemasOf(route) ?? {}
    const serialization = new RouteSerialization(context, response, name, route.serializerCompiler)
    const fields = new RouteFields(facts, own, serialization)
    routes.push(fields)
    addCountHooks(route, fields, own, reporter)
  }
})

function fieldsOf(this: FastifyRequest): FieldSelection | null {
  const selection = selectionOf(this) ?? null
  return selection === null ? null : selection.needing(neededFields(this, (name) => selection.isNamed(name)))
}

type Route = RouteOptions & { readonly path: string }

/** What is known of response schemas: a GET route and the HEAD route that Fastify adds to it have the same. */
type Asked = WeakMap<object, { readonly path: string; readonly namesFields: boolean }>

/** Whether the plugin has anything to do on a route: there is something to select from, or to hide. */
function concerns(
  app: FastifyInstance,
  route: Route,
  { label, reads, isList, lists }: RouteFacts,
  own: ResolvedFields,
  asked: Asked,
): boolean {
  if (!reads && own.default !== undefined)
    invalid(`${label}.default`, 'a route that answers GET: others select nothing', own.default)
  if (!reads && own.hidden === undefined) return false
  const response: unknown = jsonSchemasOf(route)?.response
  // A list is selected from by what its items have, where no schema says it.
  if (reads && isList && !narrowsUnasked(own) && (response === undefined || isObjectSchema(response)))
    return !hasReplySerializer(app)
  if (isObjectSchema(response)) {
    if (narrowsUnasked(own) || typeof own.list === 'string') return true
    if (hasReplySerializer(app)) return false
    const known = asked.get(response)
    if (known?.path === route.path) return known.namesFields
    const answer = namesFields(response, lists, schemasOf(app))
    asked.set(response, { path: route.path, namesFields: answer })
    return answer
  }
  for (const name of ['hidden', 'default'] as const) {
    if (own[name] !== undefined) invalid(`${label}.${name}`, 'a route with response schemas', own[name])
  }
  return false
}

function schemasOf(app: FastifyInstance): () => SchemaStore {
  return () => app.getSchemas() as SchemaStore
}

function factsOf(app: FastifyInstance, route: Route, label: string, own: FieldsRouteOptions): RouteFacts {
  const { lists } = route.config ?? {}
  const list = lists === true ? {} : typeof lists === 'object' ? lists : null
  return {
    label,
    reads: [route.method].flat().some(isRead),
    isList: list !== null,
    lists: listNames(route.path, own, list && (list.member ?? memberName(route.path, keyStyleOf(app)))),
  }
}
