import type { FastifyRequest } from 'fastify'
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

/** Routes whose format the plugin `formats` chooses, by the query parameter or by `Accept`. */
export const negotiates = routeSlot<true>('formats.negotiates')

/** Returns the entity tag of a resource in the format of the response to a request. */
export function tagInFormat(request: FastifyRequest, etag: string): string {
  const chosen = chosenFormat.get(request)
  return chosen === undefined ? etag : tagOfFormat(etag, chosen.format)
}

/** Returns the entity tag of a resource in another format than JSON. */
export function tagOfFormat(etag: string, format: Format): string {
  return `${etag.slice(0, -1)}--${format}"`
}
