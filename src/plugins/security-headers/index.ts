import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type defaultHelmet from 'helmet'
import type { HelmetOptions } from 'helmet'
import { convention } from '../../convention/convention.js'
import { excludedEarlier, type RegistrationOptions } from '../../convention/declared-routes.js'
import { rawFields } from '../../convention/early-answers.js'
import { headerOf, isResponse } from '../../convention/exchange.js'
import { fastifyHelmet } from '../../convention/neighbours.js'
import type { Effect, Steps } from '../../convention/steps.js'
import { mediaTypeOf } from '../../http/media-types.js'
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
import { foreignReasonOf, isHidden, modeOption, routeMode } from '../../report/modes.js'

type Headers = NonNullable<HelmetOptions>

interface PolicyOption {
  /** `Content-Security-Policy`, the same on each request: without functions. @default by `profile` */
  readonly contentSecurityPolicy?: Headers['contentSecurityPolicy']
}

/** The headers that are set by default. */
export type SecurityHeadersProfile = 'api' | 'helmet'

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

const securityHeadersOptions = { ...ownOptions, ...policy, ...headers }

const ownRouteOptions = {
  ...routeMode,
  /** As the option of the plugin, for this route. @default the option of the plugin */
  profile: optional(oneOf('api', 'helmet')),
}

const securityHeadersRouteOptions = { ...ownRouteOptions, ...policy, ...headers }

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

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Security headers of this route, merged over those of the plugin; `false` for none. */
    securityHeaders?: SecurityHeadersRouteOptions | false
  }
}

/**
 * Sets security headers on every response, also on errors and 404s: those of helmet, by default the few that have an
 * effect for a JSON API (OWASP REST Security Cheat Sheet). helmet runs once per configuration at boot.
 * `Strict-Transport-Security` is sent over TLS only: behind a proxy that ends TLS, set `trustProxy` of Fastify.
 *
 * Headers that the app sets are kept. In a context with @fastify/helmet the plugin is off, and the report says so.
 * Wildcard routes and WebSocket routes may be pages, which the policy of an API would break: they have no headers unless
 * `config.securityHeaders` sets them. Routes that are hidden from the OpenAPI document (`schema.hide`) have the headers,
 * but neither a content security policy nor an opener policy on their pages. Other responses that are `text/html` have no
 * policy of an API. A response that an earlier hook sends has no headers, and neither has the answer to a connection
 * without a request (400, 408, 431), unless `serverOptions()` are used.
 *
 * Not for an app behind a proxy that sets these headers, nor for a policy that differs from request to request.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const securityHeaders: FastifyPluginAsync<SecurityHeadersOptions & RegistrationOptions> = convention({
  name: 'securityHeaders',
  rules: ['missing'],
  options: securityHeadersOptions,
  routeOptions: securityHeadersRouteOptions,
  neighbours: [
    {
      ...fastifyHelmet,
      problem: 'sets the headers here: this plugin is off',
      instead: 'one of the two: securityHeaders: false, or no @fastify/helmet',
    },
  ],
  async setUp({ app, options }) {
    // Loaded here, so that an import of this package does not load it.
    const { default: helmet } = await import('helmet')
    const fields = securityFields(helmet, 'securityHeaders', options)
    if (options.mode === 'enforce') rawFields.set(app, fields)
    const isExcluded = excludedEarlier(app)
    return { helmet, fields, steps: stepsOf(fields, options.mode === 'enforce', isExcluded) }
  },
  route({ name, route, isConfigured, options, modeOf, exclude, state }) {
    if (modeOf.missing === 'off') return undefined
    const isEnforced = modeOf.missing === 'enforce'
    if (route === null) return state.steps
    if (isConfigured)
      return stepsOf(securityFields(state.helmet, `${name} config.securityHeaders`, options), isEnforced)
    const reason = foreignReasonOf(route)
    if (reason !== null) {
      exclude(reason)
      return undefined
    }
    return isHidden(route) ? stepsOf(withoutPolicyOnPages(state.fields), isEnforced) : state.steps
  },
})

function stepsOf(
  fields: SecurityFields,
  isEnforced: boolean,
  isExcluded: ((request: FastifyRequest) => boolean) | null = null,
): Pick<Steps, 'onRequest' | 'onSend'> {
  const { ofPage } = fields
  const [plain, secure] = [effectOf(fields.plain), effectOf(fields.secure)]

  function setFields(request: FastifyRequest, reply: FastifyReply): Effect | undefined {
    if (isExcluded?.(request)) return undefined
    const all = fieldsFor(request, fields)
    for (const name in all) {
      if (headerOf(reply, name) !== undefined) return effectOf(all, missingOf(reply, Object.keys(all)))
    }
    return all === fields.plain ? plain : secure
  }

  // The headers of an API would block all that a page loads, and a header that the app has set later stays.
  function setFieldsOfPage(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
  ): Effect | undefined {
    if (ofPage === null || !isPage(reply, payload) || isExcluded?.(request)) return undefined
    const [ours, own] = [fieldsFor(request, fields), fieldsFor(request, ofPage)]
    const change = (): void => {
      for (const name of Object.keys({ ...ours, ...own })) {
        const value = reply.getHeader(name)
        if (value !== ours[name]) continue
        if (own[name] === undefined) reply.removeHeader(name)
        else reply.header(name, own[name])
      }
    }
    return { rule: 'missing', change }
  }

  function countMissing(request: FastifyRequest, reply: FastifyReply, payload: unknown): Effect | undefined {
    if (isExcluded?.(request)) return undefined
    const profile = ofPage !== null && isPage(reply, payload) ? ofPage : fields
    const all = fieldsFor(request, profile)
    const missing = missingOf(reply, Object.keys(all))
    return missing.length === 0 ? undefined : effectOf(all, missing)
  }

  return isEnforced ? { onRequest: setFields, onSend: setFieldsOfPage } : { onSend: countMissing }
}

function effectOf(fields: Fields, names: readonly string[] = Object.keys(fields)): Effect {
  const headers = Object.fromEntries(names.map((name) => [name, fields[name] ?? '']))
  return { rule: 'missing', given: `without ${names.join(', ')}`, headers }
}

function missingOf(reply: FastifyReply, names: readonly string[]): readonly string[] {
  return names.filter((name) => !reply.hasHeader(name))
}

// Most responses are JSON: their media type need not be parsed.
const startsAsText = /^t/i

function isPage(reply: FastifyReply, payload: unknown): boolean {
  const type = isResponse(payload) ? payload.headers.get('content-type') : headerOf(reply, 'content-type')
  return typeof type === 'string' && startsAsText.test(type) && mediaTypeOf(type) === 'text/html'
}

// RFC 6797 §7.2: Strict-Transport-Security over TLS only. `protocol` is that of the trusted proxy, if there is one.
function fieldsFor(request: FastifyRequest, { plain, secure }: Profile): Fields {
  return plain === secure || request.protocol !== 'https' ? plain : secure
}

type ResolvedSecurityHeaders = ResolvedOptions<typeof securityHeadersOptions>

type Helmet = typeof defaultHelmet

type Fields = Readonly<Record<string, string>>

/** Headers with TLS, and without: the same object if there is no `Strict-Transport-Security`. */
interface Profile {
  readonly secure: Fields
  readonly plain: Fields
}

interface SecurityFields extends Profile {
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

function securityFields(
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
function withoutPolicyOnPages(fields: SecurityFields): SecurityFields {
  const { plain, secure } = fields.ofPage ?? fields
  return { ...fields, ofPage: { plain: withoutPolicy(plain), secure: withoutPolicy(secure) } }
}

// A page may load what a policy stops, and an opener policy cuts it off from the window that opened it for a login.
function withoutPolicy(fields: Fields): Fields {
  const { 'content-security-policy': _, 'cross-origin-opener-policy': __, ...others } = fields
  return others
}

function profileOf(helmet: Helmet, label: string, headers: HelmetOptions): Profile {
  const fields: Record<string, string> = {}
  const response = {
    setHeader: (name: string, value: string) => {
      fields[name.toLowerCase()] = value
    },
    removeHeader: () => {},
  }
  try {
    helmet(headers)({} as IncomingMessage, response as unknown as ServerResponse, () => {})
  } catch (error) {
    return invalid(label, `what helmet takes (${(error as Error).message})`, headers)
  }
  const { 'strict-transport-security': hsts, ...others } = fields
  const plain = Object.freeze(others)
  return { plain, secure: hsts === undefined ? plain : Object.freeze(fields) }
}
