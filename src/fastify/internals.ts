/**
 * What this package relies on although Fastify or Node.js does not promise it. Each function is one reliance. Checked on
 * Fastify 5.0.0 to 5.12.8 and Node.js 20 to 24: `test/fastify/internals.test.ts` runs all of them on both ends of the
 * range. Where one of Fastify is missing, {@link checkInternals} fails the boot.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify'

const checked = new WeakSet<object>()

/**
 * Checks once per app that Fastify has the private fields that the functions of this module read.
 *
 * @throws TypeError if one is missing; the message names it, and the version of Fastify
 */
export function checkInternals(app: FastifyInstance): void {
  const key = appKey(app)
  if (checked.has(key)) return
  checked.add(key)
  const Reply = decorated(app, 'reply').constructor as new (...parameters: unknown[]) => FastifyReply
  const reply = new Reply({}, {}, app.log)
  const fields = {
    'fastify.contentTypeParser': bodyParsersField(app)?.customParsers instanceof Map,
    'fastify.schemaErrorFormatter': schemaErrorFormatterField(app) !== undefined,
    'fastify.replySerializerDefault': replySerializerField(app) !== undefined,
    'fastify.schemaController': schemaControllerField(app) !== undefined,
    'fastify.options': optionsField(app) !== undefined,
    'fastify.reply.serializer': serializerField(reply) !== undefined,
    'fastify.reply.trailers': trailersField(reply) !== undefined,
    'fastify.Request': requestField(app) !== undefined,
  }
  const missing = Object.entries(fields).filter(([, isThere]) => !isThere)
  if (missing.length > 0) throw unsupported(app, missing.map(([name]) => name).join(', '))
}

function unsupported(app: FastifyInstance, fields: string): TypeError {
  return new TypeError(`fastify-conventions does not support Fastify ${app.version}: ${fields} is missing`)
}

/** A body parser, as Fastify stores it. */
export interface BodyParser {
  readonly asString: boolean
  readonly asBuffer: boolean
  readonly fn: (
    request: FastifyRequest,
    body: string | Buffer,
    done: (error: Error | null, body?: unknown) => void,
  ) => unknown
}

interface BodyParsers {
  readonly customParsers: Map<string, BodyParser>
  existingParser(type: string): boolean
  getParser(type: string): unknown
}

const bodyParsersField = privateField<BodyParsers>('fastify.contentTypeParser')

/**
 * Returns the body parsers of a context by media type, in a map that can be changed until the first request. Fastify has
 * no public way to replace a parser.
 */
export function bodyParsers(app: FastifyInstance): Map<string, BodyParser> {
  return required(app, bodyParsersField).customParsers
}

/** Whether a context parses JSON with a parser of the app. Fastify has no public getter. */
export function hasOwnJsonParser(app: FastifyInstance): boolean {
  return required(app, bodyParsersField).existingParser('application/json')
}

/**
 * Whether a context has a parser for a media type. `hasContentTypeParser()` finds neither a parser with a regular
 * expression nor the one for all types.
 */
export function parsesType(app: FastifyInstance, type: string): boolean {
  return required(app, bodyParsersField).getParser(type) !== undefined
}

const schemaErrorFormatterField = privateField<unknown>('fastify.schemaErrorFormatter')

/** Whether a context has an error formatter of the app (`setSchemaErrorFormatter()`). Fastify has no public getter. */
export function hasSchemaErrorFormatter(app: FastifyInstance): boolean {
  return schemaErrorFormatterField(app) !== null
}

const replySerializerField = privateField<unknown>('fastify.replySerializerDefault')
const schemaControllerField = privateField<{
  readonly isCustomSerializerCompiler?: boolean
  readonly isCustomValidatorCompiler?: boolean
}>('fastify.schemaController')

/** Whether a context has a serializer of the app for all replies (`setReplySerializer()`). Fastify has no public getter. */
export function hasReplySerializer(app: FastifyInstance): boolean {
  return (replySerializerField(app) ?? null) !== null
}

/** Whether a context has a serializer compiler of the app (`setSerializerCompiler()`). Fastify has no public getter. */
export function hasSerializerCompiler(app: FastifyInstance): boolean {
  return schemaControllerField(app)?.isCustomSerializerCompiler === true
}

/** Whether a context has a validator compiler of the app (`setValidatorCompiler()`). Fastify has no public getter. */
export function hasValidatorCompiler(app: FastifyInstance): boolean {
  return schemaControllerField(app)?.isCustomValidatorCompiler === true
}

const optionsField = privateField<{
  readonly serializerOpts?: object
  readonly trustProxy?: unknown
  readonly serverFactory?: unknown
}>('fastify.options')

/** Returns the `serializerOpts` of the app. `initialConfig` leaves them out. */
export function serializerOptions(app: FastifyInstance): object {
  return optionsField(app)?.serializerOpts ?? {}
}

/** Returns which options of the app decide the protocol of requests. `initialConfig` leaves them out. */
export function serverSettings(app: FastifyInstance): { trustProxy: boolean; hasServerFactory: boolean } {
  const { trustProxy, serverFactory } = optionsField(app) ?? {}
  return { trustProxy: Boolean(trustProxy), hasServerFactory: typeof serverFactory === 'function' }
}

const serializerField = privateField<unknown>('fastify.reply.serializer')

/** Returns the function that `reply.serializer()` has set; `null` for none. Fastify has no public getter. */
export function replySerializer(reply: FastifyReply): unknown {
  return serializerField(reply) ?? null
}

const trailersField = privateField<Readonly<Record<string, unknown>> | null>('fastify.reply.trailers')

/** Returns the names of a reply's trailers. Fastify has `hasTrailer()` only. */
export function trailerNames(reply: FastifyReply): string[] {
  return Object.keys(trailersField(reply) ?? {})
}

/**
 * Makes Fastify read the `Content-Type` of a request again, after a hook has changed it: `request.mediaType` keeps its first
 * result, which chooses the parser. Fastify 5.0 does not keep it.
 */
export function forgetMediaType(request: FastifyRequest): void {
  const symbol = symbolOf(request, 'fastify.request.contentType')
  if (symbol !== undefined) Reflect.set(request, symbol, undefined)
}

const requestField = privateField<{ readonly prototype: object }>('fastify.Request')
const replyField = privateField<{ readonly prototype: object }>('fastify.Reply')

/** What decorators are added to. */
export type NameOwner = 'app' | 'request' | 'reply'

/**
 * Returns the object that has the decorators of a context: the context, or the prototype of its requests or replies.
 * Fastify refuses a decorator only if that object itself has a member of the name. A context without a decorator has the
 * prototypes of the context above it.
 */
export function decorated(app: FastifyInstance, owner: NameOwner): object {
  if (owner === 'app') return app
  const Constructor = (owner === 'request' ? requestField : replyField)(app)
  if (Constructor === undefined) throw unsupported(app, `fastify.${owner}`)
  return Constructor.prototype
}

/**
 * Returns the names of the values that the requests or replies of a prototype get when they are created. The prototype has no
 * such members.
 */
export function assignedNames(prototype: object): readonly unknown[] {
  if (!Object.hasOwn(prototype, 'constructor')) return []
  const { props } = prototype.constructor as { readonly props?: readonly { readonly key: unknown }[] }
  return props?.map(({ key }) => key) ?? []
}

/**
 * Returns a reader of a private field, by the description of its symbol. Each copy of Fastify in a process has symbols of
 * its own: a symbol that was found counts only for objects that have it. The field may be inherited. The reader returns
 * `undefined` if there is no such field.
 */
function privateField<Value>(description: string): (holder: object) => Value | undefined {
  const symbols: symbol[] = []
  return function readPrivateField(holder) {
    for (const symbol of symbols) if (symbol in holder) return Reflect.get(holder, symbol) as Value
    const symbol = symbolOf(holder, description)
    if (symbol === undefined) return undefined
    symbols.push(symbol)
    return Reflect.get(holder, symbol) as Value
  }
}

function symbolOf(holder: object, description: string): symbol | undefined {
  for (let object: object | null = holder; object !== null; object = Object.getPrototypeOf(object)) {
    const symbol = Object.getOwnPropertySymbols(object).find((one) => one.description === description)
    if (symbol !== undefined) return symbol
  }
  return undefined
}

function required<Value>(app: FastifyInstance, field: (app: object) => Value | undefined): Value {
  const value = field(app)
  if (value === undefined) throw unsupported(app, 'a private field')
  return value
}

/** Returns what identifies an app: all its contexts have the same `initialConfig`. */
export function appKey(app: FastifyInstance): object {
  return app.initialConfig
}

/** Whether a context is the root of its app: each other context inherits from the context above it. */
export function isRoot(app: FastifyInstance): boolean {
  return !('register' in Object.getPrototypeOf(app))
}

/** Returns the root context of the app of a context. */
export function rootOf(app: FastifyInstance): FastifyInstance {
  return isRoot(app) ? app : rootOf(Object.getPrototypeOf(app) as FastifyInstance)
}

/** Whether a context is another one, or below it. */
export function isWithin(context: FastifyInstance, app: FastifyInstance): boolean {
  return app === context || Object.prototype.isPrototypeOf.call(app, context)
}

/**
 * Whether an error handler was set for this very context. A context without one has that of the context above. At the
 * root, a handler that is set is bound to the app, and so has no `prototype`; Fastify's own has one.
 */
export function hasErrorHandler(app: FastifyInstance): boolean {
  const above = Object.getPrototypeOf(app) as Partial<FastifyInstance>
  if (above.errorHandler !== undefined) return app.errorHandler !== above.errorHandler
  return !Object.hasOwn(app.errorHandler, 'prototype')
}

/**
 * Sets an error handler that the app may replace in the same context. Fastify warns about a second one (FSTWRN004), or
 * refuses it (`allowErrorHandlerOverride: false`). Fastify 5.0 does neither, and has no such field.
 */
export function setReplaceableErrorHandler(
  app: FastifyInstance,
  handler: Parameters<FastifyInstance['setErrorHandler']>[0],
): void {
  app.setErrorHandler(handler)
  const symbol = symbolOf(app, 'fastify.errorHandlerAlreadySet')
  if (symbol !== undefined) Reflect.set(app, symbol, false)
}

/** Whether `setNotFoundHandler()` has thrown because the context has a handler. The error has no code. */
export function isNotFoundHandlerSet(error: unknown): boolean {
  return error instanceof Error && /not found handler already set/i.test(error.message)
}

/**
 * Returns a function that recognises the HEAD routes that Fastify adds to GET routes, given all routes in their order. An
 * `onRoute` hook gets them like routes of the app.
 */
export function headSiblings(app: FastifyInstance): (route: RouteOptions & { path: string }) => boolean {
  // Fastify's types leave this option out.
  const { exposeHeadRoutes = true } = app.initialConfig as { readonly exposeHeadRoutes?: boolean }
  const exposed = new Set<string>()
  return function isHeadSibling({ method, path, exposeHeadRoute }) {
    const only = typeof method !== 'string' && method.length === 1 ? method[0] : method
    if (only !== 'HEAD') {
      const exposesHead = exposeHeadRoute ?? exposeHeadRoutes
      // If Fastify adds a HEAD route, the app can declare none afterwards.
      const isRead =
        typeof method === 'string' ? only === 'GET' : method.includes('GET') && !method.includes('HEAD')
      if (isRead && exposesHead) exposed.add(path)
      return false
    }
    // A route at `/` below a prefix has a second form with a slash, for which the hook gets the HEAD route only.
    return exposed.has(path) || (path.endsWith('/') && exposed.has(path.slice(0, -1)))
  }
}

/** A route, as Fastify prints it. */
export interface PrintedRoute {
  readonly methods: readonly string[]
  readonly path: string
}

const indent = 4
const line = /^((?:│ {3}| {4})*)(?:├──|└──) (.*?)(?: \(([A-Z-]+(?:, [A-Z-]+)*)\)(?: \{.*\})?)?$/
const emptyRoot = '(empty root node)'

/**
 * Returns the routes of an app in all its contexts, from the text of `printRoutes()`: Fastify has no other list of them. A
 * GET route and its HEAD route are one, and so are routes that differ by a constraint only.
 */
export function printedRoutes(app: FastifyInstance): PrintedRoute[] {
  const routes: PrintedRoute[] = []
  const pieces: string[] = []
  for (const text of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const [found, indentation = '', piece = '', methods = ''] = line.exec(text) ?? []
    if (found === undefined) continue
    pieces.splice(indentation.length / indent, Number.POSITIVE_INFINITY, piece.replace(emptyRoot, ''))
    const listed = methods.split(', ').filter((method) => method !== '')
    const readable = listed.includes('GET') ? listed.filter((method) => method !== 'HEAD') : listed
    for (const method of readable) routes.push({ methods: [method], path: pieces.join('') })
  }
  return routes
}

/** A plugin that adds one `onRequest` hook, such as @fastify/cors. */
type HookPlugin<Options> = (app: FastifyInstance, options: Options, done: (error?: Error) => void) => void

/**
 * Returns the `onRequest` hook of a plugin, without adding it: @fastify/cors answers each `OPTIONS` as a preflight, and has no
 * public function for its hook. The plugin gets an object that inherits from the app and has `members` of its own. Checked
 * on @fastify/cors 11.4.3, which sets up its hook synchronously.
 *
 * @throws TypeError if the plugin adds no hook
 */
export function hookOfPlugin<Options>(
  plugin: HookPlugin<Options>,
  app: FastifyInstance,
  options: Options,
  members: Readonly<Record<string, unknown>>,
): onRequestHookHandler {
  const hooks: onRequestHookHandler[] = []
  const addHook = (_name: string, hook: onRequestHookHandler) => hooks.push(hook)
  const substitute = Object.assign(Object.create(app) as FastifyInstance, members, { addHook })
  plugin(substitute, options, (error) => {
    if (error !== undefined) throw error
  })
  const [hook] = hooks
  if (hook === undefined)
    throw new TypeError('fastify-conventions does not support this version of @fastify/cors')
  return hook
}

/**
 * Whether Node.js has received all of a stream, read or not: after that, `unshift()` is an error. Public members tell only
 * when all of it is read.
 */
export function hasReceivedAll(stream: Readable): boolean {
  return (stream as Readable & { readonly _readableState: { readonly ended: boolean } })._readableState.ended
}

/** Returns the response that a connection of HTTP/1.1 still has to send; `null` for none. `clientError` has the socket only. */
export function pendingResponse(socket: object): ServerResponse | null {
  return (socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? null
}

/** Returns the request that a connection of HTTP/1.1 is receiving; `null` for none. `clientError` has the socket only. */
export function incomingRequest(socket: object): IncomingMessage | null {
  const { parser } = socket as { readonly parser?: { readonly incoming?: IncomingMessage | null } | null }
  return parser?.incoming ?? null
}

const documentMakers = new WeakSet<object>()

/**
 * Completes the OpenAPI documents that @fastify/swagger (checked with 9.9) makes for a context, each before anyone gets it.
 * The plugin has no hook for another plugin; it keeps the object that its decorator `swagger` returns. Its YAML stays as it is.
 */
export function completeDocuments(app: FastifyInstance, complete: (document: object) => void): void {
  for (
    let owner: object | null = app;
    owner !== null;
    owner = Object.getPrototypeOf(owner) as object | null
  ) {
    const make: unknown = Object.getOwnPropertyDescriptor(owner, 'swagger')?.value
    if (typeof make !== 'function' || documentMakers.has(make)) continue
    const completed = new WeakSet<object>()
    const makeCompleted = (...options: unknown[]): unknown => {
      const document: unknown = make(...options)
      if (typeof document === 'object' && document !== null && !completed.has(document)) {
        completed.add(document)
        complete(document)
      }
      return document
    }
    documentMakers.add(makeCompleted)
    Object.assign(owner, { swagger: makeCompleted })
  }
}
