import type { FastifyHelmetOptions } from '@fastify/helmet'
import { type Check, type Checks, flag, invalid, isObject, objectOf, oneOf } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'

/** Which headers are there without a word. */
export type SecurityHeadersProfile = 'api' | 'helmet'

/**
 * The headers, by the names that helmet 8 gives its options: `true` for helmet's default of that header, `false` for no
 * such header, an object for options of its own. The old aliases (`hsts`, `noSniff`, `frameguard` …) are not taken.
 */
export interface HelmetHeaders {
  /** `Content-Security-Policy`. A directive may be a function of the request, which costs what helmet costs. */
  readonly contentSecurityPolicy?: FastifyHelmetOptions['contentSecurityPolicy']
  /** `Cross-Origin-Embedder-Policy`; for pages. */
  readonly crossOriginEmbedderPolicy?: FastifyHelmetOptions['crossOriginEmbedderPolicy']
  /** `Cross-Origin-Opener-Policy`; for pages. */
  readonly crossOriginOpenerPolicy?: FastifyHelmetOptions['crossOriginOpenerPolicy']
  /** `Cross-Origin-Resource-Policy`: who may load it without CORS, as an image for instance. */
  readonly crossOriginResourcePolicy?: FastifyHelmetOptions['crossOriginResourcePolicy']
  /** `Origin-Agent-Cluster`; for pages. */
  readonly originAgentCluster?: FastifyHelmetOptions['originAgentCluster']
  /** `Referrer-Policy`. */
  readonly referrerPolicy?: FastifyHelmetOptions['referrerPolicy']
  /** `Strict-Transport-Security`; sent over TLS alone (RFC 6797 §7.2). */
  readonly strictTransportSecurity?: FastifyHelmetOptions['strictTransportSecurity']
  /** `X-Content-Type-Options: nosniff`. */
  readonly xContentTypeOptions?: FastifyHelmetOptions['xContentTypeOptions']
  /** `X-DNS-Prefetch-Control`; for pages. */
  readonly xDnsPrefetchControl?: FastifyHelmetOptions['xDnsPrefetchControl']
  /** `X-Download-Options`; for Internet Explorer. */
  readonly xDownloadOptions?: FastifyHelmetOptions['xDownloadOptions']
  /** `X-Frame-Options`. */
  readonly xFrameOptions?: FastifyHelmetOptions['xFrameOptions']
  /** `X-Permitted-Cross-Domain-Policies`; for plugins of browsers of old. */
  readonly xPermittedCrossDomainPolicies?: FastifyHelmetOptions['xPermittedCrossDomainPolicies']
  /** `X-XSS-Protection: 0`; for browsers of old. */
  readonly xXssProtection?: FastifyHelmetOptions['xXssProtection']
  /**
   * A nonce in `script-src` and `style-src`, fresh for each request, at `reply.cspNonce`. For pages; costs what helmet
   * costs.
   * @default false
   */
  readonly enableCSPNonces?: boolean
}

/** What a route says under `config.securityHeaders`, laid over the options of the plugin; `false` for no headers. */
export interface SecurityHeadersRouteOptions extends HelmetHeaders {
  /**
   * `enforce` sends the headers, `report` counts the answers that lack them, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * `api` for what no browser shows as a page: `Content-Security-Policy: default-src 'none';frame-ancestors 'none'`,
   * `Cross-Origin-Resource-Policy: same-origin`, `Referrer-Policy: no-referrer`, `X-Content-Type-Options: nosniff`,
   * `X-Frame-Options: DENY`, and over TLS `Strict-Transport-Security`. `helmet` for pages: the defaults of helmet.
   * @default 'api'
   */
  readonly profile?: SecurityHeadersProfile
}

/** Options of the plugin `securityHeaders`. */
export interface SecurityHeadersOptions extends SecurityHeadersRouteOptions {}

/** What a route has when all is resolved. */
export type ResolvedSecurityHeaders = SecurityHeadersOptions &
  Required<Pick<SecurityHeadersOptions, 'mode' | 'profile'>>

/** What the profiles are made of. Browsers of an API need no word on what only pages do (OWASP REST Security). */
export const profiles: Readonly<Record<SecurityHeadersProfile, HelmetHeaders>> = {
  api: {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    },
    crossOriginOpenerPolicy: false,
    crossOriginResourcePolicy: { policy: 'same-origin' },
    originAgentCluster: false,
    referrerPolicy: { policy: 'no-referrer' },
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xFrameOptions: { action: 'deny' },
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  },
  helmet: {},
}

/** Checks of {@link SecurityHeadersOptions}, and of what a route says. */
export const securityHeadersChecks: Checks<SecurityHeadersOptions> = {
  mode: oneOf(...modes),
  profile: oneOf('api', 'helmet'),
  contentSecurityPolicy: header('useDefaults', 'directives', 'reportOnly'),
  crossOriginEmbedderPolicy: header('policy'),
  crossOriginOpenerPolicy: header('policy'),
  crossOriginResourcePolicy: header('policy'),
  originAgentCluster: flag,
  referrerPolicy: header('policy'),
  strictTransportSecurity: header('maxAge', 'includeSubDomains', 'preload'),
  xContentTypeOptions: flag,
  xDnsPrefetchControl: header('allow'),
  xDownloadOptions: flag,
  xFrameOptions: header('action'),
  xPermittedCrossDomainPolicies: header('permittedPolicies'),
  xXssProtection: flag,
  enableCSPNonces: flag,
}

/** Where nobody said otherwise. */
export const securityHeadersDefaults: ResolvedSecurityHeaders = Object.freeze({
  mode: 'enforce',
  profile: 'api',
})

/** A flag, or an object of these options; helmet itself passes over names that it does not know. */
function header<Value>(...names: readonly string[]): Check<Value> {
  const options = objectOf<Record<string, unknown>>(
    Object.fromEntries(names.map((name) => [name, (_label: string, received: unknown) => received])),
  )
  return (label, received) => {
    if (typeof received !== 'boolean' && !isObject(received))
      invalid(label, 'true, false or an object', received)
    return (typeof received === 'boolean' ? received : options(label, received)) as Value
  }
}
