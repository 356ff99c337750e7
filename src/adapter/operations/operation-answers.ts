import type { FastifyInstance, FastifyReply } from 'fastify'
import { isFinal, type OperationRecord } from '../../operations/operation-record.js'
import { type StatusDocument, statusDocument } from '../../operations/status-document.js'
import { exactJson } from '../../representation/output/exact-json.js'
import { typeBaseOf } from '../type-base.js'
import { readExactJson } from './operation-definitions.js'
import type { OperationsService } from './operations-service.js'

/** Writes how an operation stands into a reply. */
export class OperationAnswers {
  readonly #service: OperationsService
  readonly #path: string
  readonly #typeBase: string
  readonly #hasTwins: boolean

  /** @param app the context that the operations serve, when all its plugins are there */
  constructor(app: FastifyInstance, service: OperationsService) {
    this.#service = service
    this.#path = `${app.prefix}${service.options.path}`
    this.#typeBase = typeBaseOf(app)
    this.#hasTwins = app.hasPlugin('fastify-conventions/integerTwins')
  }

  /** URL of an operation. */
  href(id: string): string {
    return `${this.#path}/${id}`
  }

  /** The document of an operation. */
  document(record: OperationRecord): StatusDocument {
    const href = this.href(record.id)
    return statusDocument(record, { href, typeBase: this.#typeBase, readResult: readExactJson })
  }

  /** 202: it was accepted, and where to ask for it. */
  accepted(reply: FastifyReply, record: OperationRecord): StatusDocument {
    const href = this.href(record.id)
    reply.code(202).header('location', href).header('operation-location', `${href}/status`)
    return this.status(reply, record)
  }

  /** 200 with the document, or 303 to what it created. */
  outcome(reply: FastifyReply, record: OperationRecord): StatusDocument {
    if (record.resource !== null) reply.code(303).header('location', record.resource)
    return this.status(reply, record)
  }

  /** The document, with when to ask again where that is needed. */
  status(reply: FastifyReply, record: OperationRecord): StatusDocument {
    reply.header('cache-control', 'no-store')
    if (!isFinal(record)) reply.header('retry-after', String(this.#service.retryAfter(record)))
    // Large integers in a result: with the twins' own writer they get twins, with Fastify's there would be none to write them.
    if (record.result !== null && !this.#hasTwins) reply.serializer(writeExact)
    return this.document(record)
  }
}

function writeExact(document: unknown): string {
  return exactJson(document, false) ?? 'null'
}
