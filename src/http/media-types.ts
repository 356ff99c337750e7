import { successAnswers } from '../json-schema/success-schemas.js'

/**
 * Does an `Accept` header take one of the media types? Follows RFC 9110 §12.5.1: the most specific range that
 * matches a type decides, `q=0` refuses it. Parameters other than `q` are not compared. A header that is not a list
 * of media ranges refuses nothing.
 *
 * @param produced media types in lowercase, without parameters
 */
export function acceptsAny(accept: string, produced: readonly string[]): boolean {
  // A quoted parameter value may hold commas and semicolons; none is compared, so all of them can go.
  const ranges = accept
    .replace(quotedString, '""')
    .split(',')
    .flatMap((part) => rangeOf(part) ?? [])
  if (ranges.length === 0) return true
  return produced.some((type) => {
    const matching = ranges.filter((range) => covers(range.type, type))
    const nearest = Math.max(...matching.map((range) => specificity(range.type)))
    return matching.some((range) => specificity(range.type) === nearest && range.quality > 0)
  })
}

interface MediaRange {
  readonly type: string
  readonly quality: number
}

// One that does not end goes to the end of the header: so no place of it is looked at twice.
const quotedString = /"(?:[^"\\]|\\.)*\\?(?:"|$)/gs
const mediaRange = /^\s*([!#$%&'*+\-.^_`|~0-9a-z]+\/[!#$%&'*+\-.^_`|~0-9a-z]+)\s*(;.*)?$/i
const weight = /;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)/i

function rangeOf(part: string): MediaRange | null {
  const match = mediaRange.exec(part)
  if (match?.[1] === undefined) return null
  return { type: match[1].toLowerCase(), quality: Number(weight.exec(match[2] ?? '')?.[1] ?? 1) }
}

function covers(range: string, type: string): boolean {
  return range === type || range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)))
}

function specificity(range: string): number {
  return range === '*/*' ? 0 : range.endsWith('/*') ? 1 : 2
}

/** The media type of a `Content-Type`, in lowercase and without parameters; `''` for none. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** Is this a JSON media type: `application/json` or one with the `+json` suffix (RFC 6839 §3.1)? */
export function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType.endsWith('+json')
}

/** What a response schema says of the media types of success; `null` where it says nothing, or leaves it open. */
export function producedTypes(response: unknown): readonly string[] | null {
  const types = successAnswers(response).flatMap(([, schema]) => {
    const content =
      typeof schema === 'object' && schema !== null && 'content' in schema ? schema.content : null
    if (typeof content === 'object' && content !== null) return Object.keys(content).map(mediaTypeOf)
    if (isOfType(schema, 'null')) return []
    // Text may be of any media type; the handler says of which.
    return isOfType(schema, 'string') ? ['*/*'] : ['application/json']
  })
  return types.length === 0 || types.some((type) => type.includes('*')) ? null : [...new Set(types)]
}

// `{ type: 'null' }` is how a schema says that there is no body.
function isOfType(schema: unknown, type: string): boolean {
  return typeof schema === 'object' && schema !== null && 'type' in schema && schema.type === type
}
