import type { FastifyInstance, FastifyReply } from 'fastify'
import { exactJson, holdsBigInt, isBigIntPatched } from '../json/exact-json.js'
import type { OnLostDigits } from '../json/integer-text.js'
import { hasLongInteger } from '../json/json-text.js'
import type { Write } from '../json/object-writer.js'
import { WriterCompiler } from '../json/writer.js'
import type { CompileSerializer } from '../json-schema/alternatives.js'
import { compileConditions } from '../json-schema/conditions.js'
import { isSchemaObject, type Json, type SchemaStore, schemaText } from '../json-schema/json-schema.js'
import { isProviderSchema } from '../json-schema/provider-schema.js'
import { responseBodies } from '../json-schema/responses.js'
import { anything, type Shape, someShape } from '../json-schema/shape.js'
import { shapeOf } from '../json-schema/shape-reader.js'
import { containsInt64 } from '../json-schema/twins.js'
import { lazily } from './lazily.js'
import { hasSerializerOptions } from './reply-serializer.js'

/** How responses of one status (and of one media type, if the schema has several) become JSON. */
export interface ResponseWriter {
  /** The key of the response schema: a status, a class of statuses or `default`. */
  readonly status: string
  /** `null` for any. */
  readonly mediaType: string | null
  readonly shape: Shape
  readonly compiler: WriterCompiler
  /**
   * Who serializes if no fields are selected. `own`: this package, because declared 64-bit integers have twins. `fast`: this
   * package, and Fastify if a value is of an unexpected type. `fastify`: Fastify, and this package only if a BigInt needs a
   * twin.
   */
  readonly by: 'own' | 'fast' | 'fastify'
  /** Writes all fields. Compiled at the first call if `by` is `fastify`. */
  readonly write: Write
  /** Fastify's serializer of a schema of one media type; `null` if `reply.serialize()` finds the serializer. */
  readonly stringify: ((payload: unknown) => string) | null
}

/** Options of the writers of a route. */
export interface WritingPurpose {
  /** Whether integers get string twins. */
  readonly twins: boolean
  /** Whether this package serializes by the schemas for which it is faster than Fastify. */
  readonly fast: boolean
  /** Method and path pattern, for Fastify's compiler. */
  readonly route: string
  /** Whether the app compiles serializers, which need not know JSON Schema. */
  readonly isCompiled?: boolean
}

/**
 * The writers of the response schemas of a route, compiled. The HEAD route that Fastify adds to a GET route has the same.
 *
 * @throws TypeError for a schema that cannot be read
 */
export function responseWriters(
  app: FastifyInstance,
  response: unknown,
  purpose: WritingPurpose,
): readonly ResponseWriter[] {
  const known = knownWriters(app, response)
  const key = keyOf(purpose)
  const writers = known?.get(key) ?? newWriters(app, response, purpose)
  known?.set(key, writers)
  return writers
}

function newWriters(
  app: FastifyInstance,
  response: unknown,
  purpose: WritingPurpose,
): readonly ResponseWriter[] {
  const bodies = responseBodies(response).filter(
    ({ schema }) => isSchemaObject(schema) && !isProviderSchema(schema),
  )
  return bodies.map(({ status, mediaType, schema }): ResponseWriter => {
    const { compile, ...writer } = bodyWriter(app, schema as Json, purpose)
    return {
      status,
      mediaType,
      ...writer,
      stringify: mediaType === null ? null : lazily(() => compile(schema as Json)),
    }
  })
}

interface BodyWriter extends Pick<ResponseWriter, 'shape' | 'compiler' | 'by' | 'write'> {
  readonly compile: CompileSerializer
}

/** What the routes of a context with the same purpose share. */
interface SharedWriters {
  readonly compile: CompileSerializer
  readonly compiler: WriterCompiler
  /** By the JSON of the schema: in one context, equal schemas mean the same. */
  readonly bySchema: Map<string, BodyWriter>
  readonly shapes: Map<string, Shape>
}

function bodyWriter(app: FastifyInstance, schema: Json, purpose: WritingPurpose): BodyWriter {
  const { compile, compiler, bySchema, shapes } = sharedWriters(app, purpose)
  const text = schemaText(schema)
  const known = text === null ? undefined : bySchema.get(text)
  if (known !== undefined) return known
  const shape = shapeOf(schema, app.getSchemas() as SchemaStore, {
    compile,
    int64: purpose.twins,
    known: shapes,
  })
  const by = writtenBy(shape, app, purpose)
  const write = by === 'fastify' ? lazily(() => compiler.writerOf(shape)) : compiler.writerOf(shape)
  const writer = { shape, compiler, by, write, compile }
  if (text !== null) bySchema.set(text, writer)
  return writer
}

/** Returns the writer of a response without a schema. */
export function openWriter(app: FastifyInstance, purpose: WritingPurpose): ResponseWriter {
  const compiler = new WriterCompiler(purpose.twins, compilerOf(app, purpose))
  return {
    status: 'default',
    mediaType: null,
    shape: anything,
    compiler,
    by: 'fastify',
    write: compiler.writerOf(anything),
    stringify: null,
  }
}

function writtenBy(
  shape: Shape,
  app: FastifyInstance,
  { twins, fast, isCompiled }: WritingPurpose,
): ResponseWriter['by'] {
  if (twins && containsInt64(shape)) return 'own'
  return fast && isCompiled !== true && !someShape(shape, isOpen) && !hasSerializerOptions(app)
    ? 'fast'
    : 'fastify'
}

/** Compiles a schema as Fastify does in the context of the route. */
function compilerOf(app: FastifyInstance, { route, isCompiled }: WritingPurpose): CompileSerializer {
  if (isCompiled === true) return compileConditions
  return function compileAsFastify(schema) {
    const compile = app.serializerCompiler
    if (compile === undefined) throw new TypeError('the app has no serializer compiler yet')
    return compile({ schema, method: 'GET', url: route, httpStatus: '200' })
  }
}

const sharedOfApps = new WeakMap<FastifyInstance, Map<string, SharedWriters>>()

function sharedWriters(app: FastifyInstance, purpose: WritingPurpose): SharedWriters {
  const ofApp = sharedOfApps.get(app) ?? new Map<string, SharedWriters>()
  sharedOfApps.set(app, ofApp)
  const key = keyOf(purpose)
  const known = ofApp.get(key)
  if (known !== undefined) return known
  const compile = compilerOf(app, purpose)
  const compiler = new WriterCompiler(purpose.twins, compile)
  const shared: SharedWriters = { compile, compiler, bySchema: new Map(), shapes: new Map() }
  ofApp.set(key, shared)
  return shared
}

function keyOf({ twins, fast, isCompiled = false }: WritingPurpose): string {
  return `${twins} ${fast} ${isCompiled}`
}

// By the response schemas of a route.
const writersOfApps = new WeakMap<FastifyInstance, WeakMap<object, Map<string, readonly ResponseWriter[]>>>()

function knownWriters(
  app: FastifyInstance,
  response: unknown,
): Map<string, readonly ResponseWriter[]> | undefined {
  if (typeof response !== 'object' || response === null) return undefined
  const ofApp = writersOfApps.get(app) ?? new WeakMap<object, Map<string, readonly ResponseWriter[]>>()
  writersOfApps.set(app, ofApp)
  const known = ofApp.get(response) ?? new Map<string, readonly ResponseWriter[]>()
  ofApp.set(response, known)
  return known
}

/** Returns the JSON of a payload; `null` if a value is of an unexpected type, so that Fastify has to serialize it or throw. */
export function jsonIfUsual(payload: unknown, { write }: ResponseWriter): string | null {
  try {
    return write(payload, throwLost)
  } catch {
    return null
  }
}

/** Returns the JSON that Fastify makes of a payload; if the payload has BigInts, JSON with their twins by this package. */
export function jsonOfFastify(reply: FastifyReply, payload: unknown, writer: ResponseWriter | null): string {
  const exact = (): string =>
    writer === null ? (exactJson(payload, true) ?? 'null') : writer.write(payload, throwLost)
  if (isBigIntPatched() && holdsBigInt(payload)) return exact()
  let json: string
  try {
    json = writer?.stringify?.(payload) ?? (reply.serialize(payload as object) as string)
  } catch (error) {
    // Fastify throws on a BigInt if the schema has several types, or if there is no schema.
    if (!holdsBigInt(payload)) throw error
    try {
      return exact()
    } catch {
      throw error
    }
  }
  return typeof json === 'string' && hasLongInteger(json) && holdsBigInt(payload) ? exact() : json
}

/** Throws because digits are lost. */
export const throwLost: OnLostDigits = () => {
  throw new TypeError(
    'a declared 64-bit integer is a Number beyond 2^53: its digits are lost; hand over a BigInt or a string',
  )
}

// Fastify's serializers are faster for alternatives and for members that the schema does not name. How Fastify merges
// schemas and reads inherited properties cannot be reproduced.
function isOpen(shape: Shape): boolean {
  if (shape.isMerged === true) return true
  if (shape.kind === 'object') {
    const names = [...shape.members.map(({ name }) => name), ...shape.alsoRequired]
    return shape.rest !== null || shape.patterns.length > 0 || names.some((name) => name in Object.prototype)
  }
  return shape.kind === 'choice' || shape.kind === 'anything' || shape.kind === 'tuple'
}
