import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { isSchemaObject, type Json, type SchemaStore } from '../schema/json-schema.js'
import { partsOf, propertiesOf, SchemaReader } from '../schema/reader.js'
import { queryOf } from '../schema/responses.js'
import { jsonSchemasOf } from './route-schemas.js'

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
