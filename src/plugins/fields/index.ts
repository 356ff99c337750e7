import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { keyStyleOf } from '../../fastify/key-style.js'
import { type CompleteSchema, completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { neededFields } from '../../fastify/needed-fields.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { hasSerializerOfTheApp } from '../../fastify/reply-serializer.js'
import { addHook } from '../../fastify/route.js'
import type { FieldSelection } from '../../fastify/selection.js'
import { RouteSerialization, selectionOf, selections, serializationOf } from '../../fastify/serialization.js'
import { decorateOnce } from '../../fastify/slots.js'
import type { SchemaStore } from '../../json-schema/json-schema.js'
import { memberName } from '../../json-schema/member-name.js'
import { isObjectSchema } from '../../json-schema/query-schema.js'
import {
  type Checks,
  integer,
  invalid,
  listOf,
  oneOf,
  resolveOptions,
  resolveRouteOptions,
  text,
} from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import { reporterOf } from '../../rules/report.js'
import { joinWords, wordsOf } from '../../words/key-names.js'
import { holdParameter, type ReadParameter } from './bypass-query-validation.js'
import { FieldsObserver } from './fields-observer.js'
import { namesFields, withFieldsParameter } from './openapi.js'
import { type AboutRoute, type IsHidden, isRead, RouteFields } from './route-fields.js'

export type { FieldSelection } from '../../fastify/selection.js'
export type { IsHidden } from './route-fields.js'

/** Options of {@link fields}. */
export interface FieldsOptions {
  /**
   * `enforce` projects, `report` changes nothing and counts the requests that ask for it and the answers that the
   * default set or a hidden field would narrow, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Most names in a selection.
   * @default 64
   */
  readonly maxNames?: number
  /**
   * Most characters of the parameter.
   * @default 1024
   */
  readonly maxLength?: number
  /**
   * Most segments of a dot path.
   * @default 4
   */
  readonly maxDepth?: number
}

/** What a route says under `config.fields`; `false` leaves the parameter alone. */
export interface FieldsRouteOptions extends FieldsOptions {
  /** Dot paths of what is answered where the request names no fields. Default: all. */
  readonly default?: readonly string[]
  /**
   * Dot paths that no 2xx answers, whatever the method (`true`), or not to every request (a predicate, asked before the
   * handler runs). To whom a field is hidden it is unknown. An answer that cannot be narrowed (a string, a stream, a
   * status without a schema) is a 500 where a field is hidden. Not for secrets: errors are never projected.
   */
  readonly hidden?: Readonly<Record<string, true | IsHidden>>
  /**
   * Member that holds the items of a list; the selection applies to each of them, and what stands beside it stays.
   * Default: the member of `config.lists`, else the array that is named like the path's last segment. `null`: no list.
   */
  readonly list?: string | null
}

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

const bounds: Checks<FieldsOptions> = {
  mode: oneOf(...modes),
  maxNames: integer(1, 10_000),
  maxLength: integer(1, 100_000),
  maxDepth: integer(1, 100),
}

const routeChecks: Checks<FieldsRouteOptions> = {
  ...bounds,
  default: listOf(text()),
  hidden: checkHidden,
  list: (label, received) => (received === null ? null : text()(label, received)),
}

const defaults: Required<FieldsOptions> = { mode: 'enforce', maxNames: 64, maxLength: 1024, maxDepth: 4 }

/**
 * Field selection: `GET ...?fields=name,address.city` answers just those fields, of an item
 * or of each item of a list. The names are those of the route's response schema; projection is compiled from it, so a
 * selection can only narrow what the schema allows. Routes whose response schema names no fields are left alone.
 *
 * `request.fields` tells the handler what is wanted. Unknown names are a 400 problem `fields-invalid`.
 *
 * Not for clients that need a shape of their own: a selection has no aliases, no arguments and no joins.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration, and
 * FST_CONV_OPTION_INVALID when the app gets ready, for a default or hidden field that the schema does not have
 */
export const fields = conventionPlugin<FieldsOptions>('fields', function setUpFields(app, received) {
  const options = resolveOptions('fields', received, bounds, defaults)
  const reporter = reporterOf(app)
  const routes: RouteFields[] = []
  const asked: Asked = new WeakMap()
  const described: { readonly route: RouteOptions; readonly complete: CompleteSchema }[] = []

  const decorate = decorateOnce(!app.hasRequestDecorator('fields'), () => {
    selections.declare(app)
    app.decorateRequest('fields', {
      getter() {
        const request = this as FastifyRequest
        const selection = selectionOf(request) ?? null
        if (selection === null) return null
        return selection.needing(neededFields(request, (name) => selection.isNamed(name)))
      },
    })
  })

  app.addHook('onRoute', function selectOnRoute(route) {
    const label = `${[route.method].flat().join(', ')} ${route.path} config.fields`
    const own = resolveRouteOptions<FieldsRouteOptions, Resolved>(
      label,
      route.config?.fields,
      routeChecks,
      options,
    )
    if (own === false || own.mode === 'off' || !concerns(this, route, label, own, asked)) return
    if (own.mode === 'report') observe(this, route, label, own)
    else select(this, route, label, own)
  })
  app.addHook('onReady', function prepareFields(done) {
    for (const route of routes) route.check()
    for (const { route, complete } of described) completeWhenRead(route, complete)
    done()
  })

  function select(context: FastifyInstance, route: Route, label: string, own: Resolved): void {
    decorate()
    const about = aboutOf(context, route, label, own)
    const read = about.reads ? addParameter(context, route, own) : () => undefined
    const fields = new RouteFields(about, own, serializationOf(context, route), read)
    routes.push(fields)
    addHook(route, 'preHandler', 'fields', fields.select)
    if (own.hidden !== undefined) {
      addHook(route, 'onSend', 'fields', fields.refuseUnnarrowed)
      tellOfPolls(route, label)
    }
  }

  // Operations have routes of their own, which do not know what the route that starts one hides.
  function tellOfPolls(route: Route, label: string): void {
    if (typeof route.config?.operations !== 'object') return
    reporter.addException({
      plugin: 'fields',
      route: label.replace(' config.fields', ''),
      rules: ['hidden'],
      reason: 'polls of the operation that the route starts answer its result as the work returned it',
      unused: false,
    })
  }

  function addParameter(context: FastifyInstance, route: Route, own: Resolved): ReadParameter {
    const { querystring, query } = (route.schema ?? {}) as { querystring?: unknown; query?: unknown }
    const declared = querystring ?? query
    const complete: CompleteSchema = (schema) =>
      withFieldsParameter(schema, own.default ?? null, schemasOf(context))
    // Where no schema could refuse the parameter, there is nothing to compile: it is for the document alone.
    if (declared === undefined) described.push({ route, complete })
    else route.schema = complete(route.schema ?? {})
    return holdParameter(context, route, declared, 'fields')
  }

  function observe(context: FastifyInstance, route: Route, label: string, own: Resolved): void {
    const name = `${[route.method].flat().join(', ')} ${route.url}`
    const { response } = route.schema ?? {}
    const serialization = new RouteSerialization(context, response, name, route.serializerCompiler)
    const about = aboutOf(context, route, label, own)
    const fields = new RouteFields(about, own, serialization, () => undefined)
    const observer = new FieldsObserver(reporter, narrowsUnasked(own) ? fields : null, serialization)
    routes.push(fields)
    addHook(route, 'preHandler', 'fields', observer.observeRequest)
    if (narrowsUnasked(own)) addHook(route, 'preSerialization', 'fields', observer.observeAnswer)
    if (own.hidden !== undefined) addHook(route, 'onSend', 'fields', observer.observeSent)
  }
})

type Route = RouteOptions & { readonly path: string }

type Resolved = Required<FieldsOptions> & FieldsRouteOptions

/** What is known of response schemas: a GET route and the HEAD route that Fastify adds to it have the same. */
type Asked = WeakMap<object, { readonly path: string; readonly namesFields: boolean }>

/** Do requests without the parameter get less than all? */
function narrowsUnasked(own: Resolved): boolean {
  return own.default !== undefined || own.hidden !== undefined
}

/** A read selects; a write only hides. */
function isReadRoute(route: Route): boolean {
  return [route.method].flat().some(isRead)
}

/**
 * Whether the plugin has anything to do on a route: there is something to select from, or to hide. A route whose options
 * name fields is read again when all schemas are known, and then it has to have them.
 */
function concerns(app: FastifyInstance, route: Route, label: string, own: Resolved, asked: Asked): boolean {
  const reads = isReadRoute(route)
  if (!reads && own.default !== undefined)
    invalid(`${label}.default`, 'a route that answers GET: others select nothing', own.default)
  if (!reads && own.hidden === undefined) return false
  const response: unknown = route.schema?.response
  // A list is selected from by what its items have, where no schema says it.
  if (reads && isList(route) && !narrowsUnasked(own) && (response === undefined || isObjectSchema(response)))
    return !hasSerializerOfTheApp(app, route.serializerCompiler)
  if (isObjectSchema(response)) {
    if (narrowsUnasked(own) || typeof own.list === 'string') return true
    if (hasSerializerOfTheApp(app, route.serializerCompiler)) return false
    const known = asked.get(response)
    if (known?.path === route.path) return known.namesFields
    const answer = namesFields(response, listNames(app, route, own), schemasOf(app))
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

function aboutOf(app: FastifyInstance, route: Route, label: string, own: FieldsRouteOptions): AboutRoute {
  return { label, reads: isReadRoute(route), isList: isList(route), lists: listNames(app, route, own) }
}

function isList(route: Route): boolean {
  return typeof route.config?.lists === 'object'
}

// Where the items of a list may be: where the route says, or in the member that the path is named after.
function listNames(app: FastifyInstance, route: Route, own: FieldsRouteOptions): readonly string[] {
  if (own.list === null) return []
  if (own.list !== undefined) return [own.list]
  const { lists } = route.config ?? {}
  const declared = typeof lists === 'object' ? [lists.member ?? memberName(route.path, keyStyleOf(app))] : []
  const last = route.path.split('/').at(-1) ?? ''
  return [...declared, last.replaceAll('-', '_'), joinWords(wordsOf(last), 'camelCase'), last]
}

function checkHidden(label: string, received: unknown): Readonly<Record<string, true | IsHidden>> {
  if (typeof received !== 'object' || received === null || Array.isArray(received)) {
    return invalid(label, 'an object of true or predicates, by dot path', received)
  }
  for (const [path, hides] of Object.entries(received)) {
    if (hides !== true && typeof hides !== 'function')
      invalid(`${label}['${path}']`, 'true or a predicate', hides)
  }
  return Object.freeze({ ...received })
}
