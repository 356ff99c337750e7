import { otherFormats, tagOfFormat } from '../../fastify/formats.js'
import { directiveName, firstMembers, memberParts } from '../../http/list-header.js'

/** The content codings of plugins that compress (RFC 9110 §8.4.1, RFC 7932, RFC 8878). */
const codings = ['br', 'deflate', 'gzip', 'zstd'] as const

/** Returns the entity tag of a representation in a content coding. */
export function codedTag(etag: string, coding: string): string {
  return etag.startsWith('"') ? `${etag.slice(0, -1)}--${coding}"` : etag
}

/** Returns a list of entity tags in which the coded forms of a tag are replaced by the tag. */
export function uncodedTags(
  fieldValue: string,
  etag: string,
  isAccepted: (coding: string) => boolean = () => true,
): string {
  if (!fieldValue.includes('--')) return fieldValue
  return codings.reduce(
    // A function, because a tag may have `$`.
    (value, coding) => (isAccepted(coding) ? value.replaceAll(codedTag(etag, coding), () => etag) : value),
    fieldValue,
  )
}

/** Returns a list of entity tags in which the forms of a tag in other formats, coded or not, are replaced by the tag. */
export function plainTags(fieldValue: string, etag: string): string {
  if (!fieldValue.includes('--')) return fieldValue
  return otherFormats.reduce(
    (value, format) => {
      const tag = tagOfFormat(etag, format)
      return uncodedTags(value, tag).replaceAll(tag, () => etag)
    },
    uncodedTags(fieldValue, etag),
  )
}

/** Returns the form of a tag that a list of entity tags names: one of its coded forms, or the tag itself. */
export function listedForm(
  etag: string,
  fieldValue: string,
  isAccepted: (coding: string) => boolean,
): string {
  if (!fieldValue.includes('--') || fieldValue.includes(etag)) return etag
  const coding = codings.find((one) => isAccepted(one) && fieldValue.includes(codedTag(etag, one)))
  return coding === undefined ? etag : codedTag(etag, coding)
}

/** Whether `Accept-Encoding` accepts a content coding (RFC 9110 §12.5.3). Without the field, plugins do not compress. */
export function acceptsCoding(acceptEncoding: string | undefined, coding: string): boolean {
  const accepted = new Map<string, boolean>()
  for (const member of firstMembers(acceptEncoding ?? '')) {
    const [name = '', weight = ''] = memberParts(member)
    accepted.set(directiveName(name), !/^q\s*=\s*0(?:\.0*)?$/i.test(weight))
  }
  return accepted.get(coding) ?? accepted.get('*') ?? false
}
