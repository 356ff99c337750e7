import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { isResponse, withHeaders } from '../../fastify/payloads.js'
import { addHook } from '../../fastify/route.js'
import { addLinks } from '../../http/links.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Reporter } from '../../rules/report.js'
import { type LifecyclePlan, missingHeaders, retiredDetail, retiresAt } from './lifecycle.js'

/** Adds the hooks that announce the lifecycle on the responses of a route. */
export function announceOnRoute(route: RouteOptions, plan: LifecyclePlan, reporter: Reporter): void {
  addHook(route, 'onSend', 'versions', function announceOnSend(request, reply, payload, next) {
    next(null, announce(plan, reporter, request, reply, payload))
  })
  if (plan.modeOf.headers !== 'enforce') return
  // If an onSend hook fails, the one above does not run.
  addHook(route, 'onError', 'versions', function announceOnError(request, reply, _error, next) {
    announce(plan, reporter, request, reply, undefined)
    next()
  })
}

/** Sets the headers that a response lacks, or counts it in `report` mode. Returns the payload to send. */
export function announce(
  plan: LifecyclePlan,
  reporter: Reporter,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): unknown {
  const { deprecation, sunset, link } = missingHeaders(plan, reply)
  if (plan.modeOf.headers !== 'enforce') {
    if (deprecation !== null || sunset !== null || link !== null)
      reporter.observe(
        'versions',
        'headers',
        request,
        'would get Deprecation, Sunset or Link',
        'header added',
      )
    return payload
  }
  if (deprecation !== null) reply.header('deprecation', deprecation)
  if (sunset !== null) reply.header('sunset', sunset)
  if (link !== null) reply.header('link', link)
  // Fastify overrides the headers of the reply by those of a Response, after all hooks.
  const links = isResponse(payload) && plan.headers.link !== null ? payload.headers.get('link') : null
  if (links === null) return payload
  return withHeaders(payload as Response, { link: addLinks(links, String(reply.getHeader('link'))) })
}

/** Answers a request after the sunset with 410, or counts it in `report` mode. */
export function refuseRetired(
  plan: LifecyclePlan | null,
  now: number,
  reporter: Reporter,
  request: FastifyRequest,
  reply: FastifyReply,
  next: (error?: Error) => void,
): void {
  if (plan === null || now < retiresAt(plan)) next()
  else if (plan.modeOf.retired === 'enforce')
    refuse(request, reply, new ProblemError('version-retired', { detail: retiredDetail(plan) }), next)
  else {
    reporter.observe('versions', 'retired', request, `${request.method} after the sunset`, 410)
    next()
  }
}
