import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { mediaTypeOf } from '../http/media-types.js'
import { exactJson } from '../representation/output/exact-json.js'
import type { OnLostDigits } from '../representation/output/integer-text.js'
import { hasLongDigits } from '../representation/output/json-text.js'
import { type Shape, shapeOf } from '../representation/output/schema-shape.js'
import { someShape } from '../representation/output/some-shape.js'
import { containsWide } from '../representation/output/twins.js'
import type { Write } from '../representation/output/write.js'
import { WriterCompiler } from '../representation/output/writer.js'
import type { Json, SchemaStore } from '../representation/schema/schema-refs.js'
import {
  hasSerializerOfItsOwn,
  hasSerializerOfTheApp,
  hasSerializerOptions,
  passString,
} from './reply-serializer.js'
import { reporterOf } from './report.js'
import type { Selection } from './selection.js'

/** Where the selection of a request is kept. */
export const selectionOfRequest = Symbol.for('fastify-conventions.selection')

/** How Fastify's answers of one status, and of one media type where the schema tells them apart, become JSON. */
export interface ResponseWriter {
  readonly shape: Shape
  readonly compiler: WriterCompiler
  /**
   * Does this package write it, rather than look through what Fastify has written? So it must with 64-bit integers, and
   * where the schema depends on the media type; so it does with twins where the schema names all there is, for it
   * looks at integers as it writes them.
   */
  readonly always: boolean
  /** Writes the whole. Compiled when first called. */
  readonly write: Write
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
  readonly #app: FastifyInstance
  readonly #route: string
  readonly #compiler: RouteOptions['serializerCompiler']
  readonly #response: unknown
  #writers: ReadonlyMap<string, ResponseWriter> = new Map()
  readonly #byStatus = new Map<number, ResponseWriter | null>()
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
        reporterOf(this.#app).except({ plugin, route: this.#route, rules: [plugin], reason, unused: false })
      }
    }
  }

  #readWriters(): ReadonlyMap<string, ResponseWriter> {
    const known = knownWriters(this.#app, this.#response, this.twins)
    if (known.size > 0) return known
    const shared = this.#app.getSchemas() as SchemaStore
    const read = responseSchemas(this.#response).map(({ key, schema, mediaType }) => {
      const shape = shapeOf(schema, shared, this.twins)
      const always = mediaType !== null || (this.twins && this.#writesTwins(shape))
      const writer = responseWriter(shape, new WriterCompiler(this.twins), always)
      return [mediaType === null ? key : `${key} ${mediaType}`, writer] as const
    })
    for (const [name, writer] of read) known.set(name, writer)
    return known
  }

  #writesTwins(shape: Shape): boolean {
    return containsWide(shape) || !(someShape(shape, isOpen) || hasSerializerOptions(this.#app))
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
    }
    if (!this.twins) return null
    if (writer?.always === true) return writer.write(payload, throwLost)
    // Where the schema could not be read, only Fastify knows what it lets out.
    return writer === null && this.#hasSchemaOf(status) ? null : jsonOfFastify(reply, payload, writer)
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
  const known = knownSerialization(route.config)
  if (known !== undefined) return known
  const name = `${[route.method].flat().join(', ')} ${route.url}`
  const serialization = new RouteSerialization(app, route.schema?.response, name, route.serializerCompiler)
  route.config = Object.assign({}, route.config, { [serializationOfRoute]: serialization })
  // Last: it sees what the hooks of the app make of the payload.
  route.preSerialization = [...[route.preSerialization ?? []].flat(), serialization.serialize]
  return serialization
}

/** Do integers that a Number cannot hold get string twins in the answers of a route? */
export function writesTwins(config: object | undefined): boolean {
  return knownSerialization(config)?.twins ?? false
}

function knownSerialization(config: object | undefined): RouteSerialization | undefined {
  return (config as { [serializationOfRoute]?: RouteSerialization } | undefined)?.[serializationOfRoute]
}

const serializationOfRoute = Symbol.for('fastify-conventions.serialization')

// A GET route and the HEAD route that Fastify adds to it have one response schema between them.
const writersOfApps = new WeakMap<FastifyInstance, WeakMap<object, Map<string, ResponseWriter>>[]>()

function knownWriters(app: FastifyInstance, response: unknown, twins: boolean): Map<string, ResponseWriter> {
  if (typeof response !== 'object' || response === null) return new Map()
  const ofApp = writersOfApps.get(app) ?? [new WeakMap(), new WeakMap()]
  writersOfApps.set(app, ofApp)
  const ofPurpose = ofApp[twins ? 1 : 0] as WeakMap<object, Map<string, ResponseWriter>>
  const known = ofPurpose.get(response) ?? new Map<string, ResponseWriter>()
  ofPurpose.set(response, known)
  return known
}

/** What a request selects: `null` for all, `undefined` where nothing has been selected yet. */
export function selectionOf(request: FastifyRequest): Selection | null | undefined {
  return (request as FastifyRequest & { [selectionOfRequest]?: Selection | null })[selectionOfRequest]
}

/**
 * What Fastify makes of a payload, unless that has integers which a Number cannot hold: its digits tell, and then it is
 * written again, with their twins.
 */
function jsonOfFastify(reply: FastifyReply, payload: unknown, writer: ResponseWriter | null): string {
  const exact = (): string =>
    writer === null ? (exactJson(payload, true) ?? 'null') : writer.write(payload, throwLost)
  let json: string
  try {
    json = reply.serialize(payload as object) as string
  } catch (error) {
    // Fastify's writers refuse a BigInt where the schema leaves several types open, or where there is none.
    try {
      return exact()
    } catch {
      throw error
    }
  }
  return typeof json === 'string' && hasLongDigits(json) ? exact() : json
}

const throwLost: OnLostDigits = () => {
  throw new TypeError(
    'a declared 64-bit integer is a Number beyond 2^53: its digits are lost; hand over a BigInt or a string',
  )
}

// With alternatives, and with what the schema does not name, Fastify's own writers are faster.
function isOpen(shape: Shape): boolean {
  if (shape.kind === 'object') return shape.rest !== null || shape.patterns.length > 0
  return shape.kind === 'choice' || shape.kind === 'anything' || shape.kind === 'tuple'
}

function responseWriter(shape: Shape, compiler: WriterCompiler, always: boolean): ResponseWriter {
  let write: Write | undefined
  return {
    shape,
    compiler,
    always,
    write: (value, onLost) => {
      write ??= compiler.writerOf(shape)
      return write(value, onLost)
    },
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
