/** What this package relies on although Fastify or Node.js does not promise it. Each function is one reliance. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { yamlOf } from '../json/json-text.js'
import { appKey } from './contexts.js'

const checked = new WeakSet<object>()

/** Checks once per app that Fastify has the private fields that the functions of this module read. */
export function checkInternals(app: FastifyInstance): void {
  const key = appKey(app)
  if (checked.has(key)) return
  checked.add(key)
  const Reply = replyField(app)
  const reply = Reply === undefined ? {} : new Reply({}, {}, app.log)
  const fields = {
    'fastify.contentTypeParser': bodyParsersField(app)?.customParsers instanceof Map,
    'fastify.canSetNotFoundHandler': notFoundField(app) !== undefined,
    'fastify.replySerializerDefault': replySerializerField(app) !== undefined,
    'fastify.schemaController': schemaControllerField(app) !== undefined,
    'fastify.options': optionsField(app) !== undefined,
    'fastify.reply.serializer': serializerField(reply) !== undefined,
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

/** Returns the body parsers of a context by media type, in a map that can be changed until the first request. */
export function bodyParsers(app: FastifyInstance): Map<string, BodyParser> {
  return required(app, bodyParsersField).customParsers
}

/** Whether a context parses JSON with a parser of the app. Fastify has no public getter. */
export function hasOwnJsonParser(app: FastifyInstance): boolean {
  return required(app, bodyParsersField).existingParser('application/json')
}

/** Whether a context has a parser for a media type. */
export function parsesType(app: FastifyInstance, type: string): boolean {
  return required(app, bodyParsersField).getParser(type) !== undefined
}

const replySerializerField = privateField<unknown>('fastify.replySerializerDefault')
const schemaControllerField = privateField<{
  readonly isCustomSerializerCompiler?: boolean
  readonly isCustomValidatorCompiler?: boolean
}>('fastify.schemaController')

/** Returns which functions of the app a context has: of `setReplySerializer()`, `setSerializerCompiler()` and the like. */
export function ownCompilers(app: FastifyInstance): {
  readonly replySerializer: boolean
  readonly serializer: boolean
  readonly validator: boolean
} {
  const { isCustomSerializerCompiler, isCustomValidatorCompiler } = schemaControllerField(app) ?? {}
  return {
    replySerializer: (replySerializerField(app) ?? null) !== null,
    serializer: isCustomSerializerCompiler === true,
    validator: isCustomValidatorCompiler === true,
  }
}

const optionsField = privateField<{
  readonly trustProxy?: unknown
  readonly serverFactory?: unknown
}>('fastify.options')

/** Returns which options of the app decide the protocol and the address of requests. `initialConfig` leaves them out. */
export function serverSettings(app: FastifyInstance): { trustProxy: unknown; hasServerFactory: boolean } {
  const { trustProxy, serverFactory } = optionsField(app) ?? {}
  return { trustProxy: trustProxy ?? false, hasServerFactory: typeof serverFactory === 'function' }
}

const replyField = privateField<new (...parameters: unknown[]) => FastifyReply>('fastify.Reply')
const serializerField = privateField<unknown>('fastify.reply.serializer')

/** Returns the function that `reply.serializer()` has set; `null` for none. Fastify has no public getter. */
export function replySerializer(reply: FastifyReply): unknown {
  return serializerField(reply) ?? null
}

/** Returns a reader of a private field, by the description of its symbol. */
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

/** Whether an error handler was set for this very context. A context without one has that of the context above. */
export function hasErrorHandler(app: FastifyInstance): boolean {
  const above = Object.getPrototypeOf(app) as Partial<FastifyInstance>
  if (above.errorHandler !== undefined) return app.errorHandler !== above.errorHandler
  return !Object.hasOwn(app.errorHandler, 'prototype')
}

/** Sets an error handler that the app may replace in the same context. */
export function setReplaceableErrorHandler(
  app: FastifyInstance,
  handler: Parameters<FastifyInstance['setErrorHandler']>[0],
): void {
  app.setErrorHandler(handler)
  const symbol = symbolOf(app, 'fastify.errorHandlerAlreadySet')
  if (symbol !== undefined) Reflect.set(app, symbol, false)
}

const notFoundField = privateField<boolean>('fastify.canSetNotFoundHandler')

/** Whether a not-found handler of the app answers the unknown paths of a context. Fastify has no public getter. */
export function hasNotFoundHandler(app: FastifyInstance): boolean {
  return notFoundField(app) === false
}

/** Whether any context of an app has a route. Fastify has no public getter. */
export function hasRoutes(app: FastifyInstance): boolean {
  return app.printRoutes() !== '(empty tree)'
}

/** Whether Node.js has received all of a stream, read or not: after that, `unshift()` is an error. */
export function hasReceivedAll(stream: Readable): boolean {
  return (stream as Readable & { readonly _readableState: { readonly ended: boolean } })._readableState.ended
}

interface Connection {
  readonly _httpMessage?: ServerResponse | null
  readonly parser?: { readonly incoming?: IncomingMessage | null } | null
}

/** Returns the response that a connection of HTTP/1.1 has to send and the request that it receives, for `clientError`. */
export function exchangeOn(socket: object): {
  readonly response: ServerResponse | null
  readonly request: IncomingMessage | null
} {
  const { _httpMessage: response, parser } = socket as Connection
  return { response: response ?? null, request: parser?.incoming ?? null }
}

const documentMakers = new WeakSet<object>()

/**
 * Completes the OpenAPI documents that @fastify/swagger (checked with 9.9) makes for a context, each before anyone gets it.
 * The plugin has no hook for another plugin; it keeps the object that its decorator `swagger` returns.
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
    const makeCompleted = (options?: { readonly yaml?: boolean }): unknown => {
      const document: unknown = make()
      if (typeof document === 'object' && document !== null && !completed.has(document)) {
        completed.add(document)
        complete(document)
      }
      return options?.yaml === true ? yamlOf(document) : document
    }
    documentMakers.add(makeCompleted)
    Object.assign(owner, { swagger: makeCompleted })
  }
}
