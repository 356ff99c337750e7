import type { FastifyInstance } from 'fastify'
import { privateField } from '../../fastify/private-field.js'
import { validationMessage } from '../../problem/validation-issues.js'

/**
 * Bounds the messages of validation errors in a context and those below it. A formatter of the app stays, be it set
 * before or after.
 */
export function boundValidationMessages(app: FastifyInstance): void {
  if (formatterOf(app) !== null) return
  app.setSchemaErrorFormatter((faults, part) => new Error(validationMessage(faults, part)))
}

/** The formatter that is set; `null` for none. */
const formatterOf = privateField<unknown>('fastify.schemaErrorFormatter')
