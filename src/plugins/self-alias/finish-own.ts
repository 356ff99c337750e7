import type { FastifyReply, FastifyRequest } from 'fastify'
import { headerOf } from '../../fastify/header-of.js'
import { isResponse } from '../../fastify/payloads.js'
import { isField } from '../../http/error-headers.js'
import { mergeVary } from '../../http/vary.js'
import type { AliasPlace } from './alias-place.js'
import { withCaller } from './caller-tags.js'
import { madePrivate } from './made-private.js'
import { ownTarget } from './own-target.js'
import { type ResolvedAlias, resolvedAlias } from './resolve-alias.js'

/**
 * The `onSend` hook of a route that may have an alias, behind all that decides about caching: what is answered under an
 * alias is for the caller alone, and says where it is found under its own id.
 */
export function finishOwn(place: AliasPlace, vary: readonly string[]) {
  const varyAlone = mergeVary(undefined, vary)

  return function finishOwnOnSend(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: (error: null, payload: unknown) => void,
  ): void {
    const resolved = resolvedAlias.get(request)
    if (resolved === undefined) {
      next(null, payload)
      return
    }
    if (!isResponse(payload)) {
      finish(request, fieldsOf(reply), resolved, reply.statusCode, hasContent(payload))
      next(null, payload)
      return
    }
    // Fastify lays the headers of a Response over those of the reply, once all hooks have run.
    const headers = new Headers(payload.headers)
    const { status, statusText, body } = payload
    finish(request, fieldsOf(reply, headers), resolved, status, body !== null)
    next(null, new Response(body, { status, statusText, headers }))
  }

  function finish(
    request: FastifyRequest,
    fields: Fields,
    { alias, id }: ResolvedAlias,
    status: number,
    hasContent: boolean,
  ): void {
    fields.set('cache-control', madePrivate(fields.get('cache-control')))
    if (varyAlone !== '') {
      const before = fields.get('vary')
      fields.set('vary', before === undefined ? varyAlone : mergeVary(before, vary))
    }
    const etag = fields.get('etag')
    if (etag !== undefined) fields.set('etag', withCaller(etag, id))
    if (!isRepresentation(request.method, status, hasContent)) return
    if (fields.get('content-location') !== undefined) return
    const target = ownTarget(request.originalUrl, place, alias, id)
    if (target !== null && isField('content-location', target)) fields.set('content-location', target)
  }
}

/**
 * Is it what a GET of the record's own URL would give (RFC 9110 §8.7)? What POST and DELETE answer is not, and what has no
 * content is nothing that could be found elsewhere.
 */
function isRepresentation(method: string, status: number, hasContent: boolean): boolean {
  if (method === 'GET' || method === 'HEAD')
    return status === 304 || (status >= 200 && status < 300 && status !== 204)
  return (method === 'PUT' || method === 'PATCH') && (status === 200 || status === 201) && hasContent
}

function hasContent(payload: unknown): boolean {
  return payload !== undefined && payload !== null && payload !== ''
}

/** The header fields of an answer, wherever they are. */
interface Fields {
  get(name: string): string | undefined
  set(name: string, value: string): void
}

function fieldsOf(reply: FastifyReply, own?: Headers): Fields {
  return {
    get: (name) => own?.get(name) ?? headerOf(reply, name),
    set: (name, value) => {
      reply.header(name, value)
      own?.set(name, value)
    },
  }
}
