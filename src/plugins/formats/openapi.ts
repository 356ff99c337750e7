import type { FastifySchema } from 'fastify'
import type { Format } from '../../fastify/formats.js'
import { isPlainObject, type SchemaStore } from '../../json-schema/json-schema.js'
import { isObjectSchema, type RouteSchema, withQueryParameters } from '../../json-schema/query-schema.js'
import { problemsOf, type RouteDescription } from '../../problem/route-description.js'
import { mediaTypesOf } from './negotiation.js'

export function withFormatParameter<Schema extends RouteSchema>(
  schema: Schema | undefined,
  parameter: string,
  names: readonly string[],
  shared: () => SchemaStore,
): Schema {
  const description = 'Format of the response; has precedence over Accept'
  return withQueryParameters(schema, { [parameter]: { type: 'string', enum: names, description } }, shared)
}

/** JSON and XML have the same schema, with the root element as the name of XML; CSV is a text. */
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

export function describeChoice(formats: readonly Format[]): RouteDescription {
  return {
    headers: formats.includes('csv')
      ? { 'Content-Disposition': { type: 'string', description: 'The name of the file, of CSV (RFC 6266)' } }
      : {},
    problems: problemsOf({ 'not-acceptable': 'The route has none of the accepted media types' }),
  }
}

export const describeXmlBody: RouteDescription = {
  problems: problemsOf({
    'body-malformed': 'The body is malformed',
    'content-too-large': 'The body is too large',
  }),
}

export function withXmlBody(schema: FastifySchema): FastifySchema {
  const { body, consumes = ['application/json'] } = schema as FastifySchema & {
    readonly consumes?: readonly string[]
  }
  if (isPlainObject(body) && isPlainObject(body.content)) {
    const { 'application/json': json, ...others } = body.content
    const xml = Object.fromEntries(mediaTypesOf.xml.map((mediaType) => [mediaType, json]))
    return { ...schema, body: { ...body, content: { 'application/json': json, ...xml, ...others } } }
  }
  return { ...schema, consumes: [...consumes, ...mediaTypesOf.xml] } as FastifySchema
}

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
  const contents = formats.flatMap((format) => {
    const content = { schema: format === 'csv' ? { type: 'string' } : named(schema, root) }
    return mediaTypesOf[format].map((mediaType) => [mediaType, content])
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
