import type { FastifyInstance, FastifyReply } from 'fastify'
import { formatHttpDate } from '../../http/caching/http-date.js'
import { isFinal, type OperationRecord } from '../../operations/operation-record.js'
import { type StatusDocument, statusDocument } from '../../operations/status-document.js'
import { exactJson } from '../../representation/output/exact-json.js'
import { hasLongDigits } from '../../representation/output/json-text.js'
import { passString } from '../reply-serializer.js'
import { writesTwins } from '../serialization.js'
import { typeBaseOf } from '../type-base.js'
import { readExactJson } from './operation-definitions.js'
import type { OperationsService } from './operations-service.js'

/** Writes how an operation stands into a reply. */
export class OperationAnswers {
  readonly #service: OperationsService
  readonly #path: string
  readonly #typeBase: string

  /** @param app the context that the operations serve */
  constructor(app: FastifyInstance, service: OperationsService) {
    this.#service = service
    this.#path = `${app.prefix}${service.options.path}`
    this.#typeBase = typeBaseOf(app)
  }

  /** The document of an operation. */
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
    const twins = record.result !== null && writesTwins(reply.routeOptions.config)
    return asText(reply, this.#status(reply, record), twins)
  }

  /** The answer of a poll: 303 to what it created, else 200, with the document. */
  outcome(reply: FastifyReply, record: OperationRecord): StatusDocument | string {
    lead(reply, record)
    return this.status(reply, record)
  }

  /** The answer of a poll of the status document. */
  status(reply: FastifyReply, record: OperationRecord): StatusDocument | string {
    const document = this.#status(reply, record)
    const { updatedAt, result } = record
    // The clock of the instance that wrote the record may be ahead (RFC 9110 §8.8.2.1).
    const modified = Math.min(updatedAt, this.#service.options.now())
    if (reply.statusCode === 200) reply.header('last-modified', formatHttpDate(modified))
    // Fastify's writers refuse a BigInt; those of `integerTwins` do not.
    const isWide = result !== null && hasLongDigits(result) && !writesTwins(reply.routeOptions.config)
    return isWide ? asText(reply, document, false) : document
  }

  #status(reply: FastifyReply, record: OperationRecord): StatusDocument {
    reply.header('cache-control', 'no-store')
    if (!isFinal(record)) reply.header('retry-after', String(this.#service.retryAfter(record)))
    return this.document(record)
  }

  #href({ id }: OperationRecord): string {
    return `${this.#path}/${id}`
  }
}

function lead(reply: FastifyReply, { resource }: OperationRecord): void {
  if (resource !== null) reply.code(303).header('location', resource)
}

// A text passes by the serializers of the route.
function asText(reply: FastifyReply, document: StatusDocument, twins: boolean): string {
  passString(reply).type('application/json; charset=utf-8')
  return exactJson(document, twins) ?? 'null'
}
