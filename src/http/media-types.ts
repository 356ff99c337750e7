import { firstMembers, memberParts } from './header-fields.js'

/** RFC 9110 §12.5.1: the most specific range decides, and `q=0` refuses. Without a valid range, all types are accepted. */
export function acceptsAny(accept: string, produced: readonly string[]): boolean {
  return preferredType(accept, produced) !== null
}

/** Returns the type with the highest quality value, of equal ones the first; `null` if none is accepted. */
export function preferredType<Type extends string>(accept: string, produced: readonly Type[]): Type | null {
  const ranges = rangesOf(accept)
  let preferred: Type | null = null
  let highest = 0
  for (const type of produced) {
    const quality = qualityAmong(ranges, type)
    if (quality <= highest) continue
    preferred = type
    highest = quality
  }
  return preferred
}

/** Whether an `Accept` header names a media type itself, rather than a range that contains it. */
export function namesType(accept: string, type: string): boolean {
  return rangesOf(accept).some((range) => range.type === type && range.quality > 0)
}

function rangesOf(accept: string): readonly MediaRange[] {
  return firstMembers(accept).flatMap((member) => rangeOf(member) ?? [])
}

function qualityAmong(ranges: readonly MediaRange[], type: string): number {
  if (ranges.length === 0) return 1
  const matching = ranges.filter((range) => covers(range.type, type))
  const nearest = Math.max(...matching.map((range) => specificity(range.type)))
  return matching.reduce(
    (highest, range) => (specificity(range.type) === nearest ? Math.max(highest, range.quality) : highest),
    0,
  )
}

interface MediaRange {
  readonly type: string
  readonly quality: number
}

const mediaRange = /^[!#$%&'*+\-.^_`|~0-9a-z]+\/[!#$%&'*+\-.^_`|~0-9a-z]+$/
// Without one, and with a weight of 1, the quality is 1.
const weight = /^q=(0(?:\.\d{0,3})?)$/i

function rangeOf(member: string): MediaRange | null {
  const [range = '', ...parameters] = memberParts(member)
  const type = range.toLowerCase()
  const quality = parameters.flatMap((parameter) => weight.exec(parameter)?.[1] ?? [])[0]
  return mediaRange.test(type) ? { type, quality: Number(quality ?? 1) } : null
}

function covers(range: string, type: string): boolean {
  return range === type || range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)))
}

function specificity(range: string): number {
  return range === '*/*' ? 0 : range.endsWith('/*') ? 1 : 2
}

/** Returns the media type of a `Content-Type`, in lowercase and without parameters; `''` if there is none. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

export const formType = 'application/x-www-form-urlencoded'

/** Whether a media type is of a form: urlencoded or multipart. */
export function isForm(mediaType: string): boolean {
  return mediaType === formType || mediaType === 'multipart/form-data'
}

/** Whether a media type is `application/json` or has the suffix `+json` (RFC 6839 §3.1). */
export function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType.endsWith('+json')
}
