import type { FastifyRequest, RouteOptions } from 'fastify'
import { routeSlot } from './slots.js'

/** Names of fields that an answer is made by, whether or not the client selects them. */
export type NeededFields = (request: FastifyRequest) => readonly string[]

interface Need {
  readonly fields: NeededFields
  readonly whereNamed: boolean
}

const needs = routeSlot<readonly Need[]>('neededFields')

/**
 * Says which fields the handler of a route has to read for a convention: a list its key, caching the date.
 * `request.fields.names` contains them. Call it from an `onRoute` hook.
 *
 * @param whereNamed only where the response schema names them: others the store may not have
 */
export function needFields(route: RouteOptions, fields: NeededFields, whereNamed = false): void {
  needs.set(route, [...(needs.get(route) ?? []), { fields, whereNamed }])
}

/**
 * The fields that the answer to a request is made by.
 *
 * @param isNamed whether the response schema names a field
 */
export function neededFields(request: FastifyRequest, isNamed: (name: string) => boolean): readonly string[] {
  return (needs.of(request) ?? []).flatMap(({ fields, whereNamed }) =>
    whereNamed ? fields(request).filter(isNamed) : fields(request),
  )
}
