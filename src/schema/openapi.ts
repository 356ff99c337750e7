import { type Json, mapSchema, type SchemaObject, type SchemaStore, schemaList } from './json-schema.js'
import { SchemaReader } from './reader.js'

/** An OpenAPI document (OpenAPI 3.0 or 3.1) whose operations are completed. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly servers?: readonly {
    readonly url: string
    readonly variables?: Readonly<Record<string, Variable>>
  }[]
  readonly paths?: Readonly<Record<string, Record<string, Operation>>>
  components?: {
    schemas?: Record<string, Json>
    securitySchemes?: Record<string, { readonly type?: string }>
  }
}

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

export interface Parameter {
  readonly in: string
  readonly name: string
  readonly required?: boolean
  readonly description?: string
  readonly schema?: Json
}

export interface OpenApiResponse {
  readonly description?: string
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: Content
}

export type Content = Readonly<Record<string, { readonly schema?: Json }>>

export type DescribedSchema = Readonly<Record<string, unknown>> & { readonly description?: string }

/** What the completion of an operation reads: the document, and the schemas that it refers to. */
export interface OpenApi {
  readonly document: OpenApiDocument
  readonly reader: SchemaReader
  /** Whether a schema has no list of types. */
  readonly is30: boolean
}

/** Completes an operation. What the app has written stays. */
export type DocumentOperation = (operation: Operation, openapi: OpenApi) => Operation

/** Returns how a document is completed; `null` for one of Swagger 2. */
export function openApiOf(document: object): OpenApi | null {
  const { openapi } = document as Partial<OpenApiDocument>
  if (typeof openapi !== 'string') return null
  // A reference such as `#/components/schemas/User` leads into the document without a name.
  const reader = new SchemaReader({ '': document } as SchemaStore, { onUnresolved: () => {} })
  return { document: document as OpenApiDocument, reader, is30: openapi.startsWith('3.0') }
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

/** Adds parameters of the query or of the header, unless the operation has them. */
export function withParameters(
  operation: Operation,
  place: 'query' | 'header',
  added: Readonly<Record<string, DescribedSchema>>,
  required: readonly string[] = [],
): Operation {
  const { parameters = [] } = operation
  const nameOf = (name: string): string => (place === 'header' ? name.toLowerCase() : name)
  const names = new Set(parameters.filter((one) => one.in === place).map(({ name }) => nameOf(name)))
  const others = Object.entries(added)
    .filter(([name]) => !names.has(nameOf(name)))
    .map(([name, { description, ...schema }]) => ({
      in: place,
      name,
      ...(required.includes(name) && { required: true }),
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
  const responses = Object.entries(operation.responses ?? {}).map(([status, response]) => [
    status,
    statuses.test(status) && response.content !== undefined
      ? { ...response, content: mapContent(response.content, map) }
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
