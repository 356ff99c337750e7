import type { FastifyInstance, FastifySchema, FastifySchemaCompiler, RouteOptions } from 'fastify'
import { exactJson } from '../json/exact-json.js'
import { kept } from '../kept.js'
import type { Reporter } from '../report/report.js'
import type { SchemaStore } from '../schema/json-schema.js'
import {
  isProviderSchema,
  jsonSchemaOf,
  mapResponses,
  type SchemaDirection,
  type ToJsonSchema,
} from '../schema/provider-schema.js'
import { SchemaReader } from '../schema/reader.js'
import { ownCompilers } from './internals.js'
import { appSlot } from './slots.js'

/** The function by which an app turns schemas of another library into JSON Schemas. */
export const schemaConverter = appSlot<ToJsonSchema>('toJsonSchema')

const inputs = ['body', 'params', 'querystring', 'query', 'headers'] as const
const parts = [...inputs, 'response'] as const

type Schemas = { readonly [Part in (typeof parts)[number]]?: unknown }

interface Conversions {
  readonly convert: ToJsonSchema | undefined
  readonly input: WeakMap<object, object>
  readonly output: WeakMap<object, object>
  /** The schemas of routes, and their parts as they were: an app may change them in place. */
  readonly routes: WeakMap<object, { readonly given: Schemas; readonly json: FastifySchema }>
}

const conversionsOf = new WeakMap<RouteOptions, Conversions>()
const defaults = newConversions(undefined)
const byConverter = new WeakMap<ToJsonSchema, Conversions>()

function newConversions(convert: ToJsonSchema | undefined): Conversions {
  return { convert, input: new WeakMap(), output: new WeakMap(), routes: new WeakMap() }
}

/** Notes the context of a route, before a convention reads its schemas. */
export function noteRoute(app: FastifyInstance, route: RouteOptions): void {
  if (!conversionsOf.has(route)) conversionsOf.set(route, conversionsIn(app))
}

function conversionsIn(app: FastifyInstance): Conversions {
  const convert = schemaConverter.get(app)
  if (convert === undefined) return defaults
  return kept(byConverter, convert, () => newConversions(convert))
}

/**
 * The schemas of a route with JSON Schemas in the place of those of another library, where there are any: converted once.
 * Those that cannot be converted stay as they are.
 */
export function jsonSchemasOf(route: Pick<RouteOptions, 'schema'>): FastifySchema | undefined {
  const { schema } = route
  if (schema === undefined) return undefined
  const conversions = conversionsOf.get(route as RouteOptions) ?? defaults
  const known = conversions.routes.get(schema)
  if (known !== undefined && parts.every((name) => known.given[name] === (schema as Schemas)[name])) {
    return known.json
  }
  const json = converted(schema, conversions)
  conversions.routes.set(schema, { given: { ...schema }, json })
  return json
}

function converted(given: Schemas, conversions: Conversions): FastifySchema {
  let changed: Schemas | null = null
  for (const name of parts) {
    const part = given[name]
    if (part === undefined) continue
    const json = convertedSchemas(name, part, conversions)
    if (json !== part) changed = Object.assign(changed ?? {}, { [name]: json })
  }
  return changed === null ? given : { ...given, ...changed }
}

function convertedSchemas(name: keyof Schemas, part: unknown, conversions: Conversions): unknown {
  const direction = name === 'response' ? 'output' : 'input'
  const convert = (schema: object) => convertedPart(schema, direction, conversions)
  if (name === 'response') return mapResponses(part, convert)
  // A body may have a schema for each media type, as a response.
  return isProviderSchema(part) ? convert(part) : mapResponses({ part }, convert).part
}

function convertedPart(schema: object, direction: SchemaDirection, conversions: Conversions): object {
  return kept(
    conversions[direction],
    schema,
    () => jsonSchemaOf(schema, direction, conversions.convert) ?? schema,
  )
}

/** Returns a reader of the schemas of an app that reads a reference to nothing as `true`. Call it when all are known. */
export function readerOf(app: FastifyInstance): SchemaReader {
  return new SchemaReader(app.getSchemas() as SchemaStore, () => {})
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

/** Adds a finding where plugins would read schemas of a route of which no JSON Schema can be made. */
export function findUnread(
  route: RouteOptions,
  name: string,
  plugins: readonly string[],
  reporter: Reporter,
): void {
  if (route.schema === undefined || [route.method].flat().join() === 'HEAD') return
  const json = (jsonSchemasOf(route) ?? {}) as Schemas
  const unread = new Set<string>(inputs.filter((part) => isProviderSchema(json[part])))
  mapResponses(json.response, (schema) => {
    unread.add('response')
    return schema
  })
  if (unread.size === 0) return
  const readBy = plugins.filter(
    (plugin) => readers.has(plugin) && (plugin === 'integerTwins' || unread.has('response')),
  )
  if (readBy.length === 0) return
  const problem = `${readBy.join(', ')} cannot read its schemas: no JSON Schema can be made of ${[...unread].join(', ')}`
  const instead = 'the option toJsonSchema, or JSON Schema'
  const finding = { plugin: 'conventions', rule: 'schema', route: name, problem, instead } as const
  // The app may boot: what no convention can see into is left to the app.
  reporter.addFinding({ ...finding, mode: 'report' }, 'none')
}
