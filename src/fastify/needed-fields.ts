import type { FastifyRequest, RouteOptions } from 'fastify'
import { routeSlot } from './slots.js'

/** Returns the names of fields that the response needs, whether or not the client selects them. */
export type NeededFields = (request: FastifyRequest) => readonly string[]

interface Need {
  readonly fields: NeededFields
  readonly whereNamed: boolean
}

const needs = routeSlot<readonly Need[]>('neededFields')

/**
 * Adds fields that the handler of a route has to read for a convention: the key of a list, the date for caching.
 * `request.fields.names` contains them. Call it from an `onRoute` hook.
 *
 * @param whereNamed whether only those are added that the response schema names
 */
export function needFields(route: RouteOptions, fields: NeededFields, whereNamed = false): void {
  needs.set(route, [...(needs.get(route) ?? []), { fields, whereNamed }])
}

/**
 * Returns the fields that the response to a request needs.
 *
 * @param isNamed whether the response schema names a field
 */
export function neededFields(request: FastifyRequest, isNamed: (name: string) => boolean): readonly string[] {
  return (needs.of(request) ?? []).flatMap(({ fields, whereNamed }) =>
    whereNamed ? fields(request).filter(isNamed) : fields(request),
  )
}
