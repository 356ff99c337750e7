import type { FastifyInstance } from 'fastify'
import { validationMessage } from '../http/validation-issues.js'
import { privateField } from './private-field.js'

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
