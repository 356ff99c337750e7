import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { addHook } from '../../fastify/route.js'
import { isSchemaObject, type Json, type SchemaStore } from '../../json-schema/json-schema.js'
import { partsOf, propertiesOf } from '../../json-schema/parts.js'
import { isObjectSchema } from '../../json-schema/query-schema.js'
import { SchemaReader } from '../../json-schema/reader.js'

/** Returns a query parameter as the request has it; `undefined` if it has none. */
export type ReadParameter = (request: FastifyRequest) => unknown

/**
 * Keeps a query parameter of this package out of the validation of a route's own query schema. If the schema is sure to
 * accept the parameter, nothing changes. Otherwise the parameter is removed before the validation and put back after it,
 * because the schema may refuse or remove a parameter that it does not name.
 *
 * Call it from an `onRoute` hook.
 *
 * @param declared the query schema as the route declares it; a route without one accepts all parameters
 */
export function bypassQueryValidation(
  app: FastifyInstance,
  route: RouteOptions,
  declared: unknown,
  name: string,
): ReadParameter {
  if (declared === undefined || isSurelyIn(route.schema?.querystring))
    return (request) => queryOf(request)?.[name]
  const removed = new WeakMap<FastifyRequest, unknown>()
  let isOurs: boolean | undefined

  function removeParameterOnPreValidation(request: FastifyRequest, _reply: unknown, next: () => void): void {
    const query = queryOf(request)
    const value = query?.[name]
    if (query !== undefined && value !== undefined) {
      removed.set(request, value)
      isOurs ??= isJsonSchema(declared) && !declares(declared, name, app.getSchemas() as SchemaStore)
      if (isOurs) Reflect.deleteProperty(query, name)
    }
    next()
  }

  addHook(route, 'preValidation', 'fields', removeParameterOnPreValidation)

  return function readParameter(request) {
    const query = queryOf(request)
    const value = query?.[name]
    if (value !== undefined || !removed.has(request)) return value
    const original = removed.get(request)
    if (query !== undefined) Reflect.set(query, name, original)
    return original
  }
}

// Keywords that look at members which `properties` names, too.
const strict = [
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'dependencies',
  'dependentSchemas',
  'propertyNames',
  'maxProperties',
] as const

function isSurelyIn(schema: unknown): boolean {
  return isObjectSchema(schema) && !strict.some((keyword) => keyword in schema)
}

function queryOf(request: FastifyRequest): Record<string, unknown> | undefined {
  const { query } = request
  return typeof query === 'object' && query !== null ? (query as Record<string, unknown>) : undefined
}

function isJsonSchema(schema: unknown): schema is Json {
  return isObjectSchema(schema) || (isSchemaObject(schema) && typeof schema.$ref === 'string')
}

function declares(schema: Json, name: string, shared: SchemaStore): boolean {
  const reader = new SchemaReader(shared, { onUnresolved: () => {} })
  return propertiesOf(partsOf(reader, [reader.absolute(schema, schema)])).has(name)
}
