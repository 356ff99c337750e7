import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { addHook } from '../../fastify/route.js'
import { isSchemaObject, type Json, type SchemaStore } from '../../json-schema/json-schema.js'
import { partsOf, propertiesOf } from '../../json-schema/parts.js'
import { isObjectSchema } from '../../json-schema/query-schema.js'
import { SchemaReader } from '../../json-schema/reader.js'

/** Reads a query parameter, as often as it was given; `undefined` where it was not. */
export type ReadParameter = (request: FastifyRequest) => unknown

/**
 * Sees to it that a parameter of ours gets past the query schema of a route. Where the parameter is in that schema,
 * nothing has to be done. A schema that could not be completed, or has parts that may refuse or drop what they do not
 * name, does not get to see it: it is put back once the query is valid.
 *
 * Call it from an `onRoute` hook.
 *
 * @param declared the query schema as the route declares it; without one nothing is refused
 */
export function holdParameter(
  app: FastifyInstance,
  route: RouteOptions,
  declared: unknown,
  name: string,
): ReadParameter {
  if (declared === undefined || isSurelyIn(route.schema?.querystring))
    return (request) => queryOf(request)?.[name]
  const held = new WeakMap<FastifyRequest, unknown>()
  let isOurs: boolean | undefined

  function holdOnPreValidation(request: FastifyRequest, _reply: unknown, next: () => void): void {
    const query = queryOf(request)
    const value = query?.[name]
    if (query !== undefined && value !== undefined) {
      held.set(request, value)
      isOurs ??= isJsonSchema(declared) && !declares(declared, name, app.getSchemas() as SchemaStore)
      if (isOurs) Reflect.deleteProperty(query, name)
    }
    next()
  }

  addHook(route, 'preValidation', 'fields', holdOnPreValidation)

  return function readHeld(request) {
    const query = queryOf(request)
    const value = query?.[name]
    if (value !== undefined || !held.has(request)) return value
    const kept = held.get(request)
    if (query !== undefined) Reflect.set(query, name, kept)
    return kept
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
