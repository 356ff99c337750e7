import type { FastifyInstance, FastifyReply } from 'fastify'
import { passString } from '../../fastify/reply-serializer.js'
import { selectionOf, writesTwins } from '../../fastify/serialization.js'
import { formatHttpDate } from '../../http/http-date.js'
import { exactJson } from '../../json/exact-json.js'
import { hasLongDigits } from '../../json/json-text.js'
import { typeBaseOf } from '../../problem/problem-style.js'
import type { KeyStyle } from '../../words/key-names.js'
import { readExactJson } from './definitions.js'
import { isFinal, type OperationRecord } from './record.js'
import type { OperationsService } from './service.js'
import { type StatusDocument, statusDocument } from './status-document.js'
import { statusNames } from './status-schema.js'

/** Writes how an operation stands into a reply. */
export class OperationAnswers {
  readonly #service: OperationsService
  readonly #path: string
  readonly #typeBase: string
  readonly #keyStyle: KeyStyle

  /**
   * @param app the context that the operations serve
   * @param keyStyle how the keys of what is answered join their words
   */
  constructor(app: FastifyInstance, service: OperationsService, keyStyle: KeyStyle) {
    this.#service = service
    this.#path = `${app.prefix}${service.options.path}`
    this.#typeBase = typeBaseOf(app)
    this.#keyStyle = keyStyle
  }

  /** The document of an operation, with the names that {@link StatusDocument} has. */
  document(record: OperationRecord): StatusDocument {
    const href = this.#href(record)
    return statusDocument(record, { href, typeBase: this.#typeBase, readResult: readExactJson })
  }

  /** The answer of a route that started an operation, past the schema of what the route answers otherwise. */
  started(reply: FastifyReply, record: OperationRecord): string {
    const isDone = isFinal(record)
    if (isDone) lead(reply, record)
    else {
      const href = this.#href(record)
      reply.code(202).header('location', href).header('operation-location', `${href}/status`)
    }
    // Long integers are in results alone, and Fastify makes the options of a route anew each time they are asked for.
    const twins = record.result !== null && writesTwins(reply.request)
    return asText(reply, withoutHidden(reply, this.#status(reply, record)), twins)
  }

  /** The answer of a poll: 303 to what it created, else 200, with the document. */
  outcome(reply: FastifyReply, record: OperationRecord): object | string {
    lead(reply, record)
    return this.status(reply, record)
  }

  /** The answer of a poll of the status document. */
  status(reply: FastifyReply, record: OperationRecord): object | string {
    const document = this.#status(reply, record)
    const { updatedAt, result } = record
    // The clock of the instance that wrote the record may be ahead (RFC 9110 §8.8.2.1).
    const modified = Math.min(updatedAt, this.#service.options.now())
    if (reply.statusCode === 200) reply.header('last-modified', formatHttpDate(modified))
    // Fastify's writers refuse a BigInt; those of `integerTwins` do not.
    const isWide = result !== null && hasLongDigits(result) && !writesTwins(reply.request)
    return isWide ? asText(reply, document, false) : document
  }

  #status(reply: FastifyReply, record: OperationRecord): object {
    reply.header('cache-control', 'no-store')
    if (!isFinal(record)) reply.header('retry-after', String(this.#service.retryAfter(record)))
    const document = this.document(record)
    return this.#keyStyle === 'snake_case' ? document : restyled(document, this.#keyStyle)
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

// What the route hides is hidden in the result that it answers, too.
function withoutHidden(reply: FastifyReply, document: object): object {
  const selection = selectionOf(reply.request) ?? null
  if (selection?.hides !== true || !('result' in document)) return document
  return { ...document, result: selection.withoutHidden(document.result) }
}

// A text passes by the serializers of the route.
function asText(reply: FastifyReply, document: object, twins: boolean): string {
  passString(reply).type('application/json; charset=utf-8')
  return exactJson(document, twins) ?? 'null'
}
