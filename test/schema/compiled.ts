import { createRequire } from 'node:module'
import { writerCompiler } from '../../src/json/writer.js'
import type { CompileSerializer } from '../../src/schema/alternatives.js'
import type { Json, SchemaStore } from '../../src/schema/json-schema.js'
import { shapeOf } from '../../src/schema/shape-reader.js'

type Stringify = (value: unknown) => string
type Build = (schema: Json, options: { readonly schema: SchemaStore; readonly ajv: object }) => Stringify

const requireOfFastify = createRequire(createRequire(import.meta.url).resolve('fastify'))
const build = requireOfFastify('fast-json-stringify') as Build

/** The writer that Fastify makes of a schema. */
export function fastifyWriter(schema: Json, shared: SchemaStore = {}): Stringify {
  // It completes the schemas that it is given.
  return build(structuredClone(schema), { schema: structuredClone(shared), ajv: { logger: false } })
}

/** The writer that this package makes of a schema; lost digits are an error. */
export function ourWriter(schema: Json, options: { twins: boolean; shared?: SchemaStore }): Stringify {
  const { twins, shared = {} } = options
  const compile: CompileSerializer = (one) => fastifyWriter(one, shared)
  const shape = shapeOf(schema, shared, { compile })
  const write = writerCompiler(twins, compile).writerOf(shape)
  return (value) => write(value)
}

/** Compiles a schema without shared schemas into Fastify's serializer. */
export const compileSerializer: CompileSerializer = (schema) => fastifyWriter(schema)
