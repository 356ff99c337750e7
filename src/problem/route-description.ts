import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import { completeDocuments } from '../fastify/internals.js'
import { completeAtEnd } from '../fastify/lazy-route-schema.js'
import {
  isPlainObject,
  isSchemaObject,
  type Json,
  type SchemaObject,
  schemaList,
} from '../json-schema/json-schema.js'
import { isObjectSchema } from '../json-schema/query-schema.js'
import { type ProblemCode, problemTypes } from './problem-error.js'
import { declareProblemSchema, problemContent } from './problem-schema.js'

export type DescribedHeaders = Readonly<Record<string, object>>

export interface DescribedProblem {
  readonly code: string
  readonly status: number
  /** When it occurs. */
  readonly description: string
}

export interface RouteDescription {
  /** Header fields of successful responses with content, but of a 202, whose result is yet to come. */
  readonly headers?: DescribedHeaders
  /** Header fields of all responses. */
  readonly allHeaders?: DescribedHeaders
  /** Header fields of the responses of a status. */
  readonly headersOf?: Readonly<Record<number, DescribedHeaders>>
  /** Responses without content, such as 304, each with its description. */
  readonly statuses?: Readonly<Record<number, string>>
  readonly problems?: readonly DescribedProblem[]
  /** Whether the problems of the route are complete: no other code can occur. */
  readonly isComplete?: boolean
  /** Header fields of the request. */
  readonly parameters?: Readonly<Record<string, DescribedParameter>>
}

interface DescribedParameter {
  readonly schema: object
  readonly isRequired?: boolean
}

export function problemsOf(
  descriptions: Readonly<Partial<Record<ProblemCode, string>>>,
): readonly DescribedProblem[] {
  return Object.entries(descriptions).map(([code, description]) => ({
    code,
    status: problemTypes[code as ProblemCode].status,
    description,
  }))
}

export function describeRoute(route: RouteOptions, describe: RouteDescription | DescribeRoute): void {
  const description = described.get(route) ?? { parts: [], all: [] }
  described.set(route, description)
  description.parts.push(describe)
  completeAtEnd(route, (schema) => {
    description.all = description.parts.map((one) => (typeof one === 'function' ? one(schema) : one))
    return withDescriptions(schema, description.all)
  })
}

/** Returns a description that depends on the schema of the route, which other completions have completed. */
type DescribeRoute = (schema: FastifySchema) => RouteDescription

interface Described {
  readonly parts: (RouteDescription | DescribeRoute)[]
  /** Those of `parts`, once the schema has been read. */
  all: readonly RouteDescription[]
}

export function routeDescriber(app: FastifyInstance): typeof describeRoute {
  const routes: Parameters<typeof describeRoute>[] = []
  app.addHook('onReady', function describeRoutes(done) {
    if (routes.length > 0) completeDocuments(app, tellOptionalBodies)
    for (const [route, describe] of routes.splice(0)) describeRoute(route, describe)
    done()
  })
  return (route, describe) => {
    declareProblemSchema(app)
    routes.push([route, describe])
  }
}

/** Whether a route is described to answer a problem. Call it when the app is ready. */
export function isDescribed(route: RouteOptions, status: number, code: string): boolean {
  // Read, so that the descriptions are known.
  const problems =
    route.schema === undefined ? [] : described.get(route)?.all.flatMap((one) => one.problems ?? [])
  return problems?.some((one) => one.status === status && one.code === code) === true
}

const described = new WeakMap<RouteOptions, Described>()

export function withDescriptions(schema: FastifySchema, all: readonly RouteDescription[]): FastifySchema {
  return { ...schema, ...parametersOf(schema, all), ...responsesOf(schema, all) }
}

function parametersOf(
  { headers = { type: 'object' } }: FastifySchema,
  all: readonly RouteDescription[],
): Partial<FastifySchema> {
  if (!isObjectSchema(headers)) return {}
  const { properties = {}, required: declared = [] } = headers as {
    readonly properties?: Readonly<Record<string, unknown>>
    readonly required?: readonly string[]
  }
  const names = new Set(Object.keys(properties).map((name) => name.toLowerCase()))
  const added = all
    .flatMap(({ parameters = {} }) => Object.entries(parameters))
    .filter(([name]) => !names.has(name.toLowerCase()))
  if (added.length === 0) return {}
  const required = [...declared, ...added.filter(([, one]) => one.isRequired === true).map(([name]) => name)]
  const described = Object.fromEntries(added.map(([name, one]) => [name, one.schema]))
  return {
    headers: {
      ...headers,
      properties: { ...properties, ...described },
      ...(required.length === 0 ? {} : { required }),
    },
  }
}

type Responses = Readonly<Record<string, unknown>>

function responsesOf(
  { response = unknownSuccess }: FastifySchema,
  all: readonly RouteDescription[],
): Partial<FastifySchema> {
  // A schema of another validator stays as it is.
  if (!isPlainObject(response)) return {}
  const declared: Responses = response
  const isDescribed = all.some(({ problems = [], statuses = {} }) => {
    return problems.length > 0 || Object.keys(statuses).length > 0
  })
  if (declared === unknownSuccess && !isDescribed && !all.some(hasHeaders)) return {}
  const complete: Record<string, unknown> = { ...addedStatuses(declared, all), ...declared }
  return {
    response: Object.fromEntries(
      Object.entries(complete).map(([status, answer]) => [
        status,
        withHeaders(answer, headersOf(status, all)),
      ]),
    ),
  }
}

// As @fastify/swagger shows a route without response schemas. For the document alone: without content there is nothing for
// Fastify to compile, and the document shows no schema for `null`.
const unknownSuccess: Responses = { 200: { description: 'Default Response', type: 'null', content: {} } }

function hasHeaders({ headers, allHeaders, headersOf }: RouteDescription): boolean {
  return headers !== undefined || allHeaders !== undefined || headersOf !== undefined
}

function addedStatuses(declared: Responses, all: readonly RouteDescription[]): Responses {
  const names = Object.keys(declared).map((status) => status.toLowerCase())
  const isAdded = (status: string | number) => !isCovered(names, `${status}`)
  const empty = all
    .flatMap(({ statuses = {} }) => Object.entries(statuses))
    .filter(([status]) => isAdded(status))
    .map(([status, description]) => [status, { description, type: 'null', content: {} }])
  const problems = all.flatMap((one) => one.problems ?? []).filter(({ status }) => isAdded(status))
  const isComplete = all.some((one) => one.isComplete === true)
  const refused = [...new Set(problems.map(({ status }) => status))].map((status) => [
    status,
    problemAnswer(
      status,
      problems.filter((one) => one.status === status),
      isComplete,
    ),
  ])
  return Object.fromEntries([...empty, ...refused])
}

function problemAnswer(status: number, problems: readonly DescribedProblem[], isComplete: boolean): object {
  return {
    description: [...new Set(problems.map(({ description }) => description))].join('; '),
    content: problemContent(status, [...new Set(problems.map(({ code }) => code))], isComplete),
  }
}

function isCovered(declared: readonly string[], status: string): boolean {
  const isOfClass = declared.includes(`${status[0]}xx`) || (status >= '400' && declared.includes('default'))
  return isOfClass || declared.includes(status)
}

function headersOf(status: string, all: readonly RouteDescription[]): DescribedHeaders {
  const hasContent = /^2(?!02|04|05)/.test(status)
  const found = {}
  for (const { headers, allHeaders, headersOf: ofStatus } of all) {
    Object.assign(found, allHeaders, hasContent ? headers : undefined, ofStatus?.[Number(status)])
  }
  return found
}

function withHeaders(answer: unknown, headers: DescribedHeaders): unknown {
  if (!isPlainObject(answer) || Object.keys(headers).length === 0) return answer
  return { ...answer, headers: { ...headers, ...(answer.headers as object | undefined) } }
}

/** Fastify validates an absent body as `null`; @fastify/swagger says of each body that it is required. */
export function tellOptionalBodies(document: object): void {
  const { paths = {}, components } = document as Document
  const schemas = components?.schemas ?? {}
  for (const item of Object.values(paths)) {
    for (const { requestBody } of Object.values(item)) {
      const contents = Object.values(requestBody?.content ?? {})
      if (requestBody === undefined || contents.length === 0) continue
      if (contents.every(({ schema = {} }) => allowsNull(schema, schemas, 0))) requestBody.required = false
    }
  }
}

interface Document {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Json>> }
}

interface Operation {
  readonly requestBody?: {
    required?: boolean
    readonly content?: Readonly<Record<string, { readonly schema?: Json }>>
  }
}

const maxDepth = 10
const ofComponents = '#/components/schemas/'

function allowsNull(schema: Json, schemas: Readonly<Record<string, Json>>, depth: number): boolean {
  if (!isSchemaObject(schema)) return schema === true
  if (depth > maxDepth) return false
  const allows = (part: Json): boolean => allowsNull(part, schemas, depth + 1)
  const { $ref, anyOf, oneOf, allOf } = schema
  if (typeof $ref === 'string') {
    const name = $ref.startsWith(ofComponents) ? $ref.slice(ofComponents.length) : ''
    if (!Object.hasOwn(schemas, name) || !allows(schemas[name] as Json)) return false
  }
  const alternatives = [anyOf, oneOf].filter((list) => list !== undefined)
  return (
    ownKeywordsAllowNull(schema) &&
    schemaList(allOf).every(allows) &&
    alternatives.every((list) => schemaList(list).some(allows))
  )
}

function ownKeywordsAllowNull({ type, nullable, enum: values, const: value, not }: SchemaObject): boolean {
  const isOfType = type === undefined || nullable === true || [type].flat().includes('null')
  const isValue = (values === undefined || schemaList(values).includes(null)) && (value ?? null) === null
  return isOfType && isValue && not === undefined
}
