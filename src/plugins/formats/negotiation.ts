import type { ChosenFormat, Format } from '../../convention/formats.js'
import { namesType, preferredType } from '../../http/media-types.js'

/** `text/xml` is an alias (RFC 7303 §9.2). */
export const mediaTypesOf: Readonly<Record<Format, readonly [string, ...string[]]>> = {
  xml: ['application/xml', 'text/xml'],
  csv: ['text/csv'],
}

/** The format that a request gets: one of those besides JSON, `'json'`, or `null` if it accepts none. */
export type Choice = ChosenFormat | 'json' | null

const json = 'application/json'

/** Returns the format that the query parameter names. */
export function formatByName(formats: readonly Format[], value: unknown): Choice {
  const format = formats.find((one) => one === value)
  if (format !== undefined) return { format, mediaType: mediaTypesOf[format][0] }
  return value === 'json' ? 'json' : null
}

/** Returns the format that `Accept` prefers (RFC 9110 §12.5.1); of equals JSON, then the order of the route. */
export function formatByAccept(formats: readonly Format[], accept: string | undefined): Choice {
  if (accept === undefined || accept === '*/*' || accept === json) return 'json'
  const chosen = formats.flatMap((format) => mediaTypesOf[format].map((mediaType) => ({ format, mediaType })))
  const type = preferredType(accept, [json, ...chosen.map(({ mediaType }) => mediaType)])
  if (type === null) return null
  // The header of a page in a browser prefers XML to JSON only because XHTML is XML.
  const isPage = namesType(accept, 'text/html') && preferredType(accept, [json]) !== null
  return isPage ? 'json' : (chosen.find(({ mediaType }) => mediaType === type) ?? 'json')
}
