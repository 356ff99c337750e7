import type { Ajv } from 'ajv'
import { exactJson } from '../json/exact-json.js'
import type { CompileSerializer } from './alternatives.js'
import { isSchemaObject } from './json-schema.js'

let ajv: Ajv | undefined

/** Loads Ajv, which not every app that imports this package needs. Call it before {@link compileConditions}. */
export async function loadAjv(): Promise<void> {
  const { Ajv } = await import('ajv')
  ajv ??= new Ajv({ strict: false, validateSchema: false, validateFormats: false, logger: false })
}

/** Compiles the conditions of alternatives where the serializer of the app cannot tell whether they hold. */
export const compileConditions: CompileSerializer = (schema) => {
  if (!isSchemaObject(schema) || schema.if === undefined) return (value) => exactJson(value, false) ?? 'null'
  if (ajv === undefined) throw new TypeError('Ajv is not loaded')
  const { if: condition, definitions = {} } = schema
  const holds = ajv.compile({ definitions, allOf: [condition] })
  return (value) => (holds(value) ? '1' : '0')
}
