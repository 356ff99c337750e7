import type { FastifySchema, RouteOptions } from 'fastify'
import { documentedSchema, writtenSchemaOf } from './route-schemas.js'

/** Returns the completed schema of a route. */
export type CompleteSchema = (schema: FastifySchema) => FastifySchema

/** The completions of a route. */
interface Completions {
  readonly steps: CompleteSchema[]
  last: CompleteSchema | null
  /** The schema with all completions; `undefined` until it is read. */
  completed: FastifySchema | undefined
}

/** Completes the schema of a route when it is first read: only what writes the OpenAPI document reads it. */
export function completeWhenRead(route: RouteOptions, complete: CompleteSchema): void {
  const completions = completionsOf(route)
  completions.steps.push(complete)
  completions.completed = undefined
}

/** Sets the completion of a route that runs after all those of {@link completeWhenRead}, whenever they are added. */
export function completeAtEnd(route: RouteOptions, complete: CompleteSchema): void {
  const completions = completionsOf(route)
  completions.last = complete
  completions.completed = undefined
}

const known = new WeakMap<RouteOptions, Completions>()

function completionsOf(route: RouteOptions): Completions {
  const before = known.get(route)
  if (before !== undefined) return before
  const added: Completions = { steps: [], last: null, completed: undefined }
  known.set(route, added)
  let { schema } = route
  writtenSchemaOf.set(route, () => schema)
  Object.defineProperty(route, 'schema', {
    configurable: true,
    enumerable: true,
    get: () => {
      // A route without a schema is in the document, too. It is completed from what the app wrote each time.
      added.completed ??= documentedSchema(route, schema ?? {}, (json) => {
        const completed = added.steps.reduce((one, step) => step(one), json)
        return added.last === null ? completed : added.last(completed)
      })
      return added.completed
    },
    set: (replaced: FastifySchema | undefined) => {
      schema = replaced
      added.completed = undefined
    },
  })
  return added
}
