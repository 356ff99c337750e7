import type { FastifySchema } from 'fastify'
import type { Format } from '../../fastify/formats.js'
import { isPlainObject, type SchemaStore } from '../../json-schema/json-schema.js'
import { isObjectSchema, type RouteSchema, withQueryParameters } from '../../json-schema/query-schema.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { mediaTypesOf } from './negotiation.js'

/** The schema of a route with the query parameter that selects the format. */
export function withFormatParameter<Schema extends RouteSchema>(
  schema: Schema | undefined,
  parameter: string,
  names: readonly string[],
  shared: () => SchemaStore,
): Schema {
  const description = 'Format of the response; has precedence over Accept'
  return withQueryParameters(schema, { [parameter]: { type: 'string', enum: names, description } }, shared)
}

/**
 * The schema of a route with the media types of its successful responses. JSON and XML have the same schema, with the root
 * element as the name of XML; CSV is a text. A schema that is a reference, or of another validator, is the content as it is.
 */
export function withMediaTypes(
  schema: FastifySchema,
  formats: readonly Format[],
  root: string | null,
): FastifySchema {
  if (!isPlainObject(schema.response)) return schema
  const response = Object.entries(schema.response).map(([status, declared]) => [
    status,
    hasBody(status, declared) ? withContent(declared, formats, root) : declared,
  ])
  return { ...schema, response: Object.fromEntries(response) }
}

/** The refusal of requests for a format that the route has not, for the OpenAPI document. */
export const describeChoice: RouteDescription = {
  problems: problemsOf({ 'not-acceptable': 'The route has none of the accepted media types' }),
}

/** The refusals of a body that may be XML, for the OpenAPI document. */
export const describeXmlBody: RouteDescription = {
  problems: problemsOf({
    'body-malformed': 'The body is malformed',
    'content-too-large': 'The body is too large',
  }),
}

/** The schema of a route whose body may be XML, for the document. */
export function withXmlBody(schema: FastifySchema): FastifySchema {
  const { body, consumes = ['application/json'] } = schema as FastifySchema & {
    readonly consumes?: readonly string[]
  }
  if (isPlainObject(body) && isPlainObject(body.content)) {
    const { 'application/json': json, ...others } = body.content
    return { ...schema, body: { ...body, content: { 'application/json': json, [xml]: json, ...others } } }
  }
  return { ...schema, consumes: [...consumes, xml] } as FastifySchema
}

const [xml] = mediaTypesOf.xml

function hasBody(status: string, declared: unknown): declared is object {
  const isSuccess = /^2(?:\d\d|xx)$/i.test(status) && status !== '204' && status !== '205'
  if (!isSuccess || !isPlainObject(declared)) return false
  return declared.type !== 'null' && !isPlainObject(declared.content)
}

function withContent(declared: object, formats: readonly Format[], root: string | null): object {
  const { description, headers, ...schema } = declared as {
    readonly description?: unknown
    readonly headers?: unknown
  }
  const contents = formats.flatMap((format): [string, object][] => {
    const [mediaType] = mediaTypesOf[format]
    return format === 'csv'
      ? [[mediaType, { schema: { type: 'string' } }]]
      : [[mediaType, { schema: named(schema, root) }]]
  })
  return {
    ...(description === undefined ? {} : { description }),
    ...(headers === undefined ? {} : { headers }),
    content: { 'application/json': { schema }, ...Object.fromEntries(contents) },
  }
}

function named(schema: object, root: string | null): object {
  return root !== null && isObjectSchema(schema) ? { ...schema, xml: { name: root } } : schema
}
