import type { FastifySchema, RouteOptions } from 'fastify'

/** Returns the completed schema of a route. */
export type CompleteSchema = (schema: FastifySchema) => FastifySchema

/**
 * Completes the schema of a route when it is first read: only what writes the OpenAPI document reads it. What Fastify has
 * compiled stays as the app wrote it. Several completions run in the order in which they are added.
 *
 * Call it when the app gets ready, not earlier.
 */
export function completeWhenRead(route: RouteOptions, complete: CompleteSchema): void {
  const known = pending.get(route)
  if (known !== undefined) {
    known.push(complete)
    return
  }
  const steps = [complete]
  pending.set(route, steps)
  let { schema } = route
  Object.defineProperty(route, 'schema', {
    configurable: true,
    enumerable: true,
    get: () => {
      if (schema !== undefined) for (const step of steps.splice(0)) schema = step(schema)
      return schema
    },
    set: (replaced: FastifySchema | undefined) => {
      schema = replaced
    },
  })
}

const pending = new WeakMap<RouteOptions, CompleteSchema[]>()
