import type { Ajv } from 'ajv'
import { exactJson } from '../json/exact-json.js'
import { newAjv } from './ajv.js'
import type { CompileSerializer } from './alternatives.js'
import { isSchemaObject } from './json-schema.js'

let ajv: Ajv | undefined

/**
 * Compiles serializers for values that the app has serialized already, where the app's own compiler need not know JSON
 * Schema: Ajv tells alternatives apart, and everything else is written as it is.
 */
export const compileConditions: CompileSerializer = (schema) => {
  if (!isSchemaObject(schema) || schema.if === undefined) return (value) => exactJson(value, false) ?? 'null'
  ajv ??= newAjv({ validateFormats: false })
  const { if: condition, definitions = {} } = schema
  const holds = ajv.compile({ definitions, allOf: [condition] })
  return (value) => (holds(value) ? '1' : '0')
}
