import type { FastifyPluginAsync, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { isRoot } from '../../convention/contexts.js'
import { convention } from '../../convention/convention.js'
import type { RegistrationOptions } from '../../convention/declared-routes.js'
import { headerOf, isPreflight, isResponse, withHeaders } from '../../convention/exchange.js'
import { corsDecorator, fastifyCors } from '../../convention/neighbours.js'
import type { Effect, PayloadStep } from '../../convention/steps.js'
import { fieldName, mergeVary, varyMerger } from '../../http/header-fields.js'
import { webOrigin } from '../../http/url.js'
import {
  type Check,
  flag,
  invalid,
  listOf,
  type OptionsOf,
  option,
  optional,
  type ResolvedOptions,
} from '../../options.js'
import { modeOption, routeMode } from '../../report/modes.js'
import { type MaybeAsync, withValue } from '../../time/async.js'

/** Returns whether an origin may read responses, or a promise of that. It is not called for requests without `Origin`. */
export type CorsOriginFunction = (origin: string) => MaybeAsync<boolean>

/** Origins that may read responses. */
export type CorsOrigin = false | string | RegExp | readonly (string | RegExp)[] | CorsOriginFunction

const origin: Check<CorsOrigin> = (label, received) => {
  if (received === false) return received
  if (typeof received === 'function') {
    return received.length > 1
      ? invalid(label, 'a function that returns whether an origin is allowed, without a callback', received)
      : (received as CorsOriginFunction)
  }
  return Array.isArray(received) ? severalOrigins(label, received) : oneOrigin(label, received)
}

const severalOrigins = listOf<string | RegExp>(
  (label, received) =>
    received === '*'
      ? invalid(label, "an origin, or '*' alone without a list", received)
      : oneOrigin(label, received),
  'at least one origin, or false',
)

function oneOrigin(label: string, received: unknown): string | RegExp {
  if (!(received instanceof RegExp)) return received === '*' ? received : webOrigin(label, received)
  const { source } = received
  // An expression without anchors suggests that it matches a part of an origin.
  if (source.startsWith('^') && source.endsWith('$')) return received
  return invalid(label, 'a regular expression from ^ to $', String(received))
}

const corsOptions = {
  /**
   * `enforce` sets headers and answers preflights, `report` adds nothing and counts the requests from other origins, `off`
   * does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Origins that may read responses: an origin (`'https://app.example'`), several, a regular expression from `^` to `$`, a
   * function of the origin that returns whether it may, `'*'` for all, `false` for none.
   * @default false
   */
  origin: option<CorsOrigin>(origin, false),
  /**
   * Whether a page may send cookies and read the response. Not with `origin: '*'`.
   * @default false
   */
  credentials: option(flag, false),
  /**
   * Response headers that a page may read, in addition to those of the conventions.
   * @default []
   */
  exposedHeaders: option(listOf(fieldName), []),
}

/** The options of a route, for its responses; a preflight has the options of the plugin. */
const corsRouteOptions = {
  /**
   * Origins that may read the responses of this route.
   * @default those of the plugin
   */
  origin: optional(origin),
  ...routeMode,
}

/** Options of the plugin `cors`. */
export type CorsOptions = OptionsOf<typeof corsOptions>

/** Options of a route, under `config.cors`; `false` for no page. */
export type CorsRouteOptions = OptionsOf<typeof corsRouteOptions>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The origins whose pages may read responses of this route; `false` for none. */
    cors?: CorsRouteOptions | false
  }
}

/**
 * Lets pages of other origins use the API (Fetch, CORS protocol). It exposes the headers of the conventions, allows the
 * methods of a REST API, and adds `Vary: Origin` to every response that can differ by origin, errors, 304 and responses
 * with a `Vary` of their own included. An `OPTIONS` that is not a preflight is served like any other request.
 *
 * No origin is allowed by default; without `origin` the plugin adds nothing.
 *
 * Not a protection: only browsers follow CORS. Not for an app behind a proxy that answers CORS.
 *
 * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_ALREADY_REGISTERED
 */
export const cors: FastifyPluginAsync<CorsOptions & RegistrationOptions> = convention({
  name: 'cors',
  rules: ['origin', 'vary'],
  neighbours: [
    {
      ...fastifyCors,
      problem: 'answers pages of other origins here: this plugin does not',
      instead: 'one of the two: cors: false, or no @fastify/cors',
    },
  ],
  options: corsOptions,
  routeOptions: corsRouteOptions,
  isOff: ({ origin }) => origin === false,
  setUp({ app, options }) {
    const steps = stepsOf('cors', options)
    // The hooks of a context with a prefix do not run for paths without a route.
    if (steps !== null && options.mode === 'enforce' && !isRoot(app)) {
      if (!app.hasRequestDecorator(corsDecorator)) {
        app.options('*', { schema: { hide: true } as FastifySchema }, (_request, reply) =>
          reply.callNotFound(),
        )
      }
    }
    return steps
  },
  route({ name, route, options, modeOf, state: standard }) {
    if (standard === null || modeOf.origin === 'off') return undefined
    const hasOwn = (route?.config?.cors as CorsRouteOptions | undefined)?.origin !== undefined
    // A response for all pages is the same with cookies and without.
    const credentials = options.credentials && options.origin !== '*'
    const steps = hasOwn ? stepsOf(`${name} config.cors`, { ...options, credentials }) : standard
    if (steps === null) return undefined
    return { onRequest: modeOf.origin === 'enforce' ? steps.decide : observeOrigin, onSend: steps.vary }
  },
})

const withOrigin = varyMerger('Origin')

/** @throws FST_CONV_OPTION_INVALID for `credentials` with all origins: any page could act for the user */
function stepsOf(
  label: string,
  { origin, credentials, exposedHeaders }: ResolvedOptions<typeof corsOptions>,
) {
  if (origin === false) return null
  if (credentials && origin === '*')
    invalid(`${label}.origin`, 'named origins, because credentials is true', origin)
  const allowed = typeof origin === 'function' ? origin : allowedBy(origin)
  const known = new Set(conventionHeaders.map((name) => name.toLowerCase()))
  const own = exposedHeaders.filter((name) => !known.has(name.toLowerCase()))
  const exposed = [...conventionHeaders, ...own].join(', ')
  // The header fields of a response that a page of the origin may read (Fetch, CORS protocol), but `Vary`.
  const fieldsFor = (origin: string): Record<string, string> => ({
    'access-control-allow-origin': origin,
    ...(credentials && { 'access-control-allow-credentials': 'true' }),
    'access-control-expose-headers': exposed,
  })
  // Headers that are the same for all origins are always set: a cache may give the response to a page.
  const forAll = { rule: 'origin', headers: fieldsFor(String(allowed)) }

  function decide(request: FastifyRequest, reply: FastifyReply): MaybeAsync<Effect | undefined> {
    const { origin } = request.headers
    if (typeof allowed === 'string') {
      return isPreflight(request) ? effectOf(request, reply, allowed) : forAll
    }
    if (origin === undefined) return undefined
    return withValue(allowed(origin), (isAllowed: unknown) => {
      if (typeof isAllowed !== 'boolean')
        throw new Error('The function for cors.origin has not returned a boolean')
      return effectOf(request, reply, isAllowed ? origin : null)
    })
  }

  function effectOf(request: FastifyRequest, reply: FastifyReply, named: string | null): Effect {
    const { 'access-control-request-headers': requested } = request.headers
    const headers = named === null ? {} : fieldsFor(named)
    if (typeof allowed !== 'string') headers.vary = withOrigin(headerOf(reply, 'vary'))
    const effect = { rule: 'origin', headers }
    if (!isPreflight(request)) return effect
    Object.assign(headers, preflightFields(requested))
    headers.vary = mergeVary(headers.vary ?? headerOf(reply, 'vary'), 'Access-Control-Request-Headers')
    return { ...effect, answer: { status: 204 } }
  }

  return { decide, vary: typeof allowed === 'string' ? undefined : addOriginToVary }
}

function observeOrigin({ headers: { origin } }: FastifyRequest): Effect | undefined {
  return origin === undefined ? undefined : { rule: 'origin', given: `asked from ${origin}`, headers: {} }
}

const withoutOrigin = { rule: 'vary', given: 'without Origin in Vary' }
const onlyOrigin: Effect = { ...withoutOrigin, headers: { vary: 'Origin' } }

const addOriginToVary: PayloadStep = function addOriginToVary(_request, reply, payload) {
  const current = headerOf(reply, 'vary')
  const vary = withOrigin(current)
  // The headers of a web Response replace those of the reply. Without a `Vary` in it, that of the reply is sent.
  const ofResponse = isResponse(payload) ? payload.headers.get('vary') : null
  if (vary === current && ofResponse === null) return undefined
  const changed =
    current === undefined ? onlyOrigin : { ...withoutOrigin, change: () => void reply.header('vary', vary) }
  if (ofResponse === null) return changed
  return { ...changed, payload: withHeaders(payload as Response, { vary: withOrigin(ofResponse) }) }
}

// Browsers always expose seven others, such as `Cache-Control` (Fetch §3.2.6, CORS-safelisted response-header names).
const conventionHeaders: readonly string[] = [
  'Location',
  'Operation-Location',
  'Link',
  'ETag',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Deprecation',
  'Sunset',
  'Preference-Applied',
  'Idempotent-Replayed',
]

/** Returns a function for origins that differ, or the one that all responses name. */
function allowedBy(origin: string | RegExp | readonly (string | RegExp)[]): string | CorsOriginFunction {
  if (typeof origin === 'string') return origin
  const allowed = [origin].flat().map((one) => (typeof one === 'string' ? one : matchingWhole(one)))
  return (origin) => allowed.some((one) => (typeof one === 'string' ? one === origin : one.test(origin)))
}

function matchingWhole({ source, flags }: RegExp): RegExp {
  return new RegExp(`^(?:${source})$`, flags.replace(/[gmy]/g, ''))
}

/** @param requested `Access-Control-Request-Headers` of the preflight */
function preflightFields(requested: string | undefined): Record<string, string> {
  return {
    'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    ...(requested !== undefined && { 'access-control-allow-headers': requested }),
    // Chromium keeps it for two hours at most.
    'access-control-max-age': '7200',
  }
}
