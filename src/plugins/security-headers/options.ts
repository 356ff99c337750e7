import type { HelmetOptions } from 'helmet'
import {
  type Check,
  checksOf,
  flag,
  invalid,
  isObject,
  type OptionsOf,
  objectOf,
  oneOf,
  option,
  optional,
  type ResolvedOptions,
} from '../../options.js'
import { modeOption, routeModeOption } from '../../rules/modes.js'

type Headers = NonNullable<HelmetOptions>

interface PolicyOption {
  /** `Content-Security-Policy`, the same on each request: without functions. @default by `profile` */
  readonly contentSecurityPolicy?: Headers['contentSecurityPolicy']
}

/** The headers that are set by default. */
export type SecurityHeadersProfile = 'api' | 'helmet'

// A declaration file cannot have the type of helmet's policy, which has a private symbol.
const policy = { contentSecurityPolicy: optional<unknown>(withoutFunctions) }

const headers = {
  /** `Cross-Origin-Embedder-Policy`, for pages. @default by `profile` */
  crossOriginEmbedderPolicy: optional(header<Headers['crossOriginEmbedderPolicy']>('policy')),
  /** `Cross-Origin-Opener-Policy`, for pages. @default by `profile` */
  crossOriginOpenerPolicy: optional(header<Headers['crossOriginOpenerPolicy']>('policy')),
  /** `Cross-Origin-Resource-Policy`: who may load a response without CORS, such as an image. @default by `profile` */
  crossOriginResourcePolicy: optional(header<Headers['crossOriginResourcePolicy']>('policy')),
  /** `Referrer-Policy`. @default by `profile` */
  referrerPolicy: optional(header<Headers['referrerPolicy']>('policy')),
  /** `Strict-Transport-Security`, sent over TLS only (RFC 6797 §7.2). @default true */
  strictTransportSecurity: optional(
    header<Headers['strictTransportSecurity']>('maxAge', 'includeSubDomains', 'preload'),
  ),
  /** `X-Content-Type-Options: nosniff`. @default true */
  xContentTypeOptions: optional(flag),
  /** `X-Frame-Options`. @default by `profile` */
  xFrameOptions: optional(header<Headers['xFrameOptions']>('action')),
}

const pageHeaders = objectOf(checksOf({ ...policy, ...headers })[0])
const pages: Check<HelmetHeaders | false> = (label, received) =>
  received === false ? false : (pageHeaders(label, received) as HelmetHeaders)

const ownOptions = {
  mode: modeOption,
  /**
   * `api` for responses that no browser shows as a page: `Content-Security-Policy: default-src 'none';frame-ancestors 'none'`,
   * `Cross-Origin-Resource-Policy: same-origin`, `Referrer-Policy: no-referrer`, `X-Content-Type-Options: nosniff`,
   * `X-Frame-Options: DENY`, and over TLS `Strict-Transport-Security`. `helmet` for pages: the defaults of helmet.
   * @default 'api'
   */
  profile: option(oneOf('api', 'helmet'), 'api'),
  /**
   * The headers of responses that are `text/html`, in place of those of the profile `api`: merged over the other options
   * and the defaults of helmet. `false` for none. Without effect beside `profile: 'helmet'` or a `contentSecurityPolicy`,
   * which are for pages too.
   * @default {}
   */
  pages: option(pages, {}),
}

export const securityHeadersOptions = { ...ownOptions, ...policy, ...headers }

const ownRouteOptions = {
  mode: routeModeOption,
  /** As the option of the plugin, for this route. @default the option of the plugin */
  profile: optional(oneOf('api', 'helmet')),
  /** As the option of the plugin, for this route. @default the option of the plugin */
  pages: optional(pages),
}

export const securityHeadersRouteOptions = { ...ownRouteOptions, ...policy, ...headers }

/**
 * The headers, by the names of the options of helmet 8: `true` for helmet's default of a header, `false` for no such
 * header, an object for options of the header. The older aliases (`hsts`, `noSniff`, `frameguard` …) are refused, and so are
 * headers that only old browsers read. The default of each is that of {@link SecurityHeadersOptions.profile}.
 */
export interface HelmetHeaders extends PolicyOption, OptionsOf<typeof headers> {}

/** Options of the plugin `securityHeaders`. */
export interface SecurityHeadersOptions extends HelmetHeaders, OptionsOf<typeof ownOptions> {}

/** Options of a route, under `config.securityHeaders`, merged over those of the plugin; `false` for no headers. */
export interface SecurityHeadersRouteOptions extends HelmetHeaders, OptionsOf<typeof ownRouteOptions> {}

export type ResolvedSecurityHeaders = ResolvedOptions<typeof securityHeadersOptions>

/** The headers of the profiles. `api` leaves out those that affect pages only (OWASP REST Security Cheat Sheet). */
export const profiles: Readonly<Record<SecurityHeadersProfile, Headers>> = {
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

/** A directive of helmet may be a function of the request: such a policy is one for @fastify/helmet. */
function withoutFunctions(label: string, received: unknown): unknown {
  const policy = header<Headers['contentSecurityPolicy']>(
    'useDefaults',
    'directives',
    'reportOnly',
  )(label, received)
  const directives = isObject(policy) && isObject(policy.directives) ? Object.values(policy.directives) : []
  const values = directives.flatMap((value) => (Array.isArray(value) ? value : []))
  if (!values.some((value) => typeof value === 'function')) return policy
  return invalid(label, 'a policy without functions; register @fastify/helmet for another one', received)
}

/** Returns a check of a flag or of an object with these options, because helmet ignores unknown names. */
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
