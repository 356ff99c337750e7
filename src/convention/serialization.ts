import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { mediaTypeOf } from '../http/media-types.js'
import { digitsIn, hasLongInteger, holdsBigInt, isBigIntPatched, parseExact } from '../json/exact-json.js'
import type { Write } from '../json/object-writer.js'
import { writerCompiler } from '../json/writer.js'
import { kept } from '../kept.js'
import { reporterOf } from '../report/report.js'
import { type CompileSerializer, compileConditions } from '../schema/alternatives.js'
import { isSchemaObject, type Json, type SchemaStore, schemaText } from '../schema/json-schema.js'
import { isProviderSchema } from '../schema/provider-schema.js'
import { bodyFor, type ResponseBody, responseBodies } from '../schema/responses.js'
import { anything, containsInt64, type Shape } from '../schema/shape.js'
import { shapeOf } from '../schema/shape-reader.js'
import { hasCompiledSerializer, hasSerializerOfItsOwn, headerOf, passString } from './exchange.js'
import { ownCompilers } from './internals.js'
import { jsonSchemasOf } from './route-schemas.js'
import { type RequestSelection, selectionOf } from './selection.js'
import { routeSlot } from './slots.js'
import type { PayloadStep } from './steps.js'

interface ShapeWriter {
  readonly shape: Shape
  /** Whether declared 64-bit integers have twins in it, which Fastify cannot write. */
  readonly hasTwins: boolean
  readonly write: Write
}

/** What writes the responses of one status, and of one media type if the schema has several. */
type ResponseWriter = ShapeWriter & Pick<ResponseBody, 'status' | 'mediaType'>

/** Writes the responses of a route as JSON, where fields are selected or integers have twins. Fastify writes all others. */
export class RouteSerialization {
  twins = false
  /** What a request gets that has selected nothing, on a route that hides fields. */
  unselected: ((request: FastifyRequest) => RequestSelection | null) | null = null
  /** Whether the app compiles the serializers: fields and twins apply to the JSON that these make. Known once prepared. */
  isCompiled = false
  /** Whether `setReplySerializer()` writes the responses, which need not follow the schemas then. Known once prepared. */
  isOfTheApp = false
  /** Whether a response schema declares 64-bit integers. Known once prepared. */
  declaresTwins = false
  readonly #app: FastifyInstance
  readonly #route: RouteOptions
  readonly #bodies: readonly ResponseBody[]
  readonly #byStatus = new Map<number, ResponseWriter | null>()
  #responses: readonly ResponseWriter[] = []
  #writers: Writers | null = null
  #isPrepared = false

  constructor(app: FastifyInstance, route: RouteOptions, response = jsonSchemasOf(route)?.response) {
    this.#app = app
    this.#route = route
    this.#bodies = responseBodies(response)
  }

  /** Reads schemas that may be unreadable or have twins when the app gets ready; the others are read when they are needed. */
  prepareAtReady(): void {
    if (this.#bodies.some(({ schema }) => !isReadLater(schema as Json))) this.prepare()
  }

  /** Reads the response schemas and compiles their writers, once all shared schemas are known. */
  prepare(): void {
    if (this.#isPrepared) return
    this.#isPrepared = true
    this.isCompiled = hasCompiledSerializer(this.#app, this.#route)
    const writers = writersOf(this.#app, this.twins, this.isCompiled)
    this.#writers = writers
    this.isOfTheApp = ownCompilers(this.#app).replySerializer
    try {
      const responses = this.#bodies.flatMap(({ status, mediaType, schema }) =>
        isSchemaObject(schema) && !isProviderSchema(schema)
          ? [{ status, mediaType, ...writers.ofSchema(schema) }]
          : [],
      )
      this.declaresTwins = responses.some(({ hasTwins }) => hasTwins)
      if (!this.isOfTheApp) this.#responses = responses
    } catch (error) {
      const route = `${[this.#route.method].flat().join(', ')} ${this.#route.url}`
      const reason = `its response schema cannot be read: ${(error as Error).message}`
      for (const plugin of ['fields', 'integerTwins']) {
        const exception = { plugin, route, rules: [plugin], reason, declared: false }
        reporterOf(this.#app).addException(exception)
      }
    }
  }

  /** Whether a response may have declared twins. */
  get hasReadSchemas(): boolean {
    return this.#responses.length > 0
  }

  /** The shapes of the answers of some statuses, in their order; each once. */
  shapesOf(statuses: readonly number[]): readonly Shape[] {
    this.prepare()
    return [...new Set(statuses.flatMap((status) => bodyFor(this.#responses, status)?.shape ?? []))]
  }

  readonly serialize: PayloadStep = (request, reply, payload) => {
    if (payload === null || hasSerializerOfItsOwn(reply)) return undefined
    const json = this.#jsonOf(request, reply, payload)
    if (json === null) return undefined
    passString(reply)
    return { rule: 'serialization', given: '', payload: json, isNeeded: true }
  }

  /** The JSON of a payload; `null` where it is left to Fastify. */
  #jsonOf(request: FastifyRequest, reply: FastifyReply, payload: unknown): string | null {
    this.prepare()
    const { statusCode: status } = reply
    const selected = selectionOf(request)
    const selection = selected === undefined ? (this.unselected?.(request) ?? null) : selected
    const isSelected =
      selection !== null && status < 300 && (selection.hides || (status !== 202 && !this.isOfTheApp))
    const json = isSelected ? this.#selectedJson(selection, reply, payload) : null
    if (json !== null || !this.twins || this.isOfTheApp) return json
    const writer = this.#writerOf(reply)
    const isOurs = this.isCompiled || writer?.hasTwins || (writer === null && this.#hasSchemaOf(status))
    return isOurs ? this.twinnedJson(reply, payload) : this.#jsonOfFastify(reply, payload)
  }

  /** The JSON of what a request selects of a payload; `null` where all is sent. */
  #selectedJson(selection: RequestSelection, reply: FastifyReply, payload: unknown): string | null {
    const writer = this.#writerOf(reply)
    if (writer !== null)
      return writer.write(this.#sentOf(reply, payload), selection.of(writer.shape, reply.statusCode))
    if (selection.hides)
      throw new TypeError(
        'hidden fields cannot be removed from this response, because no schema describes its status',
      )
    // The items of a list without a schema have the fields that they have.
    if (reply.statusCode !== 200 || this.#hasSchemaOf(200)) return null
    return this.#open.write(payload, selection.of(anything, 200))
  }

  twinnedJson(reply: FastifyReply, payload: unknown): string | null {
    const writer = this.#writerOf(reply)
    if (!writer?.hasTwins && !holdsBigInt(payload)) return null
    if (writer !== null) return writer.write(this.#sentOf(reply, payload))
    // Where the schema could not be read, only Fastify knows which members it has.
    return this.#hasSchemaOf(reply.statusCode) ? null : this.#open.write(payload)
  }

  /** The JSON that Fastify writes of a payload, unless it holds integers that need twins. */
  #jsonOfFastify(reply: FastifyReply, payload: unknown): string | null {
    if (isBigIntPatched() && holdsBigInt(payload)) return this.twinnedJson(reply, payload)
    let json: string | null = null
    try {
      json = this.#stringify(reply, payload)
    } catch (error) {
      // Fastify throws on a BigInt if the schema has several types, or if there is no schema.
      if (!holdsBigInt(payload)) throw error
    }
    return json === null || hasLongInteger(json) ? (this.twinnedJson(reply, payload) ?? json) : json
  }

  #stringify(reply: FastifyReply, payload: unknown): string {
    const { status = '', mediaType = null } = this.#writerOf(reply) ?? {}
    // `reply.serialize()` does not look for the serializer of a media type.
    const stringify = mediaType === null ? undefined : reply.getSerializationFunction(status, mediaType)
    return stringify === undefined
      ? (reply.serialize(payload) as string)
      : stringify(payload as Record<string, unknown>)
  }

  /** What the serializer of the app makes of a payload: it may convert values, and leave some out. */
  #sentOf(reply: FastifyReply, payload: unknown): unknown {
    if (!this.isCompiled || !this.#hasSchemaOf(reply.statusCode)) return payload
    try {
      // A long number that the payload does not hold has been rounded.
      return parseExact(this.#stringify(reply, payload), () => digitsIn(payload))
    } catch (error) {
      if (!(error instanceof TypeError) || !holdsBigInt(payload)) throw error
      throw new TypeError('the serializer of the app cannot write a BigInt: see docs/type-providers.md', {
        cause: error,
      })
    }
  }

  get #open(): ShapeWriter {
    return (this.#writers as Writers).open
  }

  #hasSchemaOf(status: number): boolean {
    const keys = [`${status}`, `${Math.trunc(status / 100)}xx`, 'default']
    return this.#bodies.some((body) => keys.includes(body.status))
  }

  #writerOf(reply: FastifyReply): ResponseWriter | null {
    const { statusCode: status } = reply
    const known = this.#byStatus.get(status)
    if (known !== undefined) return known
    const writer = bodyFor(this.#responses, status, mediaTypeOf(headerOf(reply, 'content-type')))
    if (this.#responses.every(({ mediaType }) => mediaType === null)) this.#byStatus.set(status, writer)
    return writer
  }
}

/** Returns the serialization of a route, which its conventions share: each gives {@link RouteSerialization.serialize} as step. */
export function serializationOf(app: FastifyInstance, route: RouteOptions): RouteSerialization {
  return kept(serializations, route, () => {
    const serialization = new RouteSerialization(app, route)
    reporterOf(app).checkAtReady(() => serialization.prepareAtReady())
    return serialization
  })
}

/** Whether a schema says all by itself, so that reading it cannot fail, and declares no 64-bit integer. */
function isReadLater(schema: Json): boolean {
  const text = schemaText(schema)
  return text !== null && !/"(?:\$ref|allOf|anyOf|oneOf|if|patternProperties|u?int64)"|"items":\[/.test(text)
}

const serializations = routeSlot<RouteSerialization>('serialization')

/** Whether integers that a Number cannot hold get string twins in the answer to a request. */
export function writesTwins(request: FastifyRequest): boolean {
  return serializations.of(request)?.twins ?? false
}

type Writers = ReturnType<typeof newWriters>

/** What the routes of a context share: in one context, equal schemas mean the same. */
function newWriters(app: FastifyInstance, twins: boolean, isCompiled: boolean) {
  const compile = isCompiled ? compileConditions : compilerOf(app)
  const compiler = writerCompiler(twins, compile)
  const bySchema = new Map<string, ShapeWriter>()

  function ofShape(shape: Shape): ShapeWriter {
    if (containsInt64(shape)) return { shape, hasTwins: true, write: compiler.writerOf(shape) }
    // Most responses without twins are never written by this package.
    return { shape, hasTwins: false, write: (...given) => compiler.writerOf(shape)(...given) }
  }

  return {
    open: ofShape(anything),
    ofSchema(schema: Json): ShapeWriter {
      const options = { compile, int64: twins }
      const make = () => ofShape(shapeOf(schema, app.getSchemas() as SchemaStore, options))
      const text = schemaText(schema)
      return text === null ? make() : kept(bySchema, text, make)
    },
  }
}

const writersOfApps = new WeakMap<FastifyInstance, Map<string, Writers>>()

function writersOf(app: FastifyInstance, twins: boolean, isCompiled: boolean): Writers {
  const ofApp = kept(writersOfApps, app, () => new Map<string, Writers>())
  return kept(ofApp, `${twins} ${isCompiled}`, () => newWriters(app, twins, isCompiled))
}

function compilerOf(app: FastifyInstance): CompileSerializer {
  return function compileAsFastify(schema) {
    const compile = app.serializerCompiler
    if (compile === undefined) throw new TypeError('the app has no serializer compiler yet')
    return compile({ schema, method: 'GET', url: '*', httpStatus: '200' })
  }
}
