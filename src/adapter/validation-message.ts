import type { FastifyInstance } from 'fastify'
import { validationMessage } from '../http/validation-issues.js'

/**
 * Bounds the messages of validation errors in a context and those below it. A formatter of the app stays, be it set
 * before or after.
 */
export function boundValidationMessages(app: FastifyInstance): void {
  if (formatterOf(app) !== null) return
  app.setSchemaErrorFormatter((faults, part) => new Error(validationMessage(faults, part)))
}

/** The formatter that is set; `null` for none. Fastify has no public getter, so this reads a private symbol. */
function formatterOf(app: FastifyInstance): unknown {
  for (let owner: unknown = app; owner !== null; owner = Object.getPrototypeOf(owner)) {
    const key = Object.getOwnPropertySymbols(owner).find(
      (symbol) => symbol.description === 'fastify.schemaErrorFormatter',
    )
    if (key !== undefined) return (app as unknown as Readonly<Record<symbol, unknown>>)[key]
  }
  return undefined
}
