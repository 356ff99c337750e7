import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { mediaTypeOf } from '../http/media-types.js'
import { holdsBigInt } from '../json/exact-json.js'
import type { Write } from '../json/object-writer.js'
import { parseExact } from '../json/parse-exact.js'
import type { WriterCompiler } from '../json/writer.js'
import { loadAjv } from '../json-schema/ajv.js'
import { bodyFor } from '../json-schema/responses.js'
import type { Shape } from '../json-schema/shape.js'
import { reporterOf } from '../rules/report.js'
import { hookError } from './hook-error.js'
import { hasReplySerializer, headSiblings } from './internals.js'
import {
  compileWhenNeeded,
  hasCompiledSerializer,
  hasSerializerOfItsOwn,
  passString,
} from './reply-serializer.js'
import {
  jsonIfUsual,
  jsonOfFastify,
  openWriter,
  type ResponseWriter,
  responseWriters,
  throwLost,
  type WritingPurpose,
} from './response-writers.js'
import { addHook } from './route.js'
import { jsonSchemasOf } from './route-schemas.js'
import type { Selection } from './selection.js'
import { requestSlot, routeSlot } from './slots.js'

/** Where the selection of a request is kept. */
export const selections = requestSlot<Selection | null>('selection')

/**
 * How the answers of a route become JSON, where a plugin has a say in it. One for a route: what several plugins want
 * of the payload is done in one pass over it.
 */
export class RouteSerialization {
  /** Whether integers get string twins. Set before the app is ready. */
  twins = false
  /** What a request gets that has selected nothing, on a route that hides fields. Set before the app is ready. */
  unselected: ((request: FastifyRequest) => Selection | null) | null = null
  /** Whether this package writes what it writes faster than Fastify does. Set before the app is ready. */
  fast = false
  readonly #app: FastifyInstance
  readonly #route: string
  readonly #compiler: RouteOptions['serializerCompiler']
  readonly #response: unknown
  readonly #statuses: ReadonlySet<string>
  #writers: readonly ResponseWriter[] = []
  readonly #byStatus = new Map<number, ResponseWriter | null>()
  #open: ResponseWriter | null = null
  #untwinned: WriterCompiler | null = null
  #prepared = false
  // The app serializes all replies alike: its JSON need not follow the schemas.
  #isOfTheApp = false
  // The app compiles the serializers: the conventions apply to the JSON that these make.
  #isCompiled = false

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
    const declared = typeof response === 'object' && response !== null ? Object.keys(response) : []
    this.#statuses = new Set(declared.map((status) => status.toLowerCase()))
  }

  get #purpose(): WritingPurpose {
    return { twins: this.twins, fast: this.fast, route: this.#route, isCompiled: this.#isCompiled }
  }

  /**
   * Reads the response schemas and compiles their writers, once all shared schemas are known. A route whose schemas cannot
   * be read is left to Fastify, and the report says so.
   */
  prepare(): void {
    if (this.#prepared) return
    this.#prepared = true
    this.#isOfTheApp = hasReplySerializer(this.#app)
    if (this.#isOfTheApp) return
    this.#isCompiled = hasCompiledSerializer(this.#app, this.#compiler)
    try {
      this.#writers = responseWriters(this.#app, this.#response, this.#purpose)
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

  /** Whether the app compiles the serializers of the route. Known once it is prepared. */
  get isCompiled(): boolean {
    return this.#isCompiled
  }

  /** Whether there is an answer that this package can write. Known once it is prepared. */
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
    const narrow = selection === null ? null : this.narrowing(selection, reply)
    if (narrow !== null) return narrow.write(this.#sentOf(reply, payload), throwLost)
    const writer = this.#writerOf(reply)
    if (this.#isCompiled && this.#hasSchemaOf(status)) {
      const isOurs = writer !== null && (writer.by === 'own' || (this.twins && holdsBigInt(payload)))
      return isOurs ? writer.write(this.#sentOf(reply, payload), throwLost) : null
    }
    if (writer?.by === 'own') return writer.write(payload, throwLost)
    if (writer?.by === 'fast') return jsonIfUsual(payload, writer)
    // Where the schema could not be read, only Fastify knows what it lets out.
    if (!this.twins || (writer === null && this.#hasSchemaOf(status))) return null
    return jsonOfFastify(reply, payload, writer)
  }

  /** The value that the app's serializer sends for a payload: converted and without what its schema leaves out. */
  #sentOf(reply: FastifyReply, payload: unknown): unknown {
    if (!this.#isCompiled || !this.#hasSchemaOf(reply.statusCode)) return payload
    try {
      return parseExact(reply.serialize(payload as object) as string)
    } catch (error) {
      if (!(error instanceof TypeError) || !holdsBigInt(payload)) throw error
      throw new TypeError('the serializer of the app cannot write a BigInt: see docs/type-providers.md', {
        cause: error,
      })
    }
  }

  /**
   * What writes the fields that are selected of a successful answer, and what all of it; `null` where all are sent.
   *
   * @throws TypeError where hidden fields cannot be left out
   */
  narrowing(selection: Selection, reply: FastifyReply): Rewriting | null {
    const { statusCode: status } = reply
    if (status === 202 && !selection.hides) return null
    const writer = this.#writerOf(reply)
    if (writer !== null) return { write: selection.forStatus(status).writerFor(writer), whole: writer.write }
    if (selection.hides)
      throw new TypeError(
        'hidden fields cannot be removed from this response, because no schema describes its status',
      )
    // A list without a schema has what its items have.
    if (status !== 200 || this.#hasSchemaOf(status)) return null
    this.#open ??= openWriter(this.#app, this.#purpose)
    const open = this.#open
    return { write: selection.writerFor(open), whole: open.write }
  }

  /** What writes a payload with twins, and what without; `null` where it has none. */
  twinning(reply: FastifyReply, payload: unknown): Rewriting | null {
    const writer = this.#writerOf(reply)
    if (writer?.by !== 'own' && !holdsBigInt(payload)) return null
    if (writer === null && this.#hasSchemaOf(reply.statusCode)) return null
    this.#open ??= openWriter(this.#app, this.#purpose)
    const { shape, write, compiler } = writer ?? this.#open
    this.#untwinned ??= compiler.withoutTwins()
    return { write, whole: this.#untwinned.writerOf(shape) }
  }

  #selectionFor(request: FastifyRequest): Selection | null {
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

/** What writes a changed answer, and what the answer as it is. */
export interface Rewriting {
  readonly write: Write
  readonly whole: Write
}

/** The serialization of a route, made when a plugin first asks for it. Call it from an `onRoute` hook. */
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

/** Lets this package write the answers of all later routes that it writes faster than Fastify, with the same bytes. */
export function writeFast(app: FastifyInstance): void {
  const isHeadSibling = headSiblings(app)
  app.addHook('onRoute', function writeFastOnRoute(route) {
    const isSibling = isHeadSibling(route)
    if (route.schema?.response === undefined || hasCompiledSerializer(this, route.serializerCompiler)) return
    serializationOf(this, route).fast = true
    if (isSibling) compileWhenNeeded(this, route)
  })
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

/** What a request selects: `null` for all, `undefined` where nothing has been selected yet. */
export function selectionOf(request: FastifyRequest): Selection | null | undefined {
  return selections.get(request)
}
