import type { HelmetOptions } from 'helmet'
import {
  type Check,
  flag,
  invalid,
  isObject,
  type OptionsOf,
  oneOf,
  option,
  optional,
  type ResolvedOptions,
} from '../../options.js'
import { modeOption, routeModeOption } from '../../report/modes.js'

type Headers = NonNullable<HelmetOptions>

interface PolicyOption {
  /** `Content-Security-Policy`, the same on each request: without functions. @default by `profile` */
  readonly contentSecurityPolicy?: Headers['contentSecurityPolicy']
}

/** The headers that are set by default. */
export type SecurityHeadersProfile = 'api' | 'helmet'

/** helmet checks what is in the object. */
const header: Check<unknown> = (label, received) =>
  typeof received === 'boolean' || isObject(received)
    ? received
    : invalid(label, 'true, false or an object', received)

function headerOption<Name extends keyof Headers>() {
  return optional(header as Check<Headers[Name]>)
}

/** A directive of helmet may be a function of the request: such a policy is one for @fastify/helmet. */
const withoutFunctions: Check<unknown> = (label, received) => {
  const directives = isObject(received) && isObject(received.directives) ? received.directives : {}
  return Object.values(directives)
    .flat()
    .some((value) => typeof value === 'function')
    ? invalid(label, 'a policy without functions; register @fastify/helmet for another one', received)
    : header(label, received)
}

// A declaration file cannot have the type of helmet's policy, which has a private symbol.
const policy = { contentSecurityPolicy: optional(withoutFunctions) }

const headers = {
  /** `Cross-Origin-Embedder-Policy`, for pages. @default by `profile` */
  crossOriginEmbedderPolicy: headerOption<'crossOriginEmbedderPolicy'>(),
  /** `Cross-Origin-Opener-Policy`, for pages. @default by `profile` */
  crossOriginOpenerPolicy: headerOption<'crossOriginOpenerPolicy'>(),
  /** `Cross-Origin-Resource-Policy`: who may load a response without CORS, such as an image. @default by `profile` */
  crossOriginResourcePolicy: headerOption<'crossOriginResourcePolicy'>(),
  /** `Referrer-Policy`. @default by `profile` */
  referrerPolicy: headerOption<'referrerPolicy'>(),
  /** `Strict-Transport-Security`, sent over TLS only (RFC 6797 §7.2). @default true */
  strictTransportSecurity: headerOption<'strictTransportSecurity'>(),
  /** `X-Content-Type-Options: nosniff`. @default true */
  xContentTypeOptions: optional(flag),
  /** `X-Frame-Options`. @default by `profile` */
  xFrameOptions: headerOption<'xFrameOptions'>(),
}

const ownOptions = {
  mode: modeOption,
  /**
   * `api` for responses that no browser shows as a page: `Content-Security-Policy: default-src 'none';frame-ancestors 'none'`,
   * `Cross-Origin-Resource-Policy: same-origin`, `Referrer-Policy: no-referrer`, `X-Content-Type-Options: nosniff`,
   * `X-Frame-Options: DENY`, and over TLS `Strict-Transport-Security`. `helmet` for pages: the defaults of helmet.
   * @default 'api'
   */
  profile: option(oneOf('api', 'helmet'), 'api'),
}

export const securityHeadersOptions = { ...ownOptions, ...policy, ...headers }

const ownRouteOptions = {
  mode: routeModeOption,
  /** As the option of the plugin, for this route. @default the option of the plugin */
  profile: optional(oneOf('api', 'helmet')),
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
