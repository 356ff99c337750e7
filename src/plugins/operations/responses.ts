import type { FastifyInstance, FastifyReply } from 'fastify'
import { passString } from '../../convention/reply.js'
import { selectionOf } from '../../convention/selection.js'
import { writesTwins } from '../../convention/serialization.js'
import { formatLinks, hrefWith } from '../../http/header-fields.js'
import { queryOf } from '../../http/url.js'
import { exactJson } from '../../json/exact-json.js'
import { styleOf } from '../../problem/send-problem.js'
import type { KeyStyle } from '../../words/words.js'
import type { StatusDocument } from './api.js'
import { cursorAfter, listCursors } from './list-page.js'
import { statusNames } from './openapi.js'
import { isFinal, isGone, type OperationRecord } from './record.js'
import type { OperationsService } from './service.js'
import type { StatusEvent } from './status-stream.js'

/** Writes the responses of operations, as text: neither the compilers of the app nor the schema of a route apply to them. */
export class OperationResponses {
  readonly #service: OperationsService
  readonly #path: string
  readonly #typeBase: string
  readonly #keyStyle: KeyStyle

  constructor(app: FastifyInstance, service: OperationsService, keyStyle: KeyStyle) {
    this.#service = service
    this.#path = `${service.options.baseUrl}${app.prefix}${service.options.path}`
    this.#typeBase = styleOf(app).typeBase
    this.#keyStyle = keyStyle
  }

  /** Returns the document of an operation; with `twins`, declared 64-bit integers of the result have them. */
  document(record: OperationRecord, twins = false): StatusDocument {
    const { id, name, status, progress, createdAt, finishedAt, resource, result, error } = record
    const { definitions } = this.#service
    const canCancel = status === 'In progress' && record.cancellable && !record.isCancelling
    return {
      id,
      status,
      ...(progress !== null && { progress }),
      ...(canCancel && { link: { rel: 'cancel', method: 'DELETE', href: this.#href(record) } }),
      created_at: new Date(createdAt).toISOString(),
      ...(finishedAt !== null && { finished_at: new Date(finishedAt).toISOString() }),
      ...(resource !== null && { resourceLocation: resource }),
      ...(result !== null && { result: definitions.readResult(name, result, twins) }),
      ...(error !== null && {
        error: { type: this.#typeBase + error.code, ...error, message: error.detail },
      }),
    }
  }

  /** Returns the response of a route that started an operation. */
  started(reply: FastifyReply, record: OperationRecord): string {
    if (isFinal(record)) lead(reply, record)
    else {
      const href = this.#href(record)
      reply.code(202).header('location', href).header('operation-location', `${href}/status`)
    }
    const document = this.#shown(reply, record)
    // Fields that the route hides are hidden in the result, too.
    const selection = selectionOf(reply.request) ?? null
    if (selection?.hides !== true || !('result' in document)) return this.#text(reply, document)
    return this.#text(reply, { ...document, result: selection.withoutHidden(document.result) })
  }

  /** Returns the response of a poll: 303 to the created resource, or 200, with the document. */
  outcome(reply: FastifyReply, record: OperationRecord): object | string {
    lead(reply, record)
    return this.status(reply, record)
  }

  status(reply: FastifyReply, record: OperationRecord): object | string {
    return this.#selectable(reply, this.#shown(reply, record))
  }

  /** Returns an event with the status document, as a poll gets it. */
  event(reply: FastifyReply, record: OperationRecord): StatusEvent {
    const twins = writesTwins(reply.request)
    const data = exactJson(this.#restyled(record, twins), twins) ?? 'null'
    return { id: record.version, data, isLast: isFinal(record) }
  }

  /** Returns a page of a list, and links the next one. */
  page(
    reply: FastifyReply,
    records: readonly OperationRecord[],
    limit: number,
    member: string,
  ): object | string {
    const shown = records.slice(0, limit)
    const last = shown.at(-1)
    if (last !== undefined && records.length > limit) {
      const href = hrefWith(this.#path, queryOf(reply.request.originalUrl), listCursors, cursorAfter(last))
      reply.header('link', formatLinks([{ href, rel: 'next' }]))
    }
    const present = shown.filter((record) => !isGone(record, this.#service.clock.now()))
    const twins = writesTwins(reply.request)
    return this.#selectable(reply, { [member]: present.map((record) => this.#restyled(record, twins)) })
  }

  #shown(reply: FastifyReply, record: OperationRecord): object {
    reply.header('cache-control', 'no-store')
    if (!isFinal(record)) reply.header('retry-after', String(this.#service.retryAfter(record)))
    return this.#restyled(record, writesTwins(reply.request))
  }

  #restyled(record: OperationRecord, twins: boolean): object {
    const document = this.document(record, twins)
    if (this.#keyStyle === 'snake_case') return document
    const names: Readonly<Record<string, string>> = statusNames[this.#keyStyle]
    return Object.fromEntries(Object.entries(document).map(([name, value]) => [names[name] ?? name, value]))
  }

  /** A document of which the client selects fields goes through `fields`. */
  #selectable(reply: FastifyReply, document: object): object | string {
    return selectionOf(reply.request) ? document : this.#text(reply, document)
  }

  #text(reply: FastifyReply, document: object): string {
    passString(reply).type('application/json; charset=utf-8')
    return exactJson(document, writesTwins(reply.request)) ?? 'null'
  }

  #href({ id }: OperationRecord): string {
    return `${this.#path}/${id}`
  }
}

function lead(reply: FastifyReply, { resource }: OperationRecord): void {
  if (resource !== null) reply.code(303).header('location', resource)
}
