import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import { bypassQueryValidation, declaresParameter } from '../../fastify/bypass-query-validation.js'
import { closingIfFails } from '../../fastify/failed-boot.js'
import { chosenFormat, readTypes } from '../../fastify/formats.js'
import { headSiblings } from '../../fastify/internals.js'
import { keyStyleOf } from '../../fastify/key-style.js'
import { type CompleteSchema, completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { hasValidatorOfTheApp, jsonSchemasOf } from '../../fastify/route-schemas.js'
import { RouteSerialization } from '../../fastify/serialization.js'
import type { SchemaStore } from '../../json-schema/json-schema.js'
import { memberName } from '../../json-schema/member-name.js'
import { isObject, resolveOptions, resolveRouteOptions } from '../../options.js'
import { routeDescriber } from '../../problem/route-description.js'
import { reporterOf } from '../../rules/report.js'
import { addBodyCountHook, addBodyHook, addCountHook, addResponseHooks, type RouteFormats } from './hooks.js'
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
  formatsChecks,
  formatsDefaults,
  formatsRouteChecks,
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
export const formats = conventionPlugin<FormatsOptions>('formats', function setUpFormats(app, received) {
  const { mode, parameter, formulas } = resolveOptions('formats', received, formatsChecks, formatsDefaults)
  const reporter = reporterOf(app)
  const isHeadSibling = headSiblings(app)
  const libraries: Libraries = { builder: null, parser: null, csv: null }
  const describe = routeDescriber(app)
  const described: [route: RouteOptions, complete: CompleteSchema][] = []
  const needed = new Set<Format | 'body'>()

  app.addHook('onRoute', function formatOnRoute(route) {
    const isSibling = isHeadSibling(route)
    const given = route.config?.formats
    if (given === undefined) return
    const name = `${[route.method].flat().join(', ')} ${route.path}`
    const options = resolveRouteOptions<FormatsRouteOptions, ResolvedFormats>(
      `${name} config.formats`,
      Array.isArray(given) ? { produces: given } : (given as FormatsRouteOptions | false),
      formatsRouteChecks,
      { mode, formulas, produces: [], body: false },
    )
    if (options === false || options.mode === 'off') return
    const labelled = { app: this, route, options, name }
    if (options.produces.length > 0) addResponses(labelled, isSibling)
    if (options.body && !isSibling) addBody(labelled)
  })

  function addResponses(formatted: FormattedRoute, isSibling: boolean): void {
    const { app: context, route, options } = formatted
    const { schema = {} } = route
    const declared = queryOf(schema)
    // Later, the schema is complete with the formats.
    const readable = jsonSchemasOf(route) ?? {}
    const negotiation = negotiationOf(options.produces)
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
        options.formulas,
        libraries,
      ),
    }
    const hooks: RouteFormats = { negotiation, parameter, reporter, writerOf: (format) => writers[format] }
    if (!isSibling) {
      reporter.checkAtReady(() => {
        addFinding(formatted, prepare().finding)
        if (declaresParameter(context, declared, parameter))
          addFinding(formatted, parameterFinding(parameter))
      })
    }
    if (options.mode === 'report') {
      addCountHook(route, hooks)
      return
    }
    for (const format of options.produces) needed.add(format)
    chosenFormat.declare(context)
    addResponseHooks(route, hooks)
    const complete = (one: FastifySchema): FastifySchema =>
      withFormatParameter(one, parameter, negotiation.names, () => context.getSchemas() as SchemaStore)
    if (declared !== undefined && !hasValidatorOfTheApp(context, route)) route.schema = complete(schema)
    // After the hook that reads the parameter.
    bypassQueryValidation(context, route, declared, parameter, 'formats')
    if (isSibling) return
    described.push([route, (one) => withMediaTypes(complete(one), options.produces, prepare().root)])
    describe(route, describeChoice(options.produces))
  }

  function addBody(formatted: FormattedRoute): void {
    const { app: context, route, options } = formatted
    const declared = jsonSchemasOf(route)?.body
    let place: XmlPlace | null = null
    reporter.checkAtReady(() => {
      const read = prepareBody([route.method].flat(), declared, context.getSchemas() as SchemaStore)
      if ('kind' in read) place = read
      else addFinding(formatted, read)
    })
    if (options.mode === 'report') {
      addBodyCountHook(route, reporter)
      return
    }
    needed.add('body')
    readTypes.set(route, mediaTypesOf.xml)
    addBodyHook(route, (xml) => {
      if (place === null || libraries.parser === null) throw new TypeError('the app is not ready')
      return jsonOfXml(xml, place, libraries.parser)
    })
    described.push([route, withXmlBody])
    describe(route, describeXmlBody)
  }

  function addFinding({ options, name: route }: FormattedRoute, finding: FormatsFinding | null): void {
    if (options.mode === 'off' || finding === null) return
    const [rule, problem, instead] = finding
    reporter.addFinding({ plugin: 'formats', rule, route, problem, instead, mode: options.mode })
  }

  app.addHook('onReady', async function loadFormats() {
    for (const [route, complete] of described) completeWhenRead(route, complete)
    await closingIfFails(app, () => loadLibraries(libraries, needed))
  })
})

interface FormattedRoute {
  readonly app: FastifyInstance
  readonly route: RouteOptions & { readonly path: string }
  readonly options: ResolvedFormats
  /** Method and path pattern. */
  readonly name: string
}

/** Reads the schemas of a route, once all shared schemas are known. */
function factsOf({ app, route, options, name }: FormattedRoute, { response }: FastifySchema): RouteFacts {
  const serialization = new RouteSerialization(app, response, name, route.serializerCompiler)
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
