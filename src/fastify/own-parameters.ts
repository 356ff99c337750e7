import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { isSchemaObject, type Json, type SchemaStore } from '../json-schema/json-schema.js'
import { partsOf, propertiesOf } from '../json-schema/parts.js'
import { SchemaReader } from '../json-schema/reader.js'
import { isObjectSchema, queryOf } from '../json-schema/responses.js'
import { jsonSchemasOf } from './route-schemas.js'

/** A query parameter of this package. */
export interface OwnParameter {
  /** Removes it before the query is validated; `null` if it may stay. */
  readonly remove: ((request: FastifyRequest) => void) | null
  /** Returns it as the request has it; `undefined` if it has none. */
  read(request: FastifyRequest): unknown
}

/** Keeps a query parameter of this package out of the validation of a route's own query schema. */
export function ownParameter(
  app: FastifyInstance,
  route: RouteOptions,
  declared: unknown,
  name: string,
): OwnParameter {
  if (declared === undefined) return { remove: null, read: (request) => parametersOf(request)?.[name] }
  const { removed, remove } = parameterRemover(app, route, declared, [name])
  return {
    remove,
    read(request) {
      const query = parametersOf(request)
      const value = query?.[name]
      if (value !== undefined || !removed.has(request)) return value
      const original = removed.get(request)?.[name]
      if (query !== undefined) Reflect.set(query, name, original)
      return original
    },
  }
}

/**
 * Returns what removes query parameters of this package before a compiler of the app validates the query: it need not know
 * their schemas. A parameter that the route declares itself stays.
 */
export function parameterRemover(
  app: FastifyInstance,
  route: RouteOptions,
  declared: unknown,
  names: readonly string[],
): {
  readonly removed: WeakMap<FastifyRequest, Readonly<Record<string, unknown>>>
  remove(request: FastifyRequest): void
} {
  const readable = isJsonSchema(declared) ? declared : queryOf(jsonSchemasOf(route) ?? {})
  const removed = new WeakMap<FastifyRequest, Record<string, unknown>>()
  let ours: readonly string[] | undefined

  function remove(request: FastifyRequest): void {
    const query = parametersOf(request)
    const given = names.filter((name) => query?.[name] !== undefined)
    if (query !== undefined && given.length > 0) {
      removed.set(request, Object.fromEntries(given.map((name) => [name, query[name]])))
      ours ??= isJsonSchema(readable) ? names.filter((name) => !declaresParameter(app, readable, name)) : []
      for (const name of ours) Reflect.deleteProperty(query, name)
    }
  }
  return { removed, remove }
}

function parametersOf(request: FastifyRequest): Record<string, unknown> | undefined {
  const { query } = request
  return typeof query === 'object' && query !== null ? (query as Record<string, unknown>) : undefined
}

function isJsonSchema(schema: unknown): schema is Json {
  return isObjectSchema(schema) || (isSchemaObject(schema) && typeof schema.$ref === 'string')
}

/** Whether a query schema names a parameter, in whichever alternative. Call it when all shared schemas are known. */
export function declaresParameter(app: FastifyInstance, schema: unknown, name: string): boolean {
  if (!isJsonSchema(schema)) return false
  const reader = new SchemaReader(app.getSchemas() as SchemaStore, { onUnresolved: () => {} })
  return propertiesOf(partsOf(reader, [reader.absolute(schema, schema)])).has(name)
}
