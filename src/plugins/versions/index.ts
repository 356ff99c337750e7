import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { basePathOf } from '../../convention/contexts.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { offerNames } from '../../convention/offer-names.js'
import { isResponse, withHeaders } from '../../convention/reply.js'
import type { Effect } from '../../convention/steps.js'
import { addLinks } from '../../http/header-fields.js'
import { ProblemError } from '../../problem/problem-error.js'
import { modesOf } from '../../report/modes.js'
import {
  describeAnnouncements,
  documentLifecycle,
  isAnnounced,
  type Lifecycle,
  lifecycleOf,
  missingHeaders,
  retiredDetail,
  retiresAt,
  unlistedBreach,
  type VersionStatus,
  versionReader,
  versionStatus,
} from './lifecycle.js'
import {
  type VersionsOptions,
  type VersionsRouteOptions,
  versionRuleNames,
  versionsOptions,
  versionsRouteOptions,
} from './options.js'

export type { VersionStatus } from './lifecycle.js'
export type {
  LifecycleLinkOptions,
  LifecycleOptions,
  VersionRule,
  VersionsOptions,
  VersionsRouteOptions,
} from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Options of `versions` for this route, over those of its version; `false` leaves the route alone. */
    versions?: VersionsRouteOptions | false
  }
  interface FastifyInstance {
    /** The versions of the service. */
    versions: {
      /** Returns the versions in the options and those of routes, by number, with their status. */
      list(): readonly VersionStatus[]
    }
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
  rulesOfRequests: ['headers', 'retired'],
  options: versionsOptions,
  routeOptions: versionsRouteOptions,
  setUp({ app, options }) {
    const { mode, now, basePath = basePathOf(app) } = options
    const modeOf = modesOf(versionRuleNames, options)
    const listed = new Map(
      Object.entries(options.versions).map(([version, given]): [string, Lifecycle] => [
        version,
        lifecycleOf(`versions.versions.${version}`, version, given, modeOf),
      ]),
    )
    const ofRoutes = new Set<string>()
    const readVersion = versionReader(basePath)
    const list = (): readonly VersionStatus[] =>
      [...new Set([...listed.keys(), ...ofRoutes])]
        .sort((one, other) => Number(one) - Number(other))
        .map((version) => versionStatus(version, listed.get(version) ?? endless, basePath, now()))
    offerNames(app, { plugin: 'versions', mode, owner: 'app', members: { versions: { value: { list } } } })
    const planOfPath = ({ raw }: FastifyRequest): Lifecycle | undefined =>
      listed.get(readVersion(raw.url ?? '/') ?? '')
    const firstRetirement = Math.min(...[...listed.values()].map(retiresAt))
    const refuseRetiredPath = (request: FastifyRequest): Effect | undefined => {
      const time = now()
      return time < firstRetirement ? undefined : refuseRetired(planOfPath(request), time, request)
    }
    return {
      listed,
      ofRoutes,
      readVersion,
      // Routes share this step, which spares requests the search for their route.
      refuseRetiredPath: firstRetirement === Number.POSITIVE_INFINITY ? undefined : refuseRetiredPath,
      announcePath: [...listed.values()].some(isAnnounced)
        ? (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
            const plan = planOfPath(request)
            return plan !== undefined && isAnnounced(plan) ? announce(plan, reply, payload) : undefined
          }
        : undefined,
    }
  },
  route({ name, path, route, options, modeOf, exclusionReason, state, addFinding }) {
    const { listed, ofRoutes, readVersion, refuseRetiredPath, announcePath } = state
    if (route === null) return { onRequest: refuseRetiredPath, onSend: announcePath }
    const version = readVersion(path)
    if (version !== null) ofRoutes.add(version)
    const breach = exclusionReason === null ? unlistedBreach(version, [...listed.keys()]) : null
    if (breach !== null) addFinding(breach.rule, breach.problem, breach.instead)
    const ofVersion = listed.get(version ?? '')
    const { deprecated, sunset, link, now } = options
    const isOwn = deprecated !== undefined || sunset !== undefined || link !== undefined
    if (!isOwn && ofVersion === undefined) return { onRequest: refuseRetiredPath }
    const isOfVersion = !isOwn && versionRuleNames.every((rule) => ofVersion?.modeOf[rule] === modeOf[rule])
    const plan =
      (isOfVersion ? ofVersion : undefined) ??
      lifecycleOf(`${name} config.versions`, version, options, modeOf, ofVersion)
    const end = retiresAt(plan)
    const refuseRetiredRoute = (request: FastifyRequest): Effect | undefined => {
      const time = now()
      return time < end ? undefined : refuseRetired(plan, time, request)
    }
    const ownStep = end === Number.POSITIVE_INFINITY ? undefined : refuseRetiredRoute
    const onRequest = plan === ofVersion ? refuseRetiredPath : ownStep
    if (!isAnnounced(plan)) return { onRequest }
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

/** Sets the headers that a response lacks. */
function announce(plan: Lifecycle, reply: FastifyReply, payload: unknown): Effect | undefined {
  const headers = missingHeaders(plan, reply)
  // Fastify overrides the headers of the reply by those of a Response, after all hooks.
  const links = isResponse(payload) && plan.headers.link !== undefined ? payload.headers.get('link') : null
  if (Object.keys(headers).length === 0 && links === null) return undefined
  const effect = { rule: 'headers', given: 'would get Deprecation, Sunset or Link', headers }
  if (links === null) return effect
  const link = addLinks(links, headers.link ?? String(reply.getHeader('link')))
  return { ...effect, payload: withHeaders(payload as Response, { link }) }
}

const endless = { deprecated: null, sunset: null, link: {} }

/** Answers a request after the sunset with 410. */
function refuseRetired(
  plan: Lifecycle | undefined,
  now: number,
  { method }: FastifyRequest,
): Effect | undefined {
  if (plan === undefined || now < retiresAt(plan)) return undefined
  const refusal = new ProblemError('version-retired', { detail: retiredDetail(plan) })
  return { rule: 'retired', given: `${method} after the sunset`, refusal }
}
