import type { FastifyInstance } from 'fastify'
import type { OpenApiDocument } from '../../src/schema/openapi.js'

const shared = /^#\/components\/(responses|headers|parameters)\/(.+)$/

/** Returns an OpenAPI document with its shared responses, headers and parameters in the place of the references. */
export function withoutReferences<Document extends object>(document: Document): Document {
  const components = (document as { components?: Record<string, Record<string, unknown>> }).components ?? {}
  const visit = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(visit)
    const [, kind = '', name = ''] = shared.exec(String((value as { $ref?: unknown }).$ref)) ?? []
    if (kind !== '') return visit(components[kind]?.[name])
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, visit(one)]))
  }
  return visit(document) as Document
}

/** The OpenAPI document of an app, after its boot, without these references. */
export async function documentOf(app: FastifyInstance): Promise<OpenApiDocument> {
  await app.ready()
  return withoutReferences(app.swagger()) as unknown as OpenApiDocument
}
