import type {
  FastifyInstance,
  FastifyRequest,
  FastifySchema,
  FastifySchemaCompiler,
  RouteOptions,
} from 'fastify'
import { exactJson } from '../json/exact-json.js'
import type { Reporter } from '../report/report.js'
import { isSchemaObject, type Json, type SchemaStore } from '../schema/json-schema.js'
import {
  isProviderSchema,
  jsonSchemaOf,
  mapResponses,
  type SchemaDirection,
  type ToJsonSchema,
} from '../schema/provider-schema.js'
import { partsOf, propertiesOf, SchemaReader } from '../schema/reader.js'
import { mapBodies, queryOf } from '../schema/responses.js'
import { ownCompilers } from './internals.js'
import { appSlot } from './slots.js'

/** The function by which an app turns schemas of another library into JSON Schemas. */
export const schemaConverter = appSlot<ToJsonSchema>('toJsonSchema')

const inputs = ['body', 'params', 'querystring', 'query', 'headers'] as const

type Input = (typeof inputs)[number]
type Schemas = { readonly [Part in Input | 'response']?: unknown }

/** What is converted for a context, by what it was: the part of a schema, or all responses of a route. */
interface Conversions {
  readonly convert: ToJsonSchema | undefined
  readonly input: WeakMap<object, object>
  readonly output: WeakMap<object, object>
  readonly responses: WeakMap<object, unknown>
}

const conversionsOf = new WeakMap<RouteOptions, Conversions>()
const defaults = newConversions(undefined)
const byConverter = new WeakMap<ToJsonSchema, Conversions>()

function newConversions(convert: ToJsonSchema | undefined): Conversions {
  return { convert, input: new WeakMap(), output: new WeakMap(), responses: new WeakMap() }
}

/** Notes the context of a route, before a convention reads its schemas. */
export function noteRoute(
  app: FastifyInstance,
  route: RouteOptions,
  plugin: string,
  reporter: Reporter,
): void {
  if (!conversionsOf.has(route)) conversionsOf.set(route, conversionsIn(app))
  const isHead = [route.method].flat().join() === 'HEAD'
  if (route.schema === undefined || isHead || !readers.has(plugin)) return
  const unread = unreadParts(route)
  const reads = unread.includes('response') || (unread.length > 0 && plugin === 'integerTwins')
  if (reads) noteUnread(route, unread, plugin, reporter)
}

function conversionsIn(app: FastifyInstance): Conversions {
  const convert = schemaConverter.get(app)
  if (convert === undefined) return defaults
  const known = byConverter.get(convert) ?? newConversions(convert)
  byConverter.set(convert, known)
  return known
}

/**
 * The schemas of a route with JSON Schemas in the place of those of another library, where there are any: converted once.
 * Those that cannot be converted stay as they are.
 */
export function jsonSchemasOf(route: Pick<RouteOptions, 'schema'>): FastifySchema | undefined {
  const { schema } = route
  return schema && converted(schema, conversionsOf.get(route as RouteOptions) ?? defaults)
}

function converted(schema: FastifySchema, conversions: Conversions): FastifySchema {
  const given: Schemas = schema
  const changed: Partial<Record<Input | 'response', unknown>> = {}
  for (const name of inputs) {
    const part = given[name]
    const json = convertedInput(part, conversions)
    if (json !== part) changed[name] = json
  }
  const response = convertedResponse(given.response, conversions)
  if (response !== given.response) changed.response = response
  return Object.keys(changed).length === 0 ? schema : { ...schema, ...changed }
}

function convertedInput(part: unknown, conversions: Conversions): unknown {
  return isProviderSchema(part)
    ? convertedPart(part, 'input', conversions)
    : withContent(part, (schema) =>
        isProviderSchema(schema) ? convertedPart(schema, 'input', conversions) : schema,
      )
}

/** A body with other schemas of its media types; anything else as it is. */
function withContent(body: unknown, map: (schema: unknown) => unknown): unknown {
  const isContent = typeof body === 'object' && body !== null && 'content' in body
  return isContent ? (mapBodies({ body }, map) as { readonly body: unknown }).body : body
}

function convertedResponse(response: unknown, conversions: Conversions): unknown {
  if (typeof response !== 'object' || response === null) return response
  const known = conversions.responses.get(response)
  if (known !== undefined) return known
  const result = mapResponses(response, (schema) => convertedPart(schema, 'output', conversions))
  conversions.responses.set(response, result)
  return result
}

function convertedPart(schema: object, direction: SchemaDirection, conversions: Conversions): object {
  const known = conversions[direction].get(schema)
  if (known !== undefined) return known
  const json = jsonSchemaOf(schema, direction, conversions.convert) ?? schema
  conversions[direction].set(schema, json)
  return json
}

/** The JSON Schema of a schema of an app; the schema itself if it is one, or none can be made of it. */
export function jsonSchemaIn(app: FastifyInstance, schema: object, direction: SchemaDirection): object {
  return isProviderSchema(schema) ? convertedPart(schema, direction, conversionsIn(app)) : schema
}

/**
 * Keeps a route of this package from the compilers of the app, which may be for schemas of another library: its handler checks
 * what it reads, and its answers are written as they are. Without such compilers, Fastify's are used. Call it from an
 * `onRoute` hook; Fastify asks when the app gets ready.
 */
export function useOwnCompilers(app: FastifyInstance, route: RouteOptions): void {
  const serializer: RouteOptions['serializerCompiler'] = () => (document) =>
    exactJson(document, false) ?? 'null'
  Object.defineProperties(route, {
    validatorCompiler: { get: () => (ownCompilers(app).validator ? validator : undefined), set: ignore },
    serializerCompiler: { get: () => (ownCompilers(app).serializer ? serializer : undefined), set: ignore },
  })
}

/** Validates nothing but that a query has no other parameters than a closed schema names. */
const validator: FastifySchemaCompiler<FastifySchema> = ({ schema, httpPart }) => {
  const { additionalProperties, properties } = schema as {
    additionalProperties?: unknown
    properties?: object
  }
  if (httpPart !== 'querystring' || additionalProperties !== false) return () => true
  return (query: object) => {
    const others = Object.keys(query).filter((name) => !Object.hasOwn(properties ?? {}, name))
    if (others.length === 0) return true
    return {
      error: others.map((additionalProperty) => ({
        instancePath: '',
        schemaPath: '#/additionalProperties',
        keyword: 'additionalProperties',
        params: { additionalProperty },
        message: 'must NOT have additional properties',
      })),
    }
  }
}

function ignore(): void {}

/** The plugins that read response schemas. Of them, `integerTwins` reads schemas of requests, too. */
const readers: ReadonlySet<string> = new Set(['lists', 'responseRules', 'fields', 'integerTwins', 'formats'])

type Unread = Map<string, { readonly parts: readonly string[]; readonly plugins: Set<string> }>

const unreadOf = new WeakMap<Reporter, Unread>()

function unreadParts(route: RouteOptions): string[] {
  const json = (jsonSchemasOf(route) ?? {}) as Schemas
  const unread: string[] = inputs.filter((name) => isProviderSchema(json[name]))
  mapResponses(json.response, (schema) => {
    if (!unread.includes('response')) unread.push('response')
    return schema
  })
  return unread
}

function noteUnread(route: RouteOptions, parts: readonly string[], plugin: string, reporter: Reporter): void {
  const noted = unreadOf.get(reporter) ?? new Map()
  if (!unreadOf.has(reporter)) {
    unreadOf.set(reporter, noted)
    reporter.checkAtReady(() => reportUnread(noted, reporter))
  }
  const name = `${[route.method].flat().join(', ')} ${route.url}`
  const known = noted.get(name) ?? { parts, plugins: new Set() }
  known.plugins.add(plugin)
  noted.set(name, known)
}

function reportUnread(noted: Unread, reporter: Reporter): void {
  for (const [route, { parts, plugins }] of noted) {
    const problem = `${[...plugins].join(', ')} cannot read its schemas: no JSON Schema can be made of ${parts.join(', ')}`
    const instead = 'the option toJsonSchema, or JSON Schema'
    // The app may boot: what no convention can see into is left to the app.
    reporter.addFinding(
      { plugin: 'conventions', rule: 'schema', route, problem, instead, mode: 'report' },
      'none',
    )
  }
}

/** Query parameters of a convention. */
export interface OwnParameters {
  /** Takes them out of the query before it is validated; `null` where nothing validates it. */
  readonly take: ((request: FastifyRequest) => void) | null
  /** Returns one as the request has it; `undefined` if it has none. */
  read(request: FastifyRequest, name: string): unknown
}

/** Keeps query parameters of a convention out of the validation of the route. One that the route declares itself stays. */
export function ownParameters(
  app: FastifyInstance,
  route: RouteOptions,
  names: readonly string[],
): OwnParameters {
  const schema = queryOf(jsonSchemasOf(route) ?? {})
  if (schema === undefined) return { take: null, read: (request, name) => queryIn(request)[name] }
  const taken = new WeakMap<FastifyRequest, Record<string, unknown>>()
  let ours: readonly string[] | undefined
  return {
    take(request) {
      const query = queryIn(request)
      if (!names.some((name) => query[name] !== undefined)) return
      ours ??= names.filter((name) => !declaresParameter(app, schema, name))
      const own: Record<string, unknown> = {}
      for (const name of ours) {
        own[name] = query[name]
        Reflect.deleteProperty(query, name)
      }
      taken.set(request, own)
    },
    read: (request, name) => taken.get(request)?.[name] ?? queryIn(request)[name],
  }
}

/** Whether a query schema names a parameter, in whichever alternative. Call it when all shared schemas are known. */
export function declaresParameter(app: FastifyInstance, schema: unknown, name: string): boolean {
  if (!isSchemaObject(schema)) return false
  const reader = new SchemaReader(app.getSchemas() as SchemaStore, { onUnresolved: () => {} })
  return propertiesOf(partsOf(reader, [reader.absolute(schema as Json, schema as Json)])).has(name)
}

function queryIn({ query }: FastifyRequest): Record<string, unknown> {
  return typeof query === 'object' && query !== null ? (query as Record<string, unknown>) : {}
}
