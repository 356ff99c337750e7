import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { mediaTypeOf } from '../http/media-types.js'
import { exactJson, holdsBigInt, isBigIntPatched } from '../json/exact-json.js'
import type { OnLostDigits } from '../json/integer-text.js'
import { hasLongInteger } from '../json/json-text.js'
import type { Write } from '../json/object-writer.js'
import { WriterCompiler } from '../json/writer.js'
import type { CompileSerializer } from '../json-schema/alternatives.js'
import type { Json, SchemaStore } from '../json-schema/json-schema.js'
import { anything, type Shape, shapeOf, someShape } from '../json-schema/shape.js'
import { containsInt64 } from '../json-schema/twins.js'
import { reporterOf } from '../rules/report.js'
import {
  hasSerializerOfItsOwn,
  hasSerializerOfTheApp,
  hasSerializerOptions,
  passString,
} from './reply-serializer.js'
import { addHook } from './route.js'
import type { Selection } from './selection.js'
import { requestSlot, routeSlot } from './slots.js'

/** Where the selection of a request is kept. */
export const selections = requestSlot<Selection | null>('selection')

/** How Fastify's answers of one status, and of one media type where the schema tells them apart, become JSON. */
export interface ResponseWriter {
  readonly shape: Shape
  readonly compiler: WriterCompiler
  /**
   * Who writes it where no fields are selected. `own`: this package, as declared 64-bit integers have twins. `fast`: this
   * package, and Fastify where a value is refused. `fastify`: Fastify, and this package only where a BigInt needs a twin.
   */
  readonly by: 'own' | 'fast' | 'fastify'
  /** Writes the whole. Compiled when first called. */
  readonly write: Write
  /** Fastify's serializer of a schema that depends on the media type; `null` where `reply.serialize()` finds it. */
  readonly stringify: ((payload: unknown) => string) | null
}

/**
 * How the answers of a route become JSON, where a plugin has a say in it. One for a route: what several plugins want
 * of the payload is done in one pass over it.
 */
export class RouteSerialization {
  /** Do integers get string twins? Set before the app is ready. */
  twins = false
  /** What a request gets that has selected nothing, on a route that hides fields. Set before the app is ready. */
  unselected: ((request: FastifyRequest) => Selection | null) | null = null
  /** Whether this package writes what it writes faster than Fastify does. Set before the app is ready. */
  fast = false
  readonly #app: FastifyInstance
  readonly #route: string
  readonly #compiler: RouteOptions['serializerCompiler']
  readonly #response: unknown
  #writers: ReadonlyMap<string, ResponseWriter> = new Map()
  readonly #byStatus = new Map<number, ResponseWriter | null>()
  #open: ResponseWriter | null = null
  #prepared = false
  #isOfTheApp = false

  /** @param route method and path pattern, for the report */
  constructor(
    app: FastifyInstance,
    response: unknown,
    route = 'a route',
    compiler?: RouteOptions['serializerCompiler'],
  ) {
    this.#app = app
    this.#compiler = compiler
    this.#route = route
    this.#response = response
  }

  /**
   * Reads the response schemas, once all shared schemas are known. A route whose schemas cannot be read is left to
   * Fastify, and the report says so.
   */
  prepare(): void {
    if (this.#prepared) return
    this.#prepared = true
    this.#isOfTheApp = hasSerializerOfTheApp(this.#app, this.#compiler)
    if (this.#isOfTheApp) return
    try {
      this.#writers = this.#readWriters()
    } catch (error) {
      const reason = `its response schema cannot be read: ${(error as Error).message}`
      for (const plugin of ['fields', 'integerTwins']) {
        reporterOf(this.#app).addException({
          plugin,
          route: this.#route,
          rules: [plugin],
          reason,
          unused: false,
        })
      }
    }
  }

  #readWriters(): ReadonlyMap<string, ResponseWriter> {
    const known = knownWriters(this.#app, this.#response, `${this.twins} ${this.fast}`)
    if (known.size > 0) return known
    const shared = this.#app.getSchemas() as SchemaStore
    const read = responseSchemas(this.#response).map(({ key, schema, mediaType }) => {
      const shape = shapeOf(schema, shared, { compile: this.#compile, int64: this.twins })
      const compiler = new WriterCompiler(this.twins, this.#compile)
      const writer: ResponseWriter = {
        shape,
        compiler,
        by: this.#writes(shape),
        write: lazily(() => compiler.writerOf(shape)),
        stringify: mediaType === null ? null : lazily(() => this.#compile(schema)),
      }
      return [mediaType === null ? key : `${key} ${mediaType}`, writer] as const
    })
    for (const [name, writer] of read) known.set(name, writer)
    return known
  }

  /** The writer of an answer that no schema describes. */
  #openWriter(): ResponseWriter {
    if (this.#open !== null) return this.#open
    const compiler = new WriterCompiler(this.twins, this.#compile)
    const write = lazily(() => compiler.writerOf(anything))
    this.#open = { shape: anything, compiler, by: 'fastify', write, stringify: null }
    return this.#open
  }

  #writes(shape: Shape): ResponseWriter['by'] {
    if (this.twins && containsInt64(shape)) return 'own'
    const isFast = this.fast && !someShape(shape, isOpen) && !hasSerializerOptions(this.#app)
    return isFast ? 'fast' : 'fastify'
  }

  /** Compiles a schema as Fastify does in the context of the route. */
  readonly #compile: CompileSerializer = (schema) => {
    const compile = this.#app.serializerCompiler
    if (compile === undefined) throw new TypeError('the app has no serializer compiler yet')
    return compile({ schema, method: 'GET', url: this.#route, httpStatus: '200' })
  }

  /** Is there an answer that this package can write? Known once it is prepared. */
  get isReadable(): boolean {
    return this.#writers.size > 0
  }

  /** The writer of a status, found as Fastify finds its serializer: by the status, by its class, the default. */
  writerFor(status: number, contentType = 'application/json'): ResponseWriter | null {
    const mediaType = mediaTypeOf(contentType)
    const keys = [`${status}`, `${Math.trunc(status / 100)}xx`, 'default']
    for (const name of keys.flatMap((key) => [key, `${key} ${mediaType}`, `${key} */*`])) {
      const writer = this.#writers.get(name)
      if (writer !== undefined) return writer
    }
    return null
  }

  /** The shapes of the answers of some statuses, in their order; each once. */
  shapesOf(statuses: readonly number[]): readonly Shape[] {
    const writers = statuses.map((status) => this.writerFor(status))
    return [...new Set(writers.flatMap((writer) => (writer === null ? [] : [writer.shape])))]
  }

  /** The `preSerialization` hook. */
  readonly serialize = (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: (error: Error | null, payload?: unknown) => void,
  ): void => {
    let json: string | null
    try {
      json = payload === null || hasSerializerOfItsOwn(reply) ? null : this.#jsonOf(request, reply, payload)
    } catch (error) {
      next(error as Error)
      return
    }
    if (json === null) next(null, payload)
    else {
      passString(reply)
      next(null, json)
    }
  }

  /** The JSON of a payload; `null` where it is left to Fastify. */
  #jsonOf(request: FastifyRequest, reply: FastifyReply, payload: unknown): string | null {
    const status = reply.statusCode
    // Routes about which nothing has to be known at boot are read when first asked.
    this.prepare()
    const selection = status < 300 ? this.#selectionFor(request) : null
    if (this.#isOfTheApp && selection?.hides !== true) return null
    const writer = this.#writerOf(status, reply)
    if (selection !== null && (status !== 202 || selection.hides)) {
      if (writer !== null) return selection.forStatus(status).writerFor(writer)(payload, throwLost)
      if (selection.hides)
        throw new TypeError('fields are hidden, and no schema says which an answer of this status has')
      // A list without a schema has what its items have.
      if (status === 200 && !this.#hasSchemaOf(status))
        return selection.writerFor(this.#openWriter())(payload, throwLost)
    }
    if (writer?.by === 'own') return writer.write(payload, throwLost)
    if (writer?.by === 'fast') return jsonIfUsual(payload, writer)
    // Where the schema could not be read, only Fastify knows what it lets out.
    if (!this.twins || (writer === null && this.#hasSchemaOf(status))) return null
    return jsonOfFastify(reply, payload, writer)
  }

  #selectionFor(request: FastifyRequest): Selection | null {
    const selected = selectionOf(request)
    return selected === undefined ? (this.unselected?.(request) ?? null) : selected
  }

  #hasSchemaOf(status: number): boolean {
    if (typeof this.#response !== 'object' || this.#response === null) return false
    const keys = Object.keys(this.#response).map((key) => key.toLowerCase())
    return [`${status}`, `${Math.trunc(status / 100)}xx`, 'default'].some((key) => keys.includes(key))
  }

  #writerOf(status: number, reply: FastifyReply): ResponseWriter | null {
    const known = this.#byStatus.get(status)
    if (known !== undefined) return known
    const writer = this.writerFor(status, String(reply.getHeader('content-type') ?? ''))
    const depends = [...this.#writers.keys()].some((key) => key.includes(' '))
    if (!depends) this.#byStatus.set(status, writer)
    return writer
  }
}

/** The serialization of a route, made when a plugin first asks for it. Call it from an `onRoute` hook. */
export function serializationOf(app: FastifyInstance, route: RouteOptions): RouteSerialization {
  const known = serializations.get(route)
  if (known !== undefined) return known
  const name = `${[route.method].flat().join(', ')} ${route.url}`
  const serialization = new RouteSerialization(app, route.schema?.response, name, route.serializerCompiler)
  serializations.set(route, serialization)
  addHook(route, 'preSerialization', 'serialization', serialization.serialize)
  return serialization
}

/** Has this package write the answers of all routes to come that it writes faster than Fastify, and as it does. */
export function writeFast(app: FastifyInstance): void {
  app.addHook('onRoute', function writeFastOnRoute(route) {
    if (route.schema?.response !== undefined) serializationOf(this, route).fast = true
  })
}

/** Whether integers that a Number cannot hold get string twins in the answer to a request. */
export function writesTwins(request: FastifyRequest): boolean {
  return serializations.of(request)?.twins ?? false
}

const serializations = routeSlot<RouteSerialization>('serialization')

// A GET route and the HEAD route that Fastify adds to it have one response schema between them.
const writersOfApps = new WeakMap<
  FastifyInstance,
  Map<string, WeakMap<object, Map<string, ResponseWriter>>>
>()

function knownWriters(app: FastifyInstance, response: unknown, purpose: string): Map<string, ResponseWriter> {
  if (typeof response !== 'object' || response === null) return new Map()
  const ofApp = writersOfApps.get(app) ?? new Map<string, WeakMap<object, Map<string, ResponseWriter>>>()
  writersOfApps.set(app, ofApp)
  const ofPurpose = ofApp.get(purpose) ?? new WeakMap<object, Map<string, ResponseWriter>>()
  ofApp.set(purpose, ofPurpose)
  const known = ofPurpose.get(response) ?? new Map<string, ResponseWriter>()
  ofPurpose.set(response, known)
  return known
}

/** What a request selects: `null` for all, `undefined` where nothing has been selected yet. */
export function selectionOf(request: FastifyRequest): Selection | null | undefined {
  return selections.get(request)
}

/** What this package writes; `null` where it refuses a value: then Fastify writes, or refuses, as without it. */
function jsonIfUsual(payload: unknown, { write }: ResponseWriter): string | null {
  try {
    return write(payload, throwLost)
  } catch {
    return null
  }
}

/** What Fastify makes of a payload, unless that holds BigInts: then it is written with their twins. */
function jsonOfFastify(reply: FastifyReply, payload: unknown, writer: ResponseWriter | null): string {
  const exact = (): string =>
    writer === null ? (exactJson(payload, true) ?? 'null') : writer.write(payload, throwLost)
  if (isBigIntPatched() && holdsBigInt(payload)) return exact()
  let json: string
  try {
    json = writer?.stringify?.(payload) ?? (reply.serialize(payload as object) as string)
  } catch (error) {
    // Fastify refuses a BigInt where the schema leaves several types open, or where there is none.
    if (!holdsBigInt(payload)) throw error
    try {
      return exact()
    } catch {
      throw error
    }
  }
  return typeof json === 'string' && hasLongInteger(json) && holdsBigInt(payload) ? exact() : json
}

const throwLost: OnLostDigits = () => {
  throw new TypeError(
    'a declared 64-bit integer is a Number beyond 2^53: its digits are lost; hand over a BigInt or a string',
  )
}

// With alternatives, and with what the schema does not name, Fastify's own serializers are faster. Merging schemas, and
// reading what every object inherits, is done its way by Fastify alone.
function isOpen(shape: Shape): boolean {
  if (shape.isMerged === true) return true
  if (shape.kind === 'object') {
    const names = [...shape.members.map(({ name }) => name), ...shape.alsoRequired]
    return shape.rest !== null || shape.patterns.length > 0 || names.some((name) => name in Object.prototype)
  }
  return shape.kind === 'choice' || shape.kind === 'anything' || shape.kind === 'tuple'
}

/** A function that is made when it is first called. */
function lazily<Parameters extends readonly unknown[]>(
  make: () => (...parameters: Parameters) => string,
): (...parameters: Parameters) => string {
  let made: ((...parameters: Parameters) => string) | undefined
  return (...parameters) => {
    made ??= make()
    return made(...parameters)
  }
}

interface ResponseSchema {
  readonly key: string
  readonly schema: Json
  readonly mediaType: string | null
}

function responseSchemas(response: unknown): ResponseSchema[] {
  if (typeof response !== 'object' || response === null) return []
  return Object.entries(response).flatMap(([status, schema]): ResponseSchema[] => {
    const key = status.toLowerCase()
    if (typeof schema !== 'object' || schema === null) return []
    if (!('content' in schema)) return [{ key, schema: schema as Json, mediaType: null }]
    return Object.entries(schema.content as Record<string, { schema: Json }>).map(([mediaType, content]) => ({
      key,
      schema: content.schema,
      mediaType: mediaTypeOf(mediaType),
    }))
  })
}
