import type { FastifyInstance, FastifyReply } from 'fastify'
import { passString } from '../../convention/exchange.js'
import { chosenFormat, selectionOf } from '../../convention/selection.js'
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

export type OperationResponses = ReturnType<typeof operationResponses>

/**
 * Writes the responses of operations, as text: neither the compilers of the app nor the schema of a route apply to them.
 *
 * @param keyStyle returns the style of the keys of status documents; called when the app is ready, as the type base is read then
 */
export function operationResponses(
  app: FastifyInstance,
  service: OperationsService,
  keyStyle: () => KeyStyle,
) {
  const path = `${service.options.baseUrl}${app.prefix}${service.options.path}`
  const hrefOf = ({ id }: OperationRecord) => `${path}/${id}`

  function document(record: OperationRecord, twins = false): StatusDocument {
    const { id, name, status, progress, createdAt, finishedAt, resource, result, error } = record
    const canCancel = status === 'In progress' && record.cancellable && !record.isCancelling
    return {
      id,
      status,
      ...(progress !== null && { progress }),
      ...(canCancel && { link: { rel: 'cancel', method: 'DELETE', href: hrefOf(record) } }),
      created_at: new Date(createdAt).toISOString(),
      ...(finishedAt !== null && { finished_at: new Date(finishedAt).toISOString() }),
      ...(resource !== null && { resourceLocation: resource }),
      ...(result !== null && { result: service.definitions.readResult(name, result, twins) }),
      ...(error !== null && {
        error: { type: styleOf(app).typeBase + error.code, ...error, message: error.detail },
      }),
    }
  }

  function restyled({ request }: FastifyReply, record: OperationRecord): object {
    const plain = document(record, writesTwins(request))
    const style = keyStyle()
    if (style === 'snake_case') return plain
    const names: Readonly<Record<string, string>> = statusNames[style]
    return Object.fromEntries(Object.entries(plain).map(([name, value]) => [names[name] ?? name, value]))
  }

  function shown(reply: FastifyReply, record: OperationRecord): object {
    reply.header('cache-control', 'no-store')
    if (!isFinal(record)) reply.header('retry-after', String(service.retryAfter(record)))
    return restyled(reply, record)
  }

  function text(reply: FastifyReply, value: object): string {
    passJson(reply)
    return exactJson(value, writesTwins(reply.request)) as string
  }

  /** A document of which the client selects fields goes through `fields`. */
  const selectable = (reply: FastifyReply, value: object) =>
    selectionOf(reply.request) ? value : text(reply, value)

  const status = (reply: FastifyReply, record: OperationRecord) => selectable(reply, shown(reply, record))

  return {
    /** Returns the document of an operation; with `twins`, declared 64-bit integers of the result have them. */
    document,

    started(reply: FastifyReply, record: OperationRecord): string {
      if (isFinal(record)) lead(reply, record)
      else {
        const href = hrefOf(record)
        reply.code(202).header('location', href).header('operation-location', `${href}/status`)
      }
      const value = shown(reply, record)
      // Fields that the route hides are hidden in the result, too.
      const selection = selectionOf(reply.request)
      if (!selection?.hides || !('result' in value)) return text(reply, value)
      return text(reply, { ...value, result: selection.withoutHidden(value.result) })
    },

    /** 303 to the created resource, or 200, with the document. */
    outcome(reply: FastifyReply, record: OperationRecord): object | string {
      lead(reply, record)
      return status(reply, record)
    },

    status,

    page(
      reply: FastifyReply,
      records: readonly OperationRecord[],
      limit: number,
      member: string,
    ): object | string {
      const page = records.slice(0, limit)
      const last = page.at(-1)
      if (last !== undefined && records.length > limit) {
        const href = hrefWith(path, queryOf(reply.request.originalUrl), listCursors, cursorAfter(last))
        reply.header('link', formatLinks([{ href, rel: 'next' }]))
      }
      const present = page.filter((record) => !isGone(record, service.clock.now()))
      return selectable(reply, { [member]: present.map((record) => restyled(reply, record)) })
    },
  }
}

/** Makes the reply send JSON as it is: a status document has no other format, whatever the route has. */
export function passJson(reply: FastifyReply): FastifyReply {
  if (chosenFormat.get(reply.request) !== undefined) chosenFormat.set(reply.request, undefined)
  return passString(reply).type('application/json; charset=utf-8')
}

function lead(reply: FastifyReply, { resource }: OperationRecord): void {
  if (resource !== null) reply.code(303).header('location', resource)
}
