import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { formType, isJson, mediaTypeOf } from '../http/media-types.js'
import { ProblemError } from '../problem/problem-error.js'
import type { Mode } from '../report/modes.js'
import type { Reporter } from '../report/report.js'
import { clip } from '../text.js'
import { isCoded } from './exchange.js'
import { type BodyParser, bodyParsers } from './internals.js'

/**
 * Gives the JSON parsers of a context the bytes of bodies: in Fastify's string, invalid bytes are already replaced. JSON that
 * is not UTF-8 is refused; an empty body of DELETE or POST counts as absent. Call it when all parsers are known.
 */
export function checkJsonBodies(
  app: FastifyInstance,
  modeOf: (request: FastifyRequest) => Mode,
  reporter: Reporter,
): void {
  const parsers = bodyParsers(app)
  const { customParsers } = parsers
  const isOfFastify = !parsers.existingParser('application/json')
  for (const [type, parser] of customParsers) {
    if (!parser.asString || !isJson(mediaTypeOf(type))) continue
    const mayBeEmpty = isOfFastify && type === 'application/json'
    customParsers.set(type, {
      ...parser,
      asString: false,
      asBuffer: true,
      fn: parserOfBytes(parser, mayBeEmpty),
    })
  }

  function parserOfBytes({ fn }: BodyParser, mayBeEmpty: boolean): BodyParser['fn'] {
    return function parseUtf8(request, bytes, done) {
      const mode = modeOf(request)
      if (mode !== 'off' && !isUtf8(bytes as Buffer)) {
        if (mode === 'enforce') return done(invalidJson())
        reporter.observe('problems', 'content', request, notUtf8, 400)
      }
      if (mode === 'enforce' && mayBeEmpty && bytes.length === 0 && emptied.has(request.method)) {
        return done(null, undefined)
      }
      return fn(request, String(bytes), done)
    }
  }
}

const notUtf8 = 'The body is not UTF-8, as JSON has to be'
const emptied: ReadonlySet<string> = new Set(['DELETE', 'POST'])

function invalidJson(): Error {
  return Object.assign(new SyntaxError(notUtf8), { statusCode: 400, code: 'FST_ERR_CTP_INVALID_JSON_BODY' })
}

/** Whether a request has a form without content, which nothing here parses: `curl -d ''` names this type. */
export function isEmptyForm({ headers, server }: FastifyRequest): boolean {
  return (
    headers['content-length'] === '0' &&
    mediaTypeOf(headers['content-type']) === formType &&
    !server.hasContentTypeParser(formType)
  )
}

/**
 * Returns the problem, or a 415 in its place: for a body that is not JSON and fails the schema as a whole, because
 * Fastify parses text/plain by default. Adds to each 415 the media types that the context parses: `Accept-Patch` for
 * PATCH (RFC 5789 §2.2), `Accept` for other methods (RFC 9110 §15.5.16).
 */
export function unsupportedMediaType(problem: ProblemError, request: FastifyRequest): ProblemError {
  const sent = mediaTypeOf(request.headers['content-type'])
  const [first] = problem.errors ?? []
  const isOfBody = problem.code === 'validation' && first?.in === 'body'
  const isText = isOfBody && typeof request.body === 'string' && !isJson(sent)
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
const otherFormats = ['application/json', 'application/xml', formType, 'multipart/form-data']
