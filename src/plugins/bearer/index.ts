import type { FastifyPluginAsync } from 'fastify'
import { callerFields, knownSubject } from '../../convention/caller.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { documentRoute } from '../../convention/document.js'
import { offerNames } from '../../convention/offer-names.js'
import type { RequestStep } from '../../convention/steps.js'
import { loadPeer } from '../../load-peer.js'
import { invalid } from '../../options.js'
import { logOf } from '../../report/report.js'
import {
  authenticationOf,
  describeRefusals,
  documentSecurity,
  knownSubjectOf,
  type Requirement,
} from './hooks.js'
import { introspector } from './introspection.js'
import { issuerOf, keySet } from './issuer.js'
import {
  type BearerOptions,
  type BearerRouteOptions,
  bearerOptions,
  bearerRouteOptions,
  resolveBearer,
} from './options.js'
import { jwtVerifier, tokenCache, type VerificationKeys } from './tokens.js'

export type { Caller } from '../../convention/caller.js'
export type {
  BearerAlgorithm,
  BearerKeySet,
  BearerOptions,
  BearerRouteOptions,
  IntrospectionOptions,
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
  rules: ['credentials', 'token', 'scope', 'issuer'],
  exemptsPreflights: true,
  options: bearerOptions,
  routeOptions: bearerRouteOptions,
  async setUp({ app, options: given }) {
    const options = resolveBearer(given)
    const { mode, introspection, now } = options
    if (mode === 'off') return null
    const isEnforced = mode === 'enforce'
    const issuer = issuerOf(options, app.log)
    let keys: VerificationKeys | undefined
    let verify = introspection && introspector(issuer, options, introspection)
    if (verify === undefined) {
      const jose = await loadPeer('bearer', 'jose', () => import('jose'))
      keys = keySet(jose, issuer, options, () => tokens.clear())
      verify = jwtVerifier(jose, options, keys, app.log)
    }
    const tokens = tokenCache(verify, now)
    const stepFor = (requirement: Requirement) => authenticationOf(tokens, options, requirement)
    const document = (requirement: Requirement | null) => documentSecurity(options, requirement)

    if (isEnforced) {
      // A `caller` of the app is set, too.
      if (!app.hasRequestDecorator('caller'))
        offerNames(app, { plugin: 'bearer', mode, owner: 'request', members: { caller: { value: null } } })
      knownSubject.set(app, knownSubjectOf(tokens))
    } else logOf(app)?.warn('bearer: in report mode no request is refused, and request.caller is not set')

    app.addHook('onRoute', function documentRouteWithoutToken(route) {
      if (isEnforced && route.config?.bearer === false)
        documentRoute(this, route, 'bearer', () => ({ document: document(null) }))
    })
    // Not earlier: the issuer may be part of this app.
    app.addHook('onListen', function fetchKeysOnListen(done) {
      // A failure is logged, and the first request with a token tries again.
      keys?.warmUp().catch(() => {})
      done()
    })
    const authenticate = stepFor({ scopes: options.scopes, isOptional: false })
    // The response tells an unknown path from one that is protected. Routes that are declared earlier are protected, too.
    const standard: RequestStep = (request, reply) =>
      request.is404 ? undefined : authenticate(request, reply)
    return { standard, stepFor, document }
  },
  route({ name, route, isConfigured, options, modeOf, state }) {
    if (state === null) return undefined
    const { standard, stepFor, document } = state
    if (route === null) return { onRequest: standard }
    const { optional: isOptional = false } = options
    const own = (route.config?.bearer as BearerRouteOptions | undefined)?.scopes
    if (isOptional && own !== undefined && own.length > 0)
      invalid(`${name} config.bearer.scopes`, 'no scopes on a route whose token is optional', own)
    const requirement = { scopes: isOptional ? [] : options.scopes, isOptional }
    const onRequest = isConfigured ? stepFor(requirement) : standard
    if (modeOf.token !== 'enforce') return { onRequest }
    callerFields.set(route, ['authorization'])
    return { onRequest, describe: describeRefusals(requirement), document: document(requirement) }
  },
})
