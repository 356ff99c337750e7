import type { FastifyInstance, FastifyPluginAsync, FastifyRequest, RouteOptions } from 'fastify'
import { keyStyleOf } from '../../convention/contexts.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { isRead } from '../../convention/exchange.js'
import { ownCompilers } from '../../convention/internals.js'
import { offerNames } from '../../convention/offer-names.js'
import { jsonSchemasOf } from '../../convention/route-schemas.js'
import { type FieldSelection, ownParameters, selectionOf } from '../../convention/selection.js'
import { RouteSerialization, serializationOf } from '../../convention/serialization.js'
import { invalid } from '../../options.js'
import { loadAjv } from '../../schema/alternatives.js'
import type { SchemaStore } from '../../schema/json-schema.js'
import { isObjectSchema } from '../../schema/responses.js'
import { joinWords, memberName, wordsOf } from '../../words/words.js'
import { type RouteFacts, routeFields, selectSteps } from './hooks.js'
import { describeSelection, documentFields, namesFields } from './openapi.js'
import {
  type FieldsOptions,
  type FieldsRouteOptions,
  fieldsOptions,
  fieldsRouteOptions,
  narrowsUnasked,
  refuseNames,
} from './options.js'

export type { FieldSelection } from '../../convention/selection.js'
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
 * Field selection: `GET ...?fields=name,address.city` answers just those fields, of an item or of each item of a list. The names are those of the route's response schema; projection is compiled from it, so a
 * selection can only narrow what the schema allows. Routes whose response schema names no fields are left alone.
 *
 * `request.fields` gives the handler the selected fields. Unknown names are a 400 problem `fields-invalid`.
 *
 * Not for clients that need a shape of their own: a selection has no aliases, no arguments and no joins.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration, and
 * FST_CONV_OPTION_INVALID when the app gets ready, for a default or hidden field that the schema does not have
 */
export const fields: FastifyPluginAsync<FieldsOptions & RegistrationOptions> = convention({
  name: 'fields',
  rules: ['projection', 'hidden'],
  options: fieldsOptions,
  routeOptions: fieldsRouteOptions,
  async setUp({ app, options: { mode } }) {
    await loadAjv()
    offerNames(app, { plugin: 'fields', mode, owner: 'request', members: { fields: { get: fieldsOf } } })
  },
  route({ app, name, methods, route, options, atReady, exclude }) {
    if (route === null || options.mode === 'off') return undefined
    const facts = factsOf(app, route, methods, `${name} config.fields`)
    if (!concerns(app, route, facts, options)) return undefined
    const isOfTheApp = () => ownCompilers(app).replySerializer
    // The app may set it after the route.
    atReady(() => {
      if (isOfTheApp()) exclude('setReplySerializer() writes the responses', ['projection'])
    })
    if (isOfTheApp() && !narrowsUnasked(options)) return undefined
    const isReport = options.mode === 'report'
    const serialization = isReport ? new RouteSerialization(app, route) : serializationOf(app, route)
    const fields = routeFields(facts, options, serialization)
    const parameters = ownParameters(app, route, facts.reads ? ['fields'] : [])
    const steps = selectSteps(fields, options, serialization, parameters)
    if (narrowsUnasked(options)) atReady(fields.prepare)
    if (isReport) return { preHandler: steps.preHandler }
    // Operations have routes of their own, which do not know what the route that starts one hides.
    if (options.hidden !== undefined && typeof route.config?.operations === 'object') {
      exclude('polls of the operation that the route starts answer its result as the work returned it', [
        'hidden',
      ])
    }
    return {
      ...steps,
      serialization: serialization.serialize,
      describe: facts.reads ? describeSelection : undefined,
      document: documentFields(options, facts, fields.hiddenIn),
    }
  },
})

function fieldsOf(this: FastifyRequest): FieldSelection | null {
  return selectionOf(this)?.ofHandler(this) ?? null
}

type Route = RouteOptions & { readonly path: string }

/** Whether the plugin has anything to do on a route: there is something to select from, or to hide. */
function concerns(
  app: FastifyInstance,
  route: Route,
  { label, reads, isList, lists }: RouteFacts,
  own: FieldsRouteOptions,
): boolean {
  if (!reads && own.default !== undefined)
    invalid(`${label}.default`, 'a route that answers GET: others select nothing', own.default)
  const response: unknown = jsonSchemasOf(route)?.response
  if (!isObjectSchema(response)) refuseNames(label, own, 'a route with response schemas')
  if (narrowsUnasked(own)) return true
  if (!reads) return false
  // Without a response schema, a list is selected by the members of its items.
  if (response === undefined) return isList
  if (!isObjectSchema(response)) return false
  return isList || namesFields(response, lists, () => app.getSchemas() as SchemaStore)
}

function factsOf(app: FastifyInstance, route: Route, methods: readonly string[], label: string): RouteFacts {
  const { lists } = route.config ?? {}
  const list = lists === true ? {} : typeof lists === 'object' ? lists : null
  const [, last] = /\/([^/:*]+)$/.exec(route.path) ?? []
  return {
    label,
    reads: methods.some(isRead),
    isList: list !== null,
    lists: [
      ...(list === null ? [] : [list.member ?? memberName(route.path, keyStyleOf(app))]),
      ...(last === undefined ? [] : [last.replaceAll('-', '_'), joinWords(wordsOf(last), 'camelCase'), last]),
    ],
  }
}
