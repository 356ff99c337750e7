import AjvCompiler from '@fastify/ajv-compiler'
import { errorCodes, type FastifyInstance, type FastifySchemaCompiler } from 'fastify'

/** Bytes; the longest order takes less than half of it. A fault costs more time than the bytes that it is in. */
export const longestBody = 65_536

// JSON has types of its own, so `"31"` is not an integer there; path and query are text. What no schema knows is refused.
export function validatorCompiler(): FastifySchemaCompiler<unknown> {
  const build = AjvCompiler()
  const shared = { removeAdditional: false, allErrors: true } as const
  const compileBody = build({}, { customOptions: { ...shared, coerceTypes: false } })
  const compileText = build({}, { customOptions: { ...shared, coerceTypes: true } })
  return function compileSchema({ schema, httpPart }) {
    const compile = httpPart === 'body' ? compileBody : compileText
    return compile({ schema }) as ReturnType<FastifySchemaCompiler<unknown>>
  }
}

/** Lets PATCH take merge patches (RFC 7396 §4). */
export function acceptPatches(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser(
    'application/merge-patch+json',
    { parseAs: 'string' },
    function parsePatch(request, body, done) {
      if (request.method === 'PATCH') parseJson(request, body as string, done)
      else done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE())
    },
  )
}
