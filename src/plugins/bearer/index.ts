import type { FastifyPluginAsync } from 'fastify'
import { convention } from '../../convention/convention.js'
import type { RequestStep } from '../../convention/steps.js'
import { callerFields, knownSubject } from '../../fastify/caller.js'
import { documentRoute } from '../../fastify/document.js'
import { rootOf } from '../../fastify/internals.js'
import { offerNames } from '../../fastify/offer-names.js'
import type { RegistrationOptions } from '../../fastify/route-watch.js'
import { loadPeer } from '../../load-peer.js'
import { invalid } from '../../options.js'
import { matchesUrl } from '../../rules/exceptions.js'
import { logOf } from '../../rules/report.js'
import { authenticationOf, bearerRules, knownSubjectOf, knownToken, refusalsOf } from './hooks.js'
import {
  type DescribedPlan,
  describeRefusals,
  documentSecurity,
  resourceMetadata,
  resourceMetadataUrl,
} from './openapi.js'
import {
  type BearerOptions,
  type BearerRouteOptions,
  bearerOptions,
  bearerRouteOptions,
  resolveBearer,
} from './options.js'
import { tokenVerification } from './verification.js'

export type { Caller } from '../../fastify/caller.js'
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
 * 503 `authentication-unavailable`. Preflights that CORS answers and paths without a route need no token.
 *
 * A token that is bound to a key of the client (`cnf`: DPoP, mutual TLS) is refused, because the binding is not verified.
 *
 * Not for tokens in cookies, and not for an authorization server: it only verifies tokens.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED, FST_CONV_PACKAGE_MISSING
 */
export const bearer: FastifyPluginAsync<BearerOptions & RegistrationOptions> = convention({
  name: 'bearer',
  rules: bearerRules,
  exemptsPreflights: true,
  options: bearerOptions,
  routeOptions: bearerRouteOptions,
  async setUp({ app, options: given, atReady, declareRoutes, addException }) {
    const options = resolveBearer(given)
    const { mode, resource, open } = options
    if (mode === 'off') return null
    const isEnforced = mode === 'enforce'
    const metadataUrl = isEnforced && resource !== null ? resourceMetadataUrl(resource) : null
    const document = (plan: DescribedPlan | null) => documentSecurity(given as BearerOptions, plan)
    const { tokens, warmUp } = await tokenVerification(options, app.log, () =>
      loadPeer('bearer', 'jose', () => import('jose')),
    )
    const stepFor = (scopes: readonly string[], isOptional: boolean) => {
      const refusals = refusalsOf({ realm: options.realm, metadataUrl }, scopes)
      return authenticationOf(tokens, { scopes, isOptional, refusals }, mode)
    }
    const scopes = new Set<string>()
    const metOpen = new Set<string>()

    if (isEnforced) {
      // A `caller` of the app is set, too.
      if (!app.hasRequestDecorator('caller'))
        offerNames(app, { plugin: 'bearer', mode, owner: 'request', members: { caller: { value: null } } })
      knownToken.declare(app)
      knownSubject.set(app, knownSubjectOf(tokens))
    } else logOf(app)?.warn('bearer: in report mode no request is refused, and request.caller is not set')

    app.addHook('onRoute', function documentRouteWithoutToken(route) {
      if (isEnforced && route.config?.bearer === false)
        documentRoute(this, route, 'bearer', () => ({ document: document(null) }))
    })
    let metadata = ''
    declareRoutes(function declareMetadata() {
      if (metadataUrl === null) return
      // RFC 9728 §3.1: the path belongs to the host, not to the prefix of a context.
      rootOf(app).get(
        new URL(metadataUrl).pathname.replaceAll(':', '::'),
        { config: { bearer: false }, schema: { hide: true } as object },
        async (_request, reply) => {
          reply.header('cache-control', 'public, max-age=3600').type('application/json')
          return metadata
        },
      )
    })
    atReady(function listOpenRoutes() {
      metadata = resourceMetadata(options, [...scopes])
      for (const { url, reason } of open) {
        const exception = { route: url, rules: ['token'], reason }
        addException({ ...exception, declared: true, unused: !metOpen.has(url) })
      }
    })
    // Not earlier: the issuer may be part of this app.
    app.addHook('onListen', function fetchKeysOnListen(done) {
      // A failure is logged, and the first request with a token tries again.
      warmUp().catch(() => {})
      done()
    })
    const authenticate = stepFor(options.scopes, false)
    // The response tells an unknown path from one that is protected. Routes that are declared earlier are protected, too.
    const standard: RequestStep = (request, reply) =>
      request.is404 ? undefined : authenticate(request, reply)
    return { open, metOpen, scopes, standard, stepFor, document }
  },
  route({ name, path, route, isConfigured, options, modeOf, state }) {
    if (state === null) return undefined
    if (route === null) return { onRequest: state.standard }
    const { open, metOpen, scopes: known, standard, stepFor, document } = state
    const isEnforced = modeOf.token === 'enforce'
    const opened = open.filter(({ url }) => matchesUrl(url, path))
    for (const { url } of opened) metOpen.add(url)
    if (!isConfigured && opened.length > 0) {
      return isEnforced ? { document: document(null) } : undefined
    }
    const { optional: isOptional = false } = options
    const own = (route.config?.bearer as BearerRouteOptions | undefined)?.scopes
    if (isOptional && own !== undefined && own.length > 0)
      invalid(`${name} config.bearer.scopes`, 'no scopes on a route whose token is optional', own)
    const requirement = { scopes: isOptional ? [] : options.scopes, isOptional }
    const onRequest = isConfigured ? stepFor(requirement.scopes, isOptional) : standard
    if (!isEnforced) return { onRequest }
    callerFields.set(route, ['authorization'])
    for (const scope of requirement.scopes) known.add(scope)
    return { onRequest, describe: describeRefusals(requirement), document: document(requirement) }
  },
})
