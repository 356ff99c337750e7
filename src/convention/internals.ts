/** What this package relies on although Fastify or Node.js does not promise it. Each function is one reliance. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { appKey } from './contexts.js'

const descriptions: string[] = []
const checked = new WeakSet<object>()

/** Checks once per app that Fastify has the private fields that the functions of this module read. */
export function checkInternals(app: FastifyInstance): void {
  if (checked.has(appKey(app))) return
  checked.add(appKey(app))
  const Reply = replyField(app)
  const holders = [app, Reply === undefined ? {} : new Reply({}, {}, app.log)]
  const missing = descriptions.filter((name) => holders.every((one) => symbolOf(one, name) === undefined))
  if (missing.length === 0) return
  throw new TypeError(
    `fastify-conventions does not support Fastify ${app.version}: ${missing.join(', ')} is missing`,
  )
}

/** Returns a reader of a private field, by the description of its symbol: each copy of Fastify has its own symbols. */
function privateField<Value>(description: string): (holder: object) => Value | undefined {
  let known: symbol | undefined
  descriptions.push(description)
  return function readPrivateField(holder) {
    if (known === undefined || !(known in holder)) known = symbolOf(holder, description)
    return known && (holder as { readonly [key: symbol]: Value })[known]
  }
}

function symbolOf(holder: object, description: string): symbol | undefined {
  for (let object: object | null = holder; object !== null; object = Object.getPrototypeOf(object)) {
    const symbol = Object.getOwnPropertySymbols(object).find((one) => one.description === description)
    if (symbol !== undefined) return symbol
  }
  return undefined
}

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
  /** By media type; the map can be changed until the first request. */
  readonly customParsers: Map<string, BodyParser>
  /** Whether the app has added a parser for a media type. Parsers of Fastify do not count. */
  existingParser(type: string): boolean
  /** Returns the parser that a body of a media type gets, also one of a pattern or of `*`. */
  getParser(type: string): unknown
}

const bodyParsersField = privateField<BodyParsers>('fastify.contentTypeParser')

export function bodyParsers(app: FastifyInstance): BodyParsers {
  return bodyParsersField(app) as BodyParsers
}

const replySerializerField = privateField<unknown>('fastify.replySerializerDefault')
const schemaControllerField = privateField<{
  readonly isCustomSerializerCompiler?: boolean
  readonly isCustomValidatorCompiler?: boolean
}>('fastify.schemaController')

/** Returns which functions of the app a context has: of `setReplySerializer()`, `setSerializerCompiler()` and the like. */
export function ownCompilers(app: FastifyInstance) {
  const { isCustomSerializerCompiler, isCustomValidatorCompiler } = schemaControllerField(app) ?? {}
  return {
    replySerializer: (replySerializerField(app) ?? null) !== null,
    serializer: isCustomSerializerCompiler === true,
    validator: isCustomValidatorCompiler === true,
  }
}

const optionsField = privateField<{ readonly trustProxy?: unknown; readonly serverFactory?: unknown }>(
  'fastify.options',
)

/** Returns which options of the app decide the protocol and the address of requests. `initialConfig` leaves them out. */
export function serverSettings(app: FastifyInstance) {
  const { trustProxy, serverFactory } = optionsField(app) ?? {}
  return { trustProxy: trustProxy ?? false, hasServerFactory: typeof serverFactory === 'function' }
}

const replyField = privateField<new (...parameters: unknown[]) => FastifyReply>('fastify.Reply')
const serializerField = privateField<unknown>('fastify.reply.serializer')

/** Returns the function that `reply.serializer()` has set; `null` for none. Fastify has no public getter. */
export function replySerializer(reply: FastifyReply): unknown {
  return serializerField(reply) ?? null
}

type ReplyHeaders = Record<string, number | string | string[] | undefined>

const headersField = privateField<ReplyHeaders>('fastify.reply.headers')

/**
 * Returns the header fields of a reply, by names in lowercase; without those of `reply.raw`. `reply.header()` and
 * `getHeader()` make a lowercase copy of each name.
 */
export function replyHeaders(reply: FastifyReply): ReplyHeaders {
  return headersField(reply) as ReplyHeaders
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
export function exchangeOn(socket: object) {
  const { _httpMessage: response, parser } = socket as Connection
  return { response: response ?? null, request: parser?.incoming ?? null }
}
