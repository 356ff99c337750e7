import type { FastifyInstance, FastifyReply } from 'fastify'
import { passString } from '../../fastify/reply.js'
import { selectionOf } from '../../fastify/selection.js'
import { writesTwins } from '../../fastify/serialization.js'
import { formatHttpDate } from '../../http/http-date.js'
import { formatLinks, hrefWith } from '../../http/links.js'
import { queryOf } from '../../http/request-target.js'
import { exactJson } from '../../json/exact-json.js'
import { hasLongDigits } from '../../json/json-text.js'
import { parseExact } from '../../json/parse-exact.js'
import { styleOf } from '../../problem/send-problem.js'
import type { KeyStyle } from '../../words/key-names.js'
import { cursorAfter, listCursors } from './list-page.js'
import { statusNames } from './openapi.js'
import { isFinal, isGone, type OperationRecord } from './record.js'
import type { OperationsService } from './service.js'
import { type StatusDocument, statusDocument } from './status-document.js'
import type { StatusEvent } from './status-stream.js'

/** Writes the responses of operations. */
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

  /** Returns the document of an operation, with the names of {@link StatusDocument}. */
  document(record: OperationRecord): StatusDocument {
    const { definitions } = this.#service
    return this.#document(record, (json) => definitions.readResult(record.name, json, false))
  }

  /** Returns the response of a route that started an operation, as text: the response schema of the route does not apply. */
  started(reply: FastifyReply, record: OperationRecord): string {
    const isDone = isFinal(record)
    if (isDone) lead(reply, record)
    else {
      const href = this.#href(record)
      reply.code(202).header('location', href).header('operation-location', `${href}/status`)
    }
    // Only results have long integers, and Fastify creates the options of a route at each access.
    const twins = record.result !== null && writesTwins(reply.request)
    return asText(reply, withoutHidden(reply, this.#status(reply, record, twins)), twins)
  }

  /** Returns the response of a poll: 303 to the created resource, or 200, with the document. */
  outcome(reply: FastifyReply, record: OperationRecord): object | string {
    lead(reply, record)
    return this.status(reply, record)
  }

  status(reply: FastifyReply, record: OperationRecord): object | string {
    const { updatedAt, result } = record
    // Only results have long integers, and Fastify creates the options of a route at each access.
    const twins = result !== null && writesTwins(reply.request)
    const document = this.#status(reply, record, twins)
    // The clock of the instance that wrote the record may be ahead (RFC 9110 §8.8.2.1).
    const modified = Math.min(updatedAt, this.#service.clock.now())
    if (reply.statusCode === 200) reply.header('last-modified', formatHttpDate(modified))
    // Fastify's serializers throw for a BigInt; those of `integerTwins` do not.
    return result !== null && hasLongDigits(result) && !twins ? asText(reply, document, false) : document
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
    const list = { [member]: present.map((record) => this.#restyled(record, twins)) }
    const hasInt64 = present.some(({ result }) => result !== null && hasLongDigits(result))
    return hasInt64 && !twins ? asText(reply, list, false) : list
  }

  #status(reply: FastifyReply, record: OperationRecord, twins: boolean): object {
    reply.header('cache-control', 'no-store')
    if (!isFinal(record)) reply.header('retry-after', String(this.#service.retryAfter(record)))
    return this.#restyled(record, twins)
  }

  /** @param twins whether declared 64-bit integers of the result have twins */
  #restyled(record: OperationRecord, twins: boolean): object {
    const { definitions } = this.#service
    const document = this.#document(record, (json) =>
      // Fewer BigInts, because Fastify's serializers throw for them.
      twins ? definitions.readResult(record.name, json, true) : parseExact(json),
    )
    return this.#keyStyle === 'snake_case' ? document : restyled(document, this.#keyStyle)
  }

  #document(record: OperationRecord, readResult: (json: string) => unknown): StatusDocument {
    return statusDocument(record, { href: this.#href(record), typeBase: this.#typeBase, readResult })
  }

  #href({ id }: OperationRecord): string {
    return `${this.#path}/${id}`
  }
}

function lead(reply: FastifyReply, { resource }: OperationRecord): void {
  if (resource !== null) reply.code(303).header('location', resource)
}

function restyled(document: StatusDocument, keyStyle: KeyStyle): object {
  const { id, status, created_at, finished_at, ...others } = document
  const names = statusNames[keyStyle]
  const finished = finished_at === undefined ? {} : { [names.finished_at]: finished_at }
  return { id, status, [names.created_at]: created_at, ...finished, ...others }
}

// Fields that the route hides are hidden in the result, too.
function withoutHidden(reply: FastifyReply, document: object): object {
  const selection = selectionOf(reply.request) ?? null
  if (selection?.hides !== true || !('result' in document)) return document
  return { ...document, result: selection.withoutHidden(document.result) }
}

// Fastify does not serialize a text.
function asText(reply: FastifyReply, document: object, twins: boolean): string {
  passString(reply).type('application/json; charset=utf-8')
  return exactJson(document, twins) ?? 'null'
}
