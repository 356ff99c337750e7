import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isCoded } from '../../fastify/request-content.js'
import { isJson, mediaTypeOf } from '../../http/media-types.js'
import { ProblemError } from '../../problem/problem-error.js'
import { clip } from '../../text.js'

/**
 * Sees to a 415. A body that the schema refuses as a whole because it is not JSON at all (Fastify parses text/plain
 * by default) is one; and every one names the media types that the context does parse: `Accept-Patch` for PATCH
 * (RFC 5789 §2.2), `Accept` for the others (RFC 9110 §15.5.16). Other problems come back as they are.
 */
export function unsupportedMediaType(problem: ProblemError, request: FastifyRequest): ProblemError {
  const isText = problem.code === 'validation' && isWholeBody(problem) && sentNoJson(request)
  if (problem.code !== 'unsupported-media-type' && !isText) return problem
  // It is about the coding, not about the media type.
  if (isCoded(request)) return problem
  const sent = mediaTypeOf(request.headers['content-type'])
  return new ProblemError('unsupported-media-type', {
    detail:
      sent === ''
        ? 'The body has no Content-Type'
        : `${clip(sent, longestShown)} is not among the media types taken here`,
    headers: { ...problem.headers, ...takenTypes(request) },
    cause: problem.cause,
  })
}

/** `Accept-Patch` (RFC 5789 §3.1): the patch formats that the contexts have a parser for. */
export function patchTypes(contexts: Iterable<FastifyInstance>): { 'accept-patch': string } | undefined {
  const formats = ['application/merge-patch+json', 'application/json-patch+json', 'application/json']
  const all = [...contexts]
  const types = formats.filter((format) => all.some((app) => app.hasContentTypeParser(format)))
  return types.length === 0 ? undefined : { 'accept-patch': types.join(', ') }
}

function takenTypes(request: FastifyRequest): Record<string, string> | undefined {
  if (request.method === 'PATCH') return patchTypes([request.server])
  const types = parsed(request.server, [
    'application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
  ])
  return types === '' ? undefined : { accept: types }
}

function parsed(app: FastifyInstance, types: readonly string[]): string {
  return types.filter((type) => app.hasContentTypeParser(type)).join(', ')
}

function isWholeBody(problem: ProblemError): boolean {
  const [first] = problem.errors ?? []
  return first?.in === 'body' && first.pointer === ''
}

function sentNoJson(request: FastifyRequest): boolean {
  return typeof request.body === 'string' && !isJson(mediaTypeOf(request.headers['content-type']))
}

const longestShown = 100
