import type { FastifyReply, FastifyRequest } from 'fastify'
import { isResponse } from '../../fastify/payloads.js'
import type { Reporter } from '../../rules/report.js'
import type { LifecyclePlan } from './lifecycle-plan.js'
import { mergeLinks } from './merge-links.js'

type Next = (error: null, payload: unknown) => void

/** The `onSend` hook of a route whose answers tell of its lifecycle, errors too. */
export function announce(plan: LifecyclePlan, reporter: Reporter) {
  return function announceOnSend(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: Next,
  ): void {
    next(null, announced(plan, reporter, request, reply, payload))
  }
}

/** Returns the `onError` hook of a route: an `onSend` hook that fails may keep the hook of {@link announce} from running. */
export function announceErrors(plan: LifecyclePlan, reporter: Reporter) {
  return function announceOnError(
    request: FastifyRequest,
    reply: FastifyReply,
    _error: Error,
    next: () => void,
  ): void {
    announced(plan, reporter, request, reply, undefined)
    next()
  }
}

/** Puts the header fields on a reply, beside what the handler says itself; gives the payload that is to be sent. */
export function announced(
  { headers, modeOf }: LifecyclePlan,
  reporter: Reporter,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): unknown {
  if (modeOf.headers !== 'enforce') {
    reporter.observe('versions', 'headers', request, 'an answer without what tells of its end')
    return payload
  }
  const { deprecation, sunset, link } = headers
  if (deprecation !== null && !reply.hasHeader('deprecation')) reply.header('deprecation', deprecation)
  if (sunset !== null && !reply.hasHeader('sunset')) reply.header('sunset', sunset)
  if (link === null) return payload
  reply.header('link', mergeLinks(reply.getHeader('link'), link))
  return isResponse(payload) && payload.headers.has('link') ? withLinks(payload, reply) : payload
}

// Fastify lays the headers of a Response over those of the reply, once all hooks have run.
function withLinks(response: Response, reply: FastifyReply): Response {
  const headers = new Headers(response.headers)
  headers.set('link', mergeLinks(response.headers.get('link'), String(reply.getHeader('link'))))
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers })
}
