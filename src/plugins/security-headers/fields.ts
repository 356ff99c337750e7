import type { IncomingMessage, ServerResponse } from 'node:http'
import type defaultHelmet from 'helmet'
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

type ResolvedSecurityHeaders = ResolvedOptions<typeof securityHeadersOptions>

type Helmet = typeof defaultHelmet

/** Header fields, by their names in lowercase. */
export type Fields = Readonly<Record<string, string>>

/** Headers with TLS, and without: the same object if there is no `Strict-Transport-Security`. */
export interface Profile {
  readonly secure: Fields
  readonly plain: Fields
}

export interface SecurityFields extends Profile {
  /** The headers of a page, in place of those of the profile `api`, which block all of it; `null` if they are the same. */
  readonly ofPage: Profile | null
}

/** The profile `api` leaves out what affects pages only (OWASP REST Security Cheat Sheet). */
const ofApi: HelmetOptions = {
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
}

export function securityFields(
  helmet: Helmet,
  label: string,
  { mode: _, profile, ...given }: ResolvedSecurityHeaders,
): SecurityFields {
  const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const ofPage = profileOf(helmet, label, own)
  if (profile === 'helmet') return { ...ofPage, ofPage: null }
  const fields = profileOf(helmet, label, { ...ofApi, ...own })
  return { ...fields, ofPage: given.contentSecurityPolicy === undefined ? ofPage : null }
}

/** The headers of a route whose pages have no policy of this plugin. */
export function withoutPolicyOnPages(fields: SecurityFields): SecurityFields {
  const { plain, secure } = fields.ofPage ?? fields
  return { ...fields, ofPage: { plain: withoutPolicy(plain), secure: withoutPolicy(secure) } }
}

// A page may load what a policy stops, and an opener policy cuts it off from the window that opened it for a login.
function withoutPolicy(fields: Fields): Fields {
  const { 'content-security-policy': _, 'cross-origin-opener-policy': __, ...others } = fields
  return others
}

/** Runs helmet once. */
function profileOf(helmet: Helmet, label: string, headers: object): Profile {
  const fields: Record<string, string> = {}
  const response = {
    setHeader: (name: string, value: string) => {
      fields[name.toLowerCase()] = value
    },
    removeHeader: () => {},
  }
  // Fastify sends no X-Powered-By that helmet would have to remove.
  const options: HelmetOptions = { ...headers, xPoweredBy: false }
  try {
    helmet(options)({} as IncomingMessage, response as unknown as ServerResponse, rethrow)
  } catch (error) {
    return invalid(label, `what helmet takes (${(error as Error).message})`, headers)
  }
  const { 'strict-transport-security': hsts, ...others } = fields
  const plain = Object.freeze(others)
  return { plain, secure: hsts === undefined ? plain : Object.freeze(fields) }
}

function rethrow(error?: unknown): void {
  if (error !== undefined) throw error
}
