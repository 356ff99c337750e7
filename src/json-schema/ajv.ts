import type { Ajv, Options } from 'ajv'
import { exactJson } from '../json/exact-json.js'
import type { CompileSerializer } from './alternatives.js'
import { isSchemaObject } from './json-schema.js'

let AjvClass: typeof Ajv | undefined

/** Loads Ajv, which not every app that imports this package needs. Call it before the first newAjv. */
export async function loadAjv(): Promise<void> {
  AjvClass ??= (await import('ajv')).Ajv
}

/** Returns an Ajv that only tells whether a value is valid, and accepts any keyword. */
export function newAjv(options: Options): Ajv {
  if (AjvClass === undefined) throw new TypeError('Ajv is not loaded')
  return new AjvClass({ strict: false, validateSchema: false, logger: false, ...options })
}

let ajv: Ajv | undefined

export const compileConditions: CompileSerializer = (schema) => {
  if (!isSchemaObject(schema) || schema.if === undefined) return (value) => exactJson(value, false) ?? 'null'
  ajv ??= newAjv({ validateFormats: false })
  const { if: condition, definitions = {} } = schema
  const holds = ajv.compile({ definitions, allOf: [condition] })
  return (value) => (holds(value) ? '1' : '0')
}
