import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { mediaTypeOf } from '../http/media-types.js'
import { exactJson, holdsBigInt, isBigIntPatched } from '../json/exact-json.js'
import type { OnLostDigits } from '../json/int64.js'
import { hasLongInteger } from '../json/json-text.js'
import type { Write } from '../json/object-writer.js'
import { parseExact } from '../json/parse-exact.js'
import type { Selection } from '../json/selection.js'
import { WriterCompiler } from '../json/writer.js'
import { compileConditions, loadAjv } from '../json-schema/ajv.js'
import type { CompileSerializer } from '../json-schema/alternatives.js'
import { isSchemaObject, type Json, type SchemaStore, schemaText } from '../json-schema/json-schema.js'
import { isProviderSchema } from '../json-schema/provider-schema.js'
import { bodyFor, responseBodies } from '../json-schema/responses.js'
import { anything, type Shape } from '../json-schema/shape.js'
import { shapeOf } from '../json-schema/shape-reader.js'
import { containsInt64 } from '../json-schema/twins.js'
import { reporterOf } from '../rules/report.js'
import { hasReplySerializer } from './internals.js'
import { lazily } from './lazily.js'
import { hasCompiledSerializer, hasSerializerOfItsOwn, hookError, passString } from './reply.js'
import { addHook } from './route.js'
import { jsonSchemasOf } from './route-schemas.js'
import { type RequestSelection, selectionOf } from './selection.js'
import { routeSlot } from './slots.js'

/** How responses of one status (and of one media type, if the schema has several) become JSON. */
export interface ResponseWriter {
  /** The key of the response schema: a status, a class of statuses or `default`. */
  readonly status: string
  /** `null` for any. */
  readonly mediaType: string | null
  readonly shape: Shape
  /** Whether declared 64-bit integers have twins in it, which Fastify cannot write. */
  readonly hasTwins: boolean
  readonly write: Write
  /** Fastify's serializer of a schema of one media type; `null` if `reply.serialize()` finds the serializer. */
  readonly stringify: ((payload: unknown) => string) | null
}

/** Writes the responses of a route as JSON, where fields are selected or integers have twins. */
export class RouteSerialization {
  /** Set before the app is ready. */
  twins = false
  /** What a request gets that has selected nothing, on a route that hides fields. */
  unselected: ((request: FastifyRequest) => RequestSelection | null) | null = null
  readonly #app: FastifyInstance
  readonly #route: string
  readonly #compiler: RouteOptions['serializerCompiler']
  readonly #response: unknown
  readonly #statuses: ReadonlySet<string>
  #writers: readonly ResponseWriter[] = []
  readonly #byStatus = new Map<number, ResponseWriter | null>()
  #open: ResponseWriter | null = null
  #prepared = false
  // The app serializes all replies alike: its JSON need not follow the schemas.
  #isOfTheApp = false
  /** Whether the app compiles the serializers: the conventions apply to the JSON that these make. Known once prepared. */
  isCompiled = false

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
    const declared = typeof response === 'object' && response !== null ? Object.keys(response) : []
    this.#statuses = new Set(declared.map((status) => status.toLowerCase()))
  }

  get #shared(): SharedWriters {
    return sharedWriters(this.#app, this.twins, this.isCompiled, this.#route)
  }

  /** Reads the response schemas and compiles their writers, once all shared schemas are known. */
  prepare(): void {
    if (this.#prepared) return
    this.#prepared = true
    this.#isOfTheApp = hasReplySerializer(this.#app)
    if (this.#isOfTheApp) return
    this.isCompiled = hasCompiledSerializer(this.#app, this.#compiler)
    try {
      this.#writers = responseWriters(this.#app, this.#response, this.#shared)
    } catch (error) {
      const reason = `its response schema cannot be read: ${(error as Error).message}`
      for (const plugin of ['fields', 'integerTwins']) {
        reporterOf(this.#app).addException({
          plugin,
          route: this.#route,
          rules: [plugin],
          reason,
          declared: false,
          unused: false,
        })
      }
    }
  }

  /** Known once it is prepared. */
  get isReadable(): boolean {
    return this.#writers.length > 0
  }

  /** The writer of a status, found as Fastify finds its serializer: by the status, by its class, the default. */
  writerFor(status: number, contentType = 'application/json'): ResponseWriter | null {
    return bodyFor(this.#writers, status, mediaTypeOf(contentType))
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
      next(hookError(error))
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
    const { statusCode: status } = reply
    this.prepare()
    const selection = status < 300 ? this.#selectionFor(request) : null
    if (this.#isOfTheApp && selection?.hides !== true) return null
    const selected = selection === null ? null : this.selected(selection, reply)
    if (selected !== null) return selected.write(this.#sentOf(reply, payload), throwLost, selected.of)
    const writer = this.#writerOf(reply)
    if (this.isCompiled && this.#hasSchemaOf(status)) {
      const isOurs = writer !== null && (writer.hasTwins || (this.twins && holdsBigInt(payload)))
      return isOurs ? writer.write(this.#sentOf(reply, payload), throwLost) : null
    }
    if (writer?.hasTwins) return writer.write(payload, throwLost)
    // Where the schema could not be read, only Fastify knows what it lets out.
    if (!this.twins || (writer === null && this.#hasSchemaOf(status))) return null
    return jsonOfFastify(reply, payload, writer)
  }

  #sentOf(reply: FastifyReply, payload: unknown): unknown {
    if (!this.isCompiled || !this.#hasSchemaOf(reply.statusCode)) return payload
    try {
      return parseExact(reply.serialize(payload as object) as string)
    } catch (error) {
      if (!(error instanceof TypeError) || !holdsBigInt(payload)) throw error
      throw new TypeError('the serializer of the app cannot write a BigInt: see docs/type-providers.md', {
        cause: error,
      })
    }
  }

  /** Returns what writes a successful answer, and what is selected of it; `null` where all is sent. */
  selected(
    selection: RequestSelection,
    reply: FastifyReply,
  ): { readonly write: Write; readonly of: Selection } | null {
    const { statusCode: status } = reply
    if (status === 202 && !selection.hides) return null
    const writer = this.#writerOf(reply)
    if (writer !== null) return { write: writer.write, of: selection.of(writer.shape, status) }
    if (selection.hides)
      throw new TypeError(
        'hidden fields cannot be removed from this response, because no schema describes its status',
      )
    // A list without a schema has what its items have.
    if (status !== 200 || this.#hasSchemaOf(status)) return null
    this.#open ??= openWriter(this.#shared)
    return { write: this.#open.write, of: selection.of(anything, status) }
  }

  /** Returns the writer of a payload that gets twins; `null` if it has none. */
  twinnedWriter(reply: FastifyReply, payload: unknown): ResponseWriter | null {
    const writer = this.#writerOf(reply)
    if (!writer?.hasTwins && !holdsBigInt(payload)) return null
    if (writer === null && this.#hasSchemaOf(reply.statusCode)) return null
    this.#open ??= openWriter(this.#shared)
    return writer ?? this.#open
  }

  #selectionFor(request: FastifyRequest): RequestSelection | null {
    const selected = selectionOf(request)
    return selected === undefined ? (this.unselected?.(request) ?? null) : selected
  }

  #hasSchemaOf(status: number): boolean {
    return [`${status}`, `${Math.trunc(status / 100)}xx`, 'default'].some((key) => this.#statuses.has(key))
  }

  #writerOf(reply: FastifyReply): ResponseWriter | null {
    const { statusCode: status } = reply
    const known = this.#byStatus.get(status)
    if (known !== undefined) return known
    const writer = this.writerFor(status, String(reply.getHeader('content-type') ?? ''))
    if (this.#writers.every(({ mediaType }) => mediaType === null)) this.#byStatus.set(status, writer)
    return writer
  }
}

export function serializationOf(app: FastifyInstance, route: RouteOptions): RouteSerialization {
  const known = serializations.get(route)
  if (known !== undefined) return known
  const name = `${[route.method].flat().join(', ')} ${route.url}`
  const { response } = jsonSchemasOf(route) ?? {}
  const serialization = new RouteSerialization(app, response, name, route.serializerCompiler)
  serializations.set(route, serialization)
  addHook(route, 'preSerialization', 'serialization', serialization.serialize)
  prepareWhenReady(app, serialization)
  return serialization
}

/** Whether integers that a Number cannot hold get string twins in the answer to a request. */
export function writesTwins(request: FastifyRequest): boolean {
  return serializations.of(request)?.twins ?? false
}

const serializations = routeSlot<RouteSerialization>('serialization')

const pending = new WeakMap<FastifyInstance, RouteSerialization[]>()

/** Prepares a serialization when the app gets ready, so that no request waits for the compiler. */
function prepareWhenReady(app: FastifyInstance, serialization: RouteSerialization): void {
  const known = pending.get(app)
  if (known !== undefined) {
    known.push(serialization)
    return
  }
  const all = [serialization]
  pending.set(app, all)
  app.addHook('onReady', async function compileWriters() {
    for (const one of all) one.prepare()
    if (all.some((one) => one.isCompiled)) await loadAjv()
  })
}

/** What the routes of a context share. */
interface SharedWriters {
  readonly compile: CompileSerializer
  readonly twins: boolean
  readonly compiler: WriterCompiler
  /** By the JSON of the schema: in one context, equal schemas mean the same. */
  readonly bySchema: Map<string, Body>
  readonly shapes: Map<string, Shape>
}

type Body = Omit<ResponseWriter, 'status' | 'mediaType' | 'stringify'>

const sharedOfApps = new WeakMap<FastifyInstance, Map<string, SharedWriters>>()

function sharedWriters(
  app: FastifyInstance,
  twins: boolean,
  isCompiled: boolean,
  route: string,
): SharedWriters {
  const ofApp = sharedOfApps.get(app) ?? new Map<string, SharedWriters>()
  sharedOfApps.set(app, ofApp)
  const key = `${twins} ${isCompiled}`
  const known = ofApp.get(key)
  if (known !== undefined) return known
  const compile = isCompiled ? compileConditions : compilerOf(app, route)
  const compiler = new WriterCompiler(twins, compile)
  const shared = { compile, twins, compiler, bySchema: new Map(), shapes: new Map() }
  ofApp.set(key, shared)
  return shared
}

// Compiles a schema as Fastify does in the context of the route.
function compilerOf(app: FastifyInstance, route: string): CompileSerializer {
  return function compileAsFastify(schema) {
    const compile = app.serializerCompiler
    if (compile === undefined) throw new TypeError('the app has no serializer compiler yet')
    return compile({ schema, method: 'GET', url: route, httpStatus: '200' })
  }
}

function responseWriters(
  app: FastifyInstance,
  response: unknown,
  shared: SharedWriters,
): readonly ResponseWriter[] {
  const bodies = responseBodies(response).filter(
    ({ schema }) => isSchemaObject(schema) && !isProviderSchema(schema),
  )
  return bodies.map(({ status, mediaType, schema }) => {
    const stringify = mediaType === null ? null : lazily(() => shared.compile(schema as Json))
    return { status, mediaType, ...bodyOf(app, schema as Json, shared), stringify }
  })
}

function bodyOf(app: FastifyInstance, schema: Json, shared: SharedWriters): Body {
  const text = schemaText(schema)
  const known = text === null ? undefined : shared.bySchema.get(text)
  if (known !== undefined) return known
  const { compile, twins, shapes } = shared
  const shape = shapeOf(schema, app.getSchemas() as SchemaStore, { compile, int64: twins, known: shapes })
  const body = bodyOfShape(shape, shared)
  if (text !== null) shared.bySchema.set(text, body)
  return body
}

function bodyOfShape(shape: Shape, { twins, compiler }: SharedWriters): Body {
  const hasTwins = twins && containsInt64(shape)
  return {
    shape,
    hasTwins,
    write: hasTwins ? compiler.writerOf(shape) : lazily(() => compiler.writerOf(shape)),
  }
}

function openWriter(shared: SharedWriters): ResponseWriter {
  return { status: 'default', mediaType: null, ...bodyOfShape(anything, shared), stringify: null }
}

function jsonOfFastify(reply: FastifyReply, payload: unknown, writer: ResponseWriter | null): string {
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
const throwLost: OnLostDigits = () => {
  throw new TypeError(
    'a declared 64-bit integer is a Number beyond 2^53: its digits are lost; hand over a BigInt or a string',
  )
}
