import { AsyncResource } from 'node:async_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload, RouteOptions } from 'fastify'
import { isJson, mediaTypeOf } from '../http/media-types.js'
import { hasOwnJsonParser } from './internals.js'
import { forgetContent, lengthOf, type RawRequest } from './raw-request.js'
import { addHook } from './route.js'

type Next = (error: Error | null, payload?: RequestPayload) => void

/** Treats an empty body with a JSON `Content-Type` as no body, on routes with DELETE or POST. */
export class EmptyBodies {
  readonly #contexts = new Set<FastifyInstance>()
  readonly #withParser = new WeakSet<FastifyInstance>()

  /** Call it from an `onRoute` hook. */
  addRoute(app: FastifyInstance, route: RouteOptions): void {
    if (![route.method].flat().some((method) => method === 'DELETE' || method === 'POST')) return
    this.#contexts.add(app)
    addHook(route, 'preParsing', 'problems:empty-body', this.#drop)
  }

  /** Call it in `onReady`, when all parsers are known. */
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

/** Waits for the first bytes of the body, or for its end. */
function awaitContent(raw: RawRequest, proceed: () => void): void {
  // A stream's events do not run in the asynchronous context of the request.
  const goOn = AsyncResource.bind(function goOnWithBody() {
    raw.off('readable', goOn)
    raw.off('end', goOn)
    if (raw.readableLength === 0) forgetContent(raw)
    proceed()
  })
  // `readable` is emitted for the first bytes, or at the end if there are none; `end` if the end has been read.
  raw.on('readable', goOn)
  raw.on('end', goOn)
}

/** Whether the body schema of the route allows no body, which Fastify validates as `null`. */
function takesNoBody(request: FastifyRequest): boolean {
  const validate: ((body: unknown) => unknown) | undefined = request.getValidationFunction('body')
  if (validate === undefined) return true
  try {
    const verdict = validate(null)
    // Validators other than Ajv return `{ value }` or `{ error }`. Fastify validates again.
    return typeof verdict === 'object' && verdict !== null
      ? !('error' in verdict && Boolean(verdict.error))
      : verdict === true
  } catch {
    return false
  }
}
