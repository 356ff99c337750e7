import { isJson, mediaTypeOf } from '../../http/media-types.js'
import { ProblemError } from '../../problem/problem-error.js'
import { clip } from '../../text.js'

/** The content of a request, and what its context parses. */
export interface Content {
  readonly method: string
  readonly contentType: string | undefined
  /** Whether it has a coding other than `identity`. */
  readonly isCoded: boolean
  /** Whether the body was parsed as text. */
  readonly isText: boolean
  readonly parses: (mediaType: string) => boolean
}

/**
 * Returns the problem, or a 415 in its place: for a body that is not JSON and fails the schema as a whole, because
 * Fastify parses text/plain by default. Adds to each 415 the media types that the context parses: `Accept-Patch` for
 * PATCH (RFC 5789 §2.2), `Accept` for other methods (RFC 9110 §15.5.16).
 */
export function unsupportedMediaType(problem: ProblemError, content: Content): ProblemError {
  const sent = mediaTypeOf(content.contentType)
  const isOtherType = problem.code === 'validation' && isWholeBody(problem) && content.isText && !isJson(sent)
  if (problem.code !== 'unsupported-media-type' && !isOtherType) return problem
  // A 415 for a coding is not about the media type.
  if (content.isCoded) return problem
  return new ProblemError('unsupported-media-type', {
    detail: sent === '' ? 'The body has no Content-Type' : `${clip(sent, maxShown)} is not supported here`,
    headers: { ...problem.headers, ...acceptedTypes(content) },
    cause: problem.cause,
  })
}

const patchFormats = [
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/json',
  'application/xml',
]
const otherFormats = [
  'application/json',
  'application/xml',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
]

/** Returns `Accept-Patch` (RFC 5789 §3.1) with the patch formats that are parsed; `undefined` if there are none. */
export function acceptPatch(parses: Content['parses']): { 'accept-patch': string } | undefined {
  const types = patchFormats.filter(parses).join(', ')
  return types === '' ? undefined : { 'accept-patch': types }
}

function acceptedTypes({ method, parses }: Content): Record<string, string> | undefined {
  if (method === 'PATCH') return acceptPatch(parses)
  const types = otherFormats.filter(parses).join(', ')
  return types === '' ? undefined : { accept: types }
}

function isWholeBody({ errors }: ProblemError): boolean {
  const first = errors?.[0]
  return first?.in === 'body' && first.pointer === ''
}

const maxShown = 100
