import { BoundedCache } from '../../bounded-cache.js'
import type { ChosenFormat, Format } from '../../fastify/formats.js'
import { namesType, preferredType } from '../../http/media-types.js'

/** `text/xml` is an alias (RFC 7303 §9.2). */
export const mediaTypesOf: Readonly<Record<Format, readonly [string, ...string[]]>> = {
  xml: ['application/xml', 'text/xml'],
  csv: ['text/csv'],
}

/** The format that a request gets: one of those besides JSON, `'json'`, or `null` if it accepts none. */
export type Choice = ChosenFormat | 'json' | null

/** Chooses the format of responses of a route. */
export interface Negotiation {
  /** Media types of the route, JSON first. */
  readonly mediaTypes: readonly string[]
  /** Names that the query parameter may have. */
  readonly names: readonly string[]
  /** Returns the format that the query parameter names. */
  byName(value: unknown): Choice
  /** Returns the format that `Accept` prefers (RFC 9110 §12.5.1); of equals JSON, then the order of the route. */
  byAccept(accept: string | undefined): Choice
}

const json = 'application/json'
const cachedChoices = 100
const longestCached = 256

export function negotiationOf(formats: readonly Format[]): Negotiation {
  const names = ['json', ...formats]
  const chosen = new Map(
    formats.flatMap((format) =>
      mediaTypesOf[format].map((mediaType): [string, ChosenFormat] => [mediaType, { format, mediaType }]),
    ),
  )
  const produced = [json, ...chosen.keys()]
  // Clients choose the keys, so neither all nor long ones are kept.
  const choices = new BoundedCache<string, Choice>(cachedChoices)

  function choose(accept: string): Choice {
    const type = preferredType(accept, produced)
    if (type === null) return null
    // The header of a page in a browser prefers XML to JSON only because XHTML is XML.
    const isPage = namesType(accept, 'text/html') && preferredType(accept, [json]) !== null
    return isPage ? 'json' : (chosen.get(type) ?? 'json')
  }

  return {
    mediaTypes: [json, ...formats.map((format) => mediaTypesOf[format][0])],
    names,
    byName(value) {
      const format = formats.find((one) => one === value)
      if (format !== undefined) return { format, mediaType: mediaTypesOf[format][0] }
      return value === 'json' ? 'json' : null
    },
    byAccept(accept) {
      if (accept === undefined || accept === '*/*' || accept === json) return 'json'
      const known = choices.get(accept)
      if (known !== undefined) return known
      const choice = choose(accept)
      if (accept.length <= longestCached) choices.set(accept, choice)
      return choice
    },
  }
}
