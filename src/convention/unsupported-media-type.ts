import type { FastifyRequest } from 'fastify'
import { isJson, mediaTypeOf } from '../http/media-types.js'
import { ProblemError } from '../problem/problem-error.js'
import { clip } from '../text.js'

/**
 * Returns the problem, or a 415 in its place: for a body that is not JSON and fails the schema as a whole, because
 * Fastify parses text/plain by default. Adds to each 415 the media types that the context parses: `Accept-Patch` for
 * PATCH (RFC 5789 §2.2), `Accept` for other methods (RFC 9110 §15.5.16).
 */
export function unsupportedMediaType(problem: ProblemError, request: FastifyRequest): ProblemError {
  const sent = mediaTypeOf(request.headers['content-type'])
  const [first] = problem.errors ?? []
  const isWholeBody = problem.code === 'validation' && first?.in === 'body' && first.pointer === ''
  const isText = isWholeBody && typeof request.body === 'string' && !isJson(sent)
  if (problem.code !== 'unsupported-media-type' && !isText) return problem
  // A 415 for a coding is not about the media type.
  if (isCoded(request)) return problem
  const { server, method } = request
  const parses = (type: string): boolean => server.hasContentTypeParser(type)
  const types = otherFormats.filter(parses).join(', ')
  const accepted = method === 'PATCH' ? acceptPatch(parses) : types === '' ? {} : { accept: types }
  return new ProblemError('unsupported-media-type', {
    detail: sent === '' ? 'The body has no Content-Type' : `${clip(sent, 100)} is not supported here`,
    headers: { ...problem.headers, ...accepted },
    cause: problem.cause,
  })
}

/** Returns `Accept-Patch` (RFC 5789 §3.1) with the patch formats that are parsed; nothing if there are none. */
export function acceptPatch(parses: (type: string) => boolean): { 'accept-patch'?: string } {
  const types = patchFormats.filter(parses).join(', ')
  return types === '' ? {} : { 'accept-patch': types }
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

/** Whether the content has a coding other than `identity` (RFC 9110 §8.4). */
export function isCoded({ raw, method }: FastifyRequest): boolean {
  const { 'content-encoding': codings } = raw.headers
  if (codings === undefined || bodiless.has(method)) return false
  return codings.split(',').some((coding) => !uncoded.has(coding.trim().toLowerCase()))
}

const uncoded: ReadonlySet<string> = new Set(['', 'identity'])
const bodiless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])
