import type { FastifyPluginAsync, FastifySchema, RouteOptions } from 'fastify'
import { convention, type RouteContext } from '../../convention/convention.js'
import { keyStyleOf } from '../../fastify/context.js'
import { closingIfFails } from '../../fastify/failed-boot.js'
import { chosenFormat, readTypes, refuseFormat } from '../../fastify/formats.js'
import { declaresParameter, ownParameters } from '../../fastify/own-parameters.js'
import { jsonSchemasOf } from '../../fastify/route-schemas.js'
import type { RegistrationOptions } from '../../fastify/route-watch.js'
import { RouteSerialization } from '../../fastify/serialization.js'
import type { SchemaStore } from '../../json-schema/json-schema.js'
import { memberName } from '../../json-schema/member-name.js'
import { isObject } from '../../options.js'
import { choiceOf, chooseFormat, notInFormats, type RouteFormats, readXml, writeFormat } from './hooks.js'
import { mediaTypesOf, negotiationOf } from './negotiation.js'
import {
  describeChoice,
  describeXmlBody,
  withFormatParameter,
  withMediaTypes,
  withXmlBody,
} from './openapi.js'
import {
  type Format,
  type FormatsOptions,
  type FormatsRouteOptions,
  formatsOptions,
  formatsRouteOptions,
  type ResolvedFormats,
} from './options.js'
import {
  type FormatsFinding,
  type PreparedResponses,
  parameterFinding,
  prepareBody,
  prepareResponses,
  type RouteFacts,
} from './prepare.js'
import { csvWriter, type Libraries, loadLibraries, xmlWriter } from './route-writers.js'
import { jsonOfXml, type XmlPlace } from './xml-body.js'

export type { Format, FormatsOptions, FormatsRouteOptions } from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Formats of this route besides JSON: of its responses, as an array, or with options; `false` for none. */
    formats?: readonly Format[] | FormatsRouteOptions | false
  }
}

/**
 * XML and CSV beside JSON, on routes that opt in with `config.formats`. The query parameter `format` has precedence over
 * `Accept`, and `Accept` decides without it (RFC 9110 §12.5.1). Both formats are made of the JSON of the response, so they
 * have the selected fields, the twins and all digits of numbers. Each format has entity tags of its own. Errors stay
 * problem documents.
 *
 * XML needs the package `fast-xml-parser`, CSV needs `csv-stringify`. They are loaded when the app gets ready, if a route
 * needs them.
 *
 * Not for large exports: the JSON of the whole response is in memory.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS, FST_CONV_PACKAGE_MISSING when the app gets ready
 */
export const formats: FastifyPluginAsync<FormatsOptions & RegistrationOptions> = convention({
  name: 'formats',
  rules: ['parameter', 'csv', 'body'],
  arrayOption: 'produces',
  options: formatsOptions,
  routeOptions: formatsRouteOptions,
  setUp({ app }) {
    const libraries: Libraries = { builder: null, parser: null, csv: null }
    const needed = new Set<Format | 'body'>()
    app.addHook('onReady', () => closingIfFails(app, () => loadLibraries(libraries, needed)))
    return { libraries, needed }
  },
  route(context) {
    const { route, isConfigured, options, isHeadSibling } = context
    if (route === null || !isConfigured || options.mode === 'off') return undefined
    const formatted: FormattedRoute = { ...context, route }
    const { produces = [], body = false } = options
    const responses = produces.length > 0 ? planResponses(formatted, produces) : null
    const bodies = body && !isHeadSibling ? planBody(formatted) : null
    const isDescribed = options.mode === 'enforce' && !isHeadSibling
    return {
      ...responses?.steps,
      ...bodies?.steps,
      ...(isDescribed && {
        describe: [...(responses ? [describeChoice(produces)] : []), ...(bodies ? [describeXmlBody] : [])],
        complete: (schema: FastifySchema) => {
          const complete = responses === null ? schema : responses.complete(schema)
          return bodies === null ? complete : withXmlBody(complete)
        },
      }),
    }
  },
})

type FormattedRoute = RouteContext<
  ResolvedFormats,
  FormatsFinding[0],
  { readonly libraries: Libraries; readonly needed: Set<Format | 'body'> }
> & { readonly route: RouteOptions & { readonly path: string } }

function planResponses(formatted: FormattedRoute, produces: readonly Format[]) {
  const { app, route, options, state, atReady, addFinding } = formatted
  const { libraries, needed } = state
  const { parameter, formulas, mode } = options
  const { schema = {} } = route
  const declared = queryOf(schema)
  // Later, the schema is complete with the formats.
  const readable = jsonSchemasOf(route) ?? {}
  const negotiation = negotiationOf(produces)
  let prepared: PreparedResponses | undefined
  const prepare = (): PreparedResponses => {
    prepared ??= prepareResponses(factsOf(formatted, readable))
    return prepared
  }
  const writers = {
    xml: xmlWriter(() => prepare().root, libraries),
    csv: csvWriter(
      () => prepare().collection,
      () => prepare().list,
      formulas,
      libraries,
    ),
  }
  atReady(() => {
    const { finding } = prepare()
    if (finding !== null) addFinding(...finding)
    if (declaresParameter(app, declared, parameter)) addFinding(...parameterFinding(parameter))
  })
  const complete = (one: FastifySchema): FastifySchema =>
    withFormatParameter(one, parameter, negotiation.names, () => app.getSchemas() as SchemaStore)
  const formats: RouteFormats = { negotiation, parameter, writerOf: (format) => writers[format] }
  if (mode === 'report') return { steps: { preValidation: chooseFormat(formats) }, complete }
  for (const format of produces) needed.add(format)
  chosenFormat.declare(app)
  // Before other hooks, where the plugin `problems` checks `Accept`.
  refuseFormat.set(route, (request) =>
    choiceOf(request, formats) === null ? notInFormats(request, formats) : null,
  )
  const { take } = ownParameters(app, route, [parameter])
  return {
    steps: { preValidation: chooseFormat(formats, take), onSend: writeFormat(formats) },
    complete: (one: FastifySchema) => withMediaTypes(complete(one), produces, prepare().root),
  }
}

function planBody({ app, route, methods, options, state, atReady, addFinding }: FormattedRoute) {
  const { libraries, needed } = state
  const declared = jsonSchemasOf(route)?.body
  let place: XmlPlace | null = null
  atReady(() => {
    const read = prepareBody(methods, declared, app.getSchemas() as SchemaStore)
    if ('kind' in read) place = read
    else addFinding(...read)
  })
  if (options.mode === 'report') return { steps: { preParsing: readXml(null) } }
  needed.add('body')
  readTypes.set(route, mediaTypesOf.xml)
  const toJson = (xml: string): string => {
    if (place === null || libraries.parser === null) throw new TypeError('the app is not ready')
    return jsonOfXml(xml, place, libraries.parser)
  }
  return { steps: { preParsing: readXml(toJson) } }
}

/** Reads the schemas of a route, once all shared schemas are known. */
function factsOf({ app, route, options }: FormattedRoute, { response }: FastifySchema): RouteFacts {
  const serialization = new RouteSerialization(app, route, response)
  // For the columns of twins: nothing is written with it.
  serialization.twins = true
  serialization.prepare()
  const { lists } = route.config ?? {}
  return {
    options,
    response,
    answer: serialization.shapesOf([200])[0],
    collection: memberName(route.path, keyStyleOf(app)),
    member: isObject(lists) && typeof lists.member === 'string' ? lists.member : null,
    shared: app.getSchemas() as SchemaStore,
  }
}

function queryOf(schema: FastifySchema): unknown {
  const { querystring, query } = schema as { readonly querystring?: unknown; readonly query?: unknown }
  return querystring ?? query
}
