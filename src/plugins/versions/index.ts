import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { basePathOf } from '../../convention/contexts.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { headerOf, isResponse, withHeaders } from '../../convention/exchange.js'
import type { Effect } from '../../convention/steps.js'
import { addLinks } from '../../http/header-fields.js'
import { ProblemError } from '../../problem/problem-error.js'
import { modesOf } from '../../report/modes.js'
import {
  describeAnnouncements,
  documentLifecycle,
  type Lifecycle,
  lifecycleOf,
  missingHeaders,
  retiredDetail,
  type VersionsOptions,
  type VersionsRouteOptions,
  versionReader,
  versionRuleNames,
  versionsOptions,
  versionsRouteOptions,
} from './lifecycle.js'

export type {
  LifecycleLinkOptions,
  LifecycleOptions,
  VersionRule,
  VersionsOptions,
  VersionsRouteOptions,
} from './lifecycle.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of `versions` for this route, over those of its version; `false` leaves the route alone. */
    versions?: VersionsRouteOptions | false
  }
}

/**
 * Deprecation and sunset of versions in the path. Responses of a deprecated version, errors and unknown paths included,
 * have `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link`. After the sunset everything below `/v<major>/` is a 410
 * problem (`version-retired`): neither a handler nor a later hook runs. The OpenAPI document shows the dates.
 *
 * Earlier hooks (CORS, maintenance, rate limit) still run, and their refusals have the headers. Wildcard routes below a
 * version are part of it. Not for versions in a header or a media type.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED at registration,
 * FST_CONV_FINDINGS when the app gets ready
 */
export const versions: FastifyPluginAsync<VersionsOptions & RegistrationOptions> = convention({
  name: 'versions',
  rules: versionRuleNames,
  options: versionsOptions,
  routeOptions: versionsRouteOptions,
  setUp({ app, options }) {
    const { now, basePath = basePathOf(app) } = options
    const modeOf = modesOf(versionRuleNames, options)
    const listed = new Map(
      Object.entries(options.versions).map(([version, given]): [string, Lifecycle] => [
        version,
        lifecycleOf(`versions.versions.${version}`, version, given, modeOf),
      ]),
    )
    const plans = [...listed.values()]
    const firstEnd = Math.min(...plans.map(({ end }) => end))
    const readVersion = versionReader(basePath)
    const planOfPath = ({ raw }: FastifyRequest) => listed.get(readVersion(raw.url ?? '/') ?? '')

    function refuse(plan: Lifecycle, { method }: FastifyRequest): Effect | undefined {
      if (now() < plan.end) return undefined
      const refusal = new ProblemError('version-retired', { detail: retiredDetail(plan) })
      return { rule: 'retired', given: `${method} after the sunset`, refusal }
    }

    function refusePath(request: FastifyRequest): Effect | undefined {
      // Spares requests the search for their version.
      if (now() < firstEnd) return undefined
      const plan = planOfPath(request)
      return plan && refuse(plan, request)
    }

    function announcePath(request: FastifyRequest, reply: FastifyReply, payload: unknown) {
      const plan = planOfPath(request)
      return plan?.isAnnounced ? announce(plan, reply, payload) : undefined
    }

    return {
      listed,
      readVersion,
      refuse,
      refusePath: firstEnd < Number.POSITIVE_INFINITY ? refusePath : undefined,
      announcePath: plans.some(({ isAnnounced }) => isAnnounced) ? announcePath : undefined,
    }
  },
  route({ name, path, options, modeOf, exclusionReason, state, addFinding }) {
    const { listed, readVersion, refuse, refusePath, announcePath } = state
    const version = readVersion(path)
    if (exclusionReason === null && version !== null && listed.size > 0 && !listed.has(version)) {
      const known = [...listed.keys()].map((one) => `/v${one}`).join(', ')
      addFinding('listed', `/v${version} is not among the versions of the service`, known)
    }
    const ofVersion = listed.get(version ?? '')
    const { deprecated, sunset, link, now } = options
    const isOwn = deprecated !== undefined || sunset !== undefined || link !== undefined
    if (!isOwn && ofVersion === undefined) {
      // A path of a version may match it: that of a wildcard or of a parameter, or of no route.
      return /[*:]/.test(path) ? { onRequest: refusePath, onSend: announcePath } : undefined
    }
    const plan = lifecycleOf(`${name} config.versions`, version, options, modeOf, ofVersion)
    const onRequest =
      plan.end < Number.POSITIVE_INFINITY ? (request: FastifyRequest) => refuse(plan, request) : undefined
    if (!plan.isAnnounced) return { onRequest }
    const isEnforced = modeOf.headers === 'enforce'
    return {
      onRequest,
      onSend: (_request, reply, payload) => announce(plan, reply, payload),
      // If a hook of the phase onSend fails, the step above does not run.
      onError: isEnforced ? (_request, reply) => announce(plan, reply, undefined) : undefined,
      describe: isEnforced ? describeAnnouncements(plan) : undefined,
      document: isEnforced ? documentLifecycle(plan, now) : undefined,
    }
  },
})

function announce(plan: Lifecycle, reply: FastifyReply, payload: unknown): Effect | undefined {
  const headers = missingHeaders(plan, (name) => headerOf(reply, name))
  // Fastify overrides the headers of the reply by those of a Response, after all hooks.
  const links = isResponse(payload) && plan.headers.link !== undefined ? payload.headers.get('link') : null
  if (Object.keys(headers).length === 0 && links === null) return undefined
  const effect = { rule: 'headers', given: 'would get Deprecation, Sunset or Link', headers }
  if (links === null) return effect
  const link = addLinks(links, headers.link ?? headerOf(reply, 'link') ?? '')
  return { ...effect, payload: withHeaders(payload as Response, { link }) }
}
