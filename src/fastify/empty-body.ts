import { AsyncResource } from 'node:async_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload, RouteOptions } from 'fastify'
import { isJson, mediaTypeOf } from '../http/media-types.js'
import { hasOwnJsonParser } from './internals.js'
import type { RawRequest } from './raw-request.js'
import { addHook } from './route.js'

type Next = (error: Error | null, payload?: RequestPayload) => void

/**
 * Takes an empty body that is announced as JSON for no body, on routes whose method may come without content, DELETE or
 * POST. Many clients send that `Content-Type` with every request, and Fastify's parser answers 400 to it. Where the app
 * parses JSON itself, or the route needs a body, the parser has its say.
 */
export class EmptyBodies {
  readonly #contexts = new Set<FastifyInstance>()
  readonly #withParser = new WeakSet<FastifyInstance>()

  /** Call it from an `onRoute` hook. */
  addRoute(app: FastifyInstance, route: RouteOptions): void {
    if (![route.method].flat().some((method) => method === 'DELETE' || method === 'POST')) return
    this.#contexts.add(app)
    addHook(route, 'preParsing', 'problems:empty-body', this.#drop)
  }

  /** Call it when the app gets ready: only then are all parsers known. */
  prepare(): void {
    for (const app of this.#contexts) if (hasOwnJsonParser(app)) this.#withParser.add(app)
  }

  readonly #drop = (
    request: FastifyRequest,
    _reply: FastifyReply,
    payload: RequestPayload,
    next: Next,
  ): void => {
    const raw = request.raw as unknown as RawRequest
    const length = lengthOf(raw)
    const isCandidate = length === 0 || (length === null && (payload as unknown) === raw)
    const isAnnounced = isCandidate && isJson(mediaTypeOf(raw.headers['content-type']))
    if (!isAnnounced || this.#withParser.has(request.server) || !takesNoBody(request)) next(null, payload)
    else if (length === 0) {
      forgetContent(raw)
      next(null, payload)
    } else awaitContent(raw, () => next(null, payload))
  }
}

/** Goes on when the first of the body is there, or its end, where there is none. */
function awaitContent(raw: RawRequest, proceed: () => void): void {
  // A stream's events do not run in the asynchronous context of the request.
  const goOn = AsyncResource.bind(function goOnWithBody() {
    raw.off('readable', goOn)
    raw.off('end', goOn)
    if (raw.readableLength === 0) forgetContent(raw)
    proceed()
  })
  // `readable` comes with the first bytes, or with the end where there are none; `end` where that has come already.
  raw.on('readable', goOn)
  raw.on('end', goOn)
}

/** Returns the length of the body as the header section tells it; `null` where it does not. */
export function lengthOf({ headers, httpVersionMajor }: RawRequest): number | null {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  if (length !== undefined) return Number(length)
  return coding === undefined && httpVersionMajor < 2 ? 0 : null
}

/** Takes away the header fields that announce content. */
export function forgetContent({ headers }: RawRequest): void {
  delete headers['content-type']
  delete headers['content-length']
  delete headers['transfer-encoding']
}

/** Whether the body schema of the route, if there is one, takes the `null` that Fastify validates for no body. */
function takesNoBody(request: FastifyRequest): boolean {
  const validate: ((body: unknown) => unknown) | undefined = request.getValidationFunction('body')
  if (validate === undefined) return true
  try {
    const verdict = validate(null)
    // Validators other than Ajv's return `{ value }` or `{ error }`. Whatever this says, Fastify validates for itself.
    return typeof verdict === 'object' && verdict !== null
      ? !('error' in verdict && Boolean(verdict.error))
      : verdict === true
  } catch {
    return false
  }
}
