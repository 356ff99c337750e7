import type { HelmetOptions } from 'helmet'
import { type Check, type Checks, flag, invalid, isObject, objectOf, oneOf } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'

type Headers = NonNullable<HelmetOptions>

/** The headers that are set by default. */
export type SecurityHeadersProfile = 'api' | 'helmet'

/**
 * The headers, by the names of the options of helmet 8: `true` for helmet's default of a header, `false` for no such
 * header, an object for options of the header. The older aliases (`hsts`, `noSniff`, `frameguard` …) are refused. The
 * default of each is that of {@link SecurityHeadersRouteOptions.profile}.
 */
export interface HelmetHeaders {
  /**
   * `Content-Security-Policy`. A directive may be a function of the request, which runs helmet per request.
   * @default by `profile`
   */
  readonly contentSecurityPolicy?: Headers['contentSecurityPolicy']
  /** `Cross-Origin-Embedder-Policy`, for pages. @default by `profile` */
  readonly crossOriginEmbedderPolicy?: Headers['crossOriginEmbedderPolicy']
  /** `Cross-Origin-Opener-Policy`, for pages. @default by `profile` */
  readonly crossOriginOpenerPolicy?: Headers['crossOriginOpenerPolicy']
  /** `Cross-Origin-Resource-Policy`: who may load a response without CORS, such as an image. @default by `profile` */
  readonly crossOriginResourcePolicy?: Headers['crossOriginResourcePolicy']
  /** `Origin-Agent-Cluster`, for pages. @default by `profile` */
  readonly originAgentCluster?: Headers['originAgentCluster']
  /** `Referrer-Policy`. @default by `profile` */
  readonly referrerPolicy?: Headers['referrerPolicy']
  /** `Strict-Transport-Security`, sent over TLS only (RFC 6797 §7.2). @default true */
  readonly strictTransportSecurity?: Headers['strictTransportSecurity']
  /** `X-Content-Type-Options: nosniff`. @default true */
  readonly xContentTypeOptions?: Headers['xContentTypeOptions']
  /** `X-DNS-Prefetch-Control`, for pages. @default by `profile` */
  readonly xDnsPrefetchControl?: Headers['xDnsPrefetchControl']
  /** `X-Download-Options`, for Internet Explorer. @default by `profile` */
  readonly xDownloadOptions?: Headers['xDownloadOptions']
  /** `X-Frame-Options`. @default by `profile` */
  readonly xFrameOptions?: Headers['xFrameOptions']
  /** `X-Permitted-Cross-Domain-Policies`, for plugins of old browsers. @default by `profile` */
  readonly xPermittedCrossDomainPolicies?: Headers['xPermittedCrossDomainPolicies']
  /** `X-XSS-Protection: 0`, for old browsers. @default by `profile` */
  readonly xXssProtection?: Headers['xXssProtection']
  /**
   * Adds a nonce per request to `script-src` and `style-src`, and sets `reply.cspNonce`. For pages. Runs helmet per
   * request.
   * @default false
   */
  readonly enableCSPNonces?: boolean
}

/** Options of a route, under `config.securityHeaders`, merged over those of the plugin; `false` for no headers. */
export interface SecurityHeadersRouteOptions extends HelmetHeaders {
  /**
   * `enforce` sets the headers, `report` counts the responses that lack them, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * `api` for responses that no browser shows as a page: `Content-Security-Policy: default-src 'none';frame-ancestors 'none'`,
   * `Cross-Origin-Resource-Policy: same-origin`, `Referrer-Policy: no-referrer`, `X-Content-Type-Options: nosniff`,
   * `X-Frame-Options: DENY`, and over TLS `Strict-Transport-Security`. `helmet` for pages: the defaults of helmet.
   * @default 'api'
   */
  readonly profile?: SecurityHeadersProfile
  /**
   * The headers of responses that are `text/html`, in place of those of the profile `api`: merged over the other options
   * and the defaults of helmet. `false` for none. Such a policy is the same on each request; for nonces, set
   * `profile: 'helmet'` on the route. Without effect beside `profile: 'helmet'` or a `contentSecurityPolicy`, which are for
   * pages too.
   * @default {}
   */
  readonly pages?: Omit<HelmetHeaders, 'enableCSPNonces'> | false
}

/** Options of the plugin `securityHeaders`. */
export interface SecurityHeadersOptions extends SecurityHeadersRouteOptions {}

/** The options of a route with all defaults. */
export type ResolvedSecurityHeaders = SecurityHeadersOptions &
  Required<Pick<SecurityHeadersOptions, 'mode' | 'profile'>>

/** The headers of the profiles. `api` leaves out those that affect pages only (OWASP REST Security Cheat Sheet). */
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

const headerChecks: Checks<Omit<HelmetHeaders, 'enableCSPNonces'>> = {
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
}

const pageHeaders = objectOf(headerChecks)

/** Checks of {@link SecurityHeadersOptions} and of {@link SecurityHeadersRouteOptions}. */
export const securityHeadersChecks: Checks<SecurityHeadersOptions> = {
  ...headerChecks,
  mode: oneOf(...modes),
  profile: oneOf('api', 'helmet'),
  pages: (label, received) => (received === false ? false : pageHeaders(label, received)),
  enableCSPNonces: flag,
}

/** The defaults of {@link SecurityHeadersOptions}. */
export const securityHeadersDefaults: ResolvedSecurityHeaders = Object.freeze({
  mode: 'enforce',
  profile: 'api',
})

/** Returns a check of a flag or of an object with these options; helmet itself ignores unknown names. */
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
