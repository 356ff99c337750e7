import type { FastifyRequest } from 'fastify'
import type { ProblemError } from '../problem/problem-error.js'
import { requestSlot, routeSlot } from './slots.js'

/** A format of responses other than JSON. */
export type Format = 'xml' | 'csv'

/** The values of {@link Format}. */
export const otherFormats = ['xml', 'csv'] as const

/** A format that a response is to have, with the media type by which the client accepts it. */
export interface ChosenFormat {
  readonly format: Format
  readonly mediaType: string
}

/** The format of the response to a request. No value for JSON. */
export const chosenFormat = requestSlot<ChosenFormat>('formats.chosen')

/**
 * Returns the 406 of a request for which a route has no format, by the query parameter or by `Accept`; `null` if it has
 * one. Set by the plugin `formats`, for hooks that run before its own.
 */
export type RefuseFormat = (request: FastifyRequest) => ProblemError | null

/** Routes with other formats than JSON. */
export const refuseFormat = routeSlot<RefuseFormat>('formats.refuse')

/** Returns the entity tag of a resource in the format of the response to a request. */
export function tagInFormat(request: FastifyRequest, etag: string): string {
  const chosen = chosenFormat.get(request)
  return chosen === undefined ? etag : tagOfFormat(etag, chosen.format)
}

/** Returns the entity tag of a resource in another format than JSON. */
export function tagOfFormat(etag: string, format: Format): string {
  return `${etag.slice(0, -1)}--${format}"`
}
