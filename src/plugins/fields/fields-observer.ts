import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasSerializerOfItsOwn } from '../../fastify/reply-serializer.js'
import type { Selection } from '../../fastify/selection.js'
import type { RouteSerialization } from '../../fastify/serialization.js'
import type { OnLostDigits } from '../../json/integer-text.js'
import type { Reporter } from '../../rules/report.js'
import { isRead, isUnnarrowed, type RouteFields } from './route-fields.js'

/**
 * Counts what a selection would do, and does nothing: requests that ask for fields, and answers that the default set or
 * a hidden field would narrow. To know the latter it writes the payload twice, where the route has either.
 */
export class FieldsObserver {
  readonly #reporter: Reporter
  readonly #fields: RouteFields | null
  readonly #serialization: RouteSerialization
  readonly #selections = new WeakMap<FastifyRequest, Selection>()

  /**
   * @param fields `null` where the route has no default set and hides nothing
   * @param serialization knows how the answers of the route become JSON; it writes none of them
   */
  constructor(reporter: Reporter, fields: RouteFields | null, serialization: RouteSerialization) {
    this.#reporter = reporter
    this.#fields = fields
    this.#serialization = serialization
  }

  /** The `preHandler` hook. */
  readonly observeRequest = (request: FastifyRequest, _reply: FastifyReply, next: () => void): void => {
    const { fields: received } = (request.query ?? {}) as { readonly fields?: unknown }
    if (received !== undefined && isRead(request.method))
      this.#observe(request, 'the answer would be projected')
    else this.#select(request)
    next()
  }

  /** The `preSerialization` hook. */
  readonly observeAnswer = (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: (error: null, payload: unknown) => void,
  ): void => {
    const selection = this.#selections.get(request)
    if (selection !== undefined && payload !== null && !hasSerializerOfItsOwn(reply)) {
      this.#selections.delete(request)
      const change = this.#changeOf(selection, reply, payload)
      if (change !== null) this.#observe(request, change)
    }
    next(null, payload)
  }

  /** The `onSend` hook of a route that hides fields: sees what is no object, and so cannot be narrowed. */
  readonly observeSent = (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: (error: null, payload: unknown) => void,
  ): void => {
    if (this.#selections.get(request)?.hides === true && isUnnarrowed(reply, payload))
      this.#observe(request, 'the answer would not be sent: it is no object, so nothing of it can be hidden')
    next(null, payload)
  }

  #select(request: FastifyRequest): void {
    try {
      const selection = this.#fields?.unasked(request) ?? null
      if (selection !== null) this.#selections.set(request, selection)
    } catch {
      this.#observe(request, 'the request would fail: a predicate of a hidden field throws')
    }
  }

  #changeOf(selection: Selection, reply: FastifyReply, payload: unknown): string | null {
    const status = reply.statusCode
    if (status >= 300 || (status === 202 && !selection.hides)) return null
    const response = this.#serialization.writerFor(status, String(reply.getHeader('content-type') ?? ''))
    if (response === null)
      return selection.hides ? 'the answer would not be sent: no schema names its fields' : null
    try {
      const isSame =
        response.write(payload, ignoreLoss) ===
        selection.forStatus(status).writerFor(response)(payload, ignoreLoss)
      if (isSame) return null
      return selection.hides
        ? 'fields that are hidden would be left out'
        : 'the answer would be narrowed to the default set'
    } catch {
      // A payload that its schema does not fit is told of by whoever sends it.
      return null
    }
  }

  #observe(request: FastifyRequest, what: string): void {
    this.#reporter.observe('fields', 'projection', request, what)
  }
}

const ignoreLoss: OnLostDigits = () => {}
