import { kept } from '../kept.js'
import {
  isPlainObject,
  type Json,
  mapSchema,
  type SchemaObject,
  type SchemaStore,
  schemaList,
} from './json-schema.js'
import { SchemaReader } from './reader.js'

/** An OpenAPI document (OpenAPI 3.0 or 3.1) whose operations are completed. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly servers?: readonly {
    readonly url: string
    readonly variables?: Readonly<Record<string, Variable>>
  }[]
  readonly paths?: Readonly<Record<string, Record<string, Operation>>>
  components?: Partial<Record<ComponentKind, Record<string, Json>>> & {
    securitySchemes?: Record<string, { readonly type?: string }>
  }
}

export type ComponentKind = 'schemas' | 'responses' | 'headers' | 'parameters'

export type Reference = { readonly $ref: string }

interface Variable {
  readonly default: string
}

export interface Operation {
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required?: boolean; readonly content?: Content }
  readonly responses?: Readonly<Record<string, OpenApiResponse>>
  readonly security?: readonly object[]
  readonly [member: string]: unknown
}

/** A parameter, or the reference to one. */
export interface Parameter {
  readonly $ref?: string
  readonly in?: string
  readonly name?: string
  readonly required?: boolean
  readonly description?: string
  readonly schema?: Json
}

/** A response, or the reference to one. */
export interface OpenApiResponse {
  readonly $ref?: string
  readonly description?: string
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: Content
}

export type Content = Readonly<Record<string, MediaType>>

export interface MediaType {
  readonly schema?: Json
  readonly example?: Json
  readonly examples?: Readonly<Record<string, { readonly value?: Json }>>
}

export type DescribedSchema = Readonly<Record<string, unknown>> & { readonly description?: string }

/** What the completion of an operation reads: the document, and the schemas that it refers to. */
export interface OpenApi {
  readonly document: OpenApiDocument
  readonly reader: SchemaReader
  /** Whether a schema has no list of types. */
  readonly is30: boolean
  /** Adds a component, unless an equal one is added already. Returns the reference to it. */
  refer(kind: ComponentKind, name: string, component: object): Reference
}

/** Completes an operation. What the app has written stays. */
export type DocumentOperation = (operation: Operation, openapi: OpenApi) => Operation

/** Returns how a document is completed; `null` for one of Swagger 2. */
export function openApiOf(document: object): OpenApi | null {
  const { openapi } = document as Partial<OpenApiDocument>
  if (typeof openapi !== 'string') return null
  // A reference such as `#/components/schemas/User` leads into the document without a name.
  const reader = new SchemaReader({ '': document } as SchemaStore, () => {})
  const completed = document as OpenApiDocument
  return { document: completed, reader, is30: openapi.startsWith('3.0'), refer: componentsOf(completed) }
}

const numbered = /^def-\d+$/
const ofNumbered = /^#\/components\/schemas\/(def-\d+)(?=\/|$)/

/** Names the schemas that @fastify/swagger has numbered, `def-0`, by their titles, which are their `$id` by default. */
export function nameSchemas(document: OpenApiDocument): void {
  const { schemas = {} } = document.components ?? {}
  const names = new Map<string, string>()
  for (const [name, schema] of Object.entries(schemas)) {
    const { title = '' } = schema as { readonly title?: unknown }
    const wanted = String(title).replace(/[^\w.-]+/g, '-')
    if (numbered.test(name) && wanted !== '')
      names.set(name, freeName(wanted, [...names.values(), ...Object.keys(schemas)]))
  }
  if (names.size === 0) return
  const renamed = (value: unknown): unknown => {
    if (typeof value === 'string')
      return value.replace(ofNumbered, (all, name: string) => all.replace(name, names.get(name) ?? name))
    if (Array.isArray(value)) return value.map(renamed)
    if (!isPlainObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, renamed(one)]))
  }
  for (const [part, value] of Object.entries(document)) Object.assign(document, { [part]: renamed(value) })
  const components = Object.entries(document.components?.schemas ?? {})
  document.components = {
    ...document.components,
    schemas: Object.fromEntries(components.map(([name, schema]) => [names.get(name) ?? name, schema])),
  }
}

function freeName(wanted: string, taken: readonly string[]): string {
  let [free, count] = [wanted, 1]
  while (taken.includes(free)) free = `${wanted}${++count}`
  return free
}

function componentsOf(document: OpenApiDocument): OpenApi['refer'] {
  const added = new Map<string, Reference>()
  return function refer(kind, name, component) {
    return kept(added, `${kind} ${name} ${JSON.stringify(component)}`, () => {
      const components = document.components?.[kind] ?? {}
      document.components = { ...document.components, [kind]: components }
      // A convention may describe one status in several ways.
      const free = freeName(name, Object.keys(components))
      components[free] = structuredClone(component) as Json
      return { $ref: `#/components/${kind}/${free}` }
    })
  }
}

/** Returns the operation of a route, with the object that has it; `null` if the document has none, as of a hidden route. */
export function operationOf(
  { paths = {}, servers = [] }: OpenApiDocument,
  method: string,
  url: string,
): { readonly item: Record<string, Operation>; readonly operation: Operation } | null {
  // As @fastify/swagger writes it: without the paths of the servers.
  const path = servers.reduce((rest, server) => {
    const base = pathOfServer(server)
    return base !== '/' && rest.startsWith(base) ? rest.replace(base, '') : rest
  }, url)
  for (const one of [path, url]) {
    const item = paths[one.replace(parameters, writeParameter)]
    const operation = item?.[method.toLowerCase()]
    if (item !== undefined && operation !== undefined) return { item, operation }
  }
  return null
}

function pathOfServer({ url, variables }: NonNullable<OpenApiDocument['servers']>[number]): string {
  const resolved = url.replace(/\{([^{}]+)\}/g, (_, name: string) => variables?.[name]?.default ?? '')
  return new URL(resolved, 'http://localhost').pathname
}

// A parameter may have a regular expression: `:id(^\\d+$)`.
const parameters = /::|:(\w+)(?:\((?:[^()]|\([^()]*\))*\))?|\*/g

function writeParameter(found: string, name: string | undefined): string {
  return found === '::' ? ':' : `{${name ?? found}}`
}

/** Adds parameters of the query, unless the operation has them. */
export function withQuery(operation: Operation, added: Readonly<Record<string, DescribedSchema>>): Operation {
  const { parameters = [] } = operation
  const has = (name: string): boolean => parameters.some((one) => one.in === 'query' && one.name === name)
  const others = Object.entries(added)
    .filter(([name]) => !has(name))
    .map(([name, { description, ...schema }]) => ({
      in: 'query',
      name,
      ...(description !== undefined && { description }),
      schema: schema as Json,
    }))
  return others.length === 0 ? operation : { ...operation, parameters: [...parameters, ...others] }
}

export function mapResponseSchemas(
  operation: Operation,
  statuses: RegExp,
  map: (schema: Json) => Json,
): Operation {
  return mapResponses(operation, statuses, (content) => mapContent(content, map))
}

export function mapResponses(
  operation: Operation,
  statuses: RegExp,
  map: (content: Content, status: string) => Content,
): Operation {
  const responses = Object.entries(operation.responses ?? {}).map(([status, response]) => [
    status,
    statuses.test(status) && response.content !== undefined
      ? { ...response, content: map(response.content, status) }
      : response,
  ])
  return { ...operation, responses: Object.fromEntries(responses) }
}

export function mapContent(content: Content, map: (schema: Json) => Json): Content {
  return Object.fromEntries(
    Object.entries(content).map(([type, body]) => [
      type,
      body.schema === undefined ? body : { ...body, schema: map(body.schema) },
    ]),
  )
}

/** Returns a schema without lists of types, which OpenAPI 3.0 does not have. */
export function in30(schema: Json): Json {
  return mapSchema(schema, ({ type, ...one }) => {
    if (!Array.isArray(type)) return type === undefined ? one : { type, ...one }
    const nullable = type.includes('null') ? { nullable: true } : {}
    const others = type.filter((name) => name !== 'null').map((name) => ({ type: name, ...nullable }))
    return others.length === 1 ? { ...others[0], ...one } : { ...one, anyOf: others }
  })
}

/** Fastify validates an absent body as `null`; @fastify/swagger says of each body that it is required. */
export function withOptionalBody(operation: Operation, reader: SchemaReader): Operation {
  const { requestBody } = operation
  const contents = Object.values(requestBody?.content ?? {})
  const isOptional = contents.length > 0 && contents.every(({ schema = {} }) => allowsNull(reader, schema, 0))
  return isOptional ? { ...operation, requestBody: { ...requestBody, required: false } } : operation
}

const maxDepth = 10

function allowsNull(reader: SchemaReader, schema: Json, depth: number): boolean {
  if (schema === false || depth > maxDepth) return false
  const { parts, groups } = reader.read(schema)
  return (
    parts.every(ownKeywordsAllowNull) &&
    groups.every((group) => group.some((one) => allowsNull(reader, one.schema, depth + 1)))
  )
}

function ownKeywordsAllowNull({ type, nullable, enum: values, const: value, not }: SchemaObject): boolean {
  const isOfType = type === undefined || nullable === true || [type].flat().includes('null')
  const isValue = (values === undefined || schemaList(values).includes(null)) && (value ?? null) === null
  return isOfType && isValue && not === undefined
}
