import type { RouteOptions } from 'fastify'
import { callerFields, knownSubject } from '../../fastify/caller.js'
import { rootOf } from '../../fastify/internals.js'
import { completeWhenRead } from '../../fastify/lazy-route-schema.js'
import { offerNames } from '../../fastify/offer-names.js'
import { conventionPlugin } from '../../fastify/plugin.js'
import { addAppHook } from '../../fastify/route.js'
import { loadPeer } from '../../load-peer.js'
import { describeRoute } from '../../problem/route-description.js'
import { matchesUrl } from '../../rules/exceptions.js'
import { reporterOf } from '../../rules/report.js'
import { refusalsOf } from './challenge.js'
import { authenticationHook, knownSubjectOf, knownToken, planOfRoute, type RoutePlan } from './hooks.js'
import { describeRefusals, describeSecurity, schemeTransform } from './openapi.js'
import { type BearerOptions, type BearerRouteOptions, requirementOf, resolveBearer } from './options.js'
import { resourceMetadata, resourceMetadataUrl } from './resource-metadata.js'
import { tokenVerification } from './verification.js'

export { bearerSecuritySchemes, type OpenApiSecurityScheme } from './openapi.js'
export type {
  BearerAlgorithm,
  BearerKeySet,
  BearerOptions,
  BearerRouteOptions,
  IntrospectionOptions,
  OpenRoute,
} from './options.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What `bearer` requires on this route; `false` if the route needs no token. */
    bearer?: BearerRouteOptions | false
  }
}

/**
 * Makes the service an OAuth 2.0 resource server: each route needs an access token in `Authorization: Bearer` (RFC 6750),
 * unless `config.bearer` says otherwise. Tokens are JWTs that the keys of the issuer verify (RFC 9068; needs the package
 * `jose`), or the issuer is asked about them (RFC 7662). `request.caller` has the subject, the scopes and the claims.
 *
 * Requests without a token get 401 `unauthorized`, with an invalid one 401 `invalid-token`, with too few scopes 403
 * `insufficient-scope`. While the issuer cannot be reached, keys that are known verify tokens; without them, requests get
 * 503 `authentication-unavailable`. Preflights and paths without a route need no token.
 *
 * A token that is bound to a key of the client (`cnf`: DPoP, mutual TLS) is refused, because the binding is not verified.
 *
 * Not for tokens in cookies, and not for an authorization server: it only verifies tokens.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED, FST_CONV_PACKAGE_MISSING
 */
export const bearer = conventionPlugin<BearerOptions>('bearer', async function setUpBearer(app, received) {
  const options = resolveBearer(received)
  const { mode, resource, open, securityScheme } = options
  if (mode === 'off') return
  const reporter = reporterOf(app)
  const isEnforced = mode === 'enforce'
  const metadataUrl = isEnforced && resource !== null ? resourceMetadataUrl(resource) : null
  const planFor = (scopes: readonly string[], isOptional: boolean): RoutePlan => ({
    scopes,
    isOptional,
    refusals: refusalsOf({ realm: options.realm, metadataUrl }, scopes),
  })
  const standard = planFor(options.scopes, false)
  const described: { readonly route: RouteOptions; readonly plan: RoutePlan | null }[] = []
  const metOpen = new Set<string>()
  // The routes of a document are read after that with the transform, which is declared first.
  const scheme = securityScheme ?? 'bearer'
  let isSchemeKnown = securityScheme !== undefined
  const noteScheme = (): void => {
    isSchemeKnown = true
  }

  const { tokens, warmUp } = await tokenVerification(options, app.log, () =>
    loadPeer('bearer', 'jose', () => import('jose')),
  )
  if (isEnforced) {
    // A `caller` of the app is set, too.
    if (!app.hasRequestDecorator('caller'))
      offerNames(app, { plugin: 'bearer', mode, owner: 'request', members: { caller: { value: null } } })
    knownToken.declare(app)
    knownSubject.set(app, knownSubjectOf(tokens))
  } else app.log.warn('bearer: in report mode no request is refused, and request.caller is not set')
  addAppHook(app, 'onRequest', 'bearer', authenticationHook({ tokens, standard, mode, reporter }))

  app.addHook('onRoute', function protectOnRoute(route) {
    const plan = planOf(route)
    if (plan !== standard) planOfRoute.set(route, plan)
    if (!isEnforced) return
    if (plan !== null) callerFields.set(route, ['authorization'])
    described.push({ route, plan })
  })

  if (metadataUrl !== null) {
    // RFC 9728 §3.1: the path belongs to the host, not to the prefix of a context.
    rootOf(app).get(
      new URL(metadataUrl).pathname.replaceAll(':', '::'),
      {
        config: {
          bearer: false,
          swaggerTransform: schemeTransform(options.issuer, scheme, noteScheme),
        } as object,
        schema: { hide: true } as object,
      },
      async (_request, reply) => {
        reply.header('cache-control', 'public, max-age=3600').type('application/json')
        return metadata
      },
    )
  }

  let metadata = ''
  app.addHook('onReady', function describeBearer(done) {
    metadata = resourceMetadata(
      options,
      described.flatMap(({ plan }) => plan?.scopes ?? []),
    )
    for (const { route, plan } of described) {
      completeWhenRead(route, (schema) => describeSecurity(schema, isSchemeKnown ? scheme : null, plan))
      if (plan !== null) describeRoute(route, describeRefusals(plan))
    }
    for (const { url, reason } of open)
      reporter.addException({
        plugin: 'bearer',
        route: url,
        rules: ['token'],
        reason,
        unused: !metOpen.has(url),
      })
    done()
  })
  // Not earlier: the issuer may be part of this app.
  app.addHook('onListen', function fetchKeysOnListen(done) {
    // A failure is logged, and the first request with a token tries again.
    warmUp().catch(() => {})
    done()
  })

  function planOf(route: RouteOptions & { path: string }): RoutePlan | null {
    const opened = open.filter(({ url }) => matchesUrl(url, route.path))
    for (const { url } of opened) metOpen.add(url)
    const required = requirementOf(route, options.scopes, opened.length > 0)
    if (required === null || required === 'standard') return required === null ? null : standard
    return planFor(required.scopes, required.isOptional)
  }
})
