import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isJson, mediaTypeOf } from '../http/media-types.js'
import type { Mode } from '../report/modes.js'
import type { Reporter } from '../report/report.js'
import { type BodyParser, bodyParsers, hasOwnJsonParser } from './internals.js'

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
  for (const [type, parser] of parsers) {
    if (!parser.asString || !isJson(mediaTypeOf(type))) continue
    const mayBeEmpty = type === 'application/json' && !hasOwnJsonParser(app)
    parsers.set(type, { ...parser, asString: false, asBuffer: true, fn: parserOfBytes(parser, mayBeEmpty) })
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

/** The error of Fastify for a body that is not JSON. */
function invalidJson(): Error {
  return Object.assign(new SyntaxError(notUtf8), { statusCode: 400, code: 'FST_ERR_CTP_INVALID_JSON_BODY' })
}
