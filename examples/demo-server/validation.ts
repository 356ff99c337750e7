import AjvCompiler from '@fastify/ajv-compiler'
import type { FastifySchemaCompiler } from 'fastify'

/**
 * Validates each part of a request by its nature. A JSON body has types of its own, so nothing in it is converted:
 * `"31"` is no integer. Path and query are text, so what becomes of them follows from the schema. What no schema
 * knows is refused, not removed.
 */
export function validatorCompiler(): FastifySchemaCompiler<unknown> {
  const build = AjvCompiler()
  const shared = { removeAdditional: false, allErrors: false } as const
  const compileBody = build({}, { customOptions: { ...shared, coerceTypes: false } })
  const compileText = build({}, { customOptions: { ...shared, coerceTypes: true } })
  return function compileSchema({ schema, httpPart }) {
    const compile = httpPart === 'body' ? compileBody : compileText
    return compile({ schema }) as ReturnType<FastifySchemaCompiler<unknown>>
  }
}
