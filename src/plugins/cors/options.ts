import type { FastifyCorsOptions } from '@fastify/cors'
import { fieldName } from '../../http/field-name.js'
import { isWebOrigin } from '../../http/web-origin.js'
import { type Check, type Checks, flag, integer, invalid, listOf, oneOf, text } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import { exposedHeaders } from './exposed-headers.js'

/** Decides whether an origin may read responses, by a callback or a promise. It is not called for requests without `Origin`. */
export type CorsOriginFunction = Extract<FastifyCorsOptions['origin'], (...args: never[]) => unknown>

/** Origins that may read responses. */
export type CorsOrigin = boolean | string | RegExp | readonly (string | RegExp)[] | CorsOriginFunction

/** Options of a route, under `config.cors`, for its responses; a preflight has the options of the plugin. */
export interface CorsRouteOptions {
  /**
   * Origins that may read the responses of this route.
   * @default those of the plugin
   */
  readonly origin?: CorsOrigin
  /**
   * See {@link CorsOptions.credentials}.
   * @default that of the plugin
   */
  readonly credentials?: boolean
  /**
   * See {@link CorsOptions.exposedHeaders}; added to those of the plugin.
   * @default []
   */
  readonly exposedHeaders?: readonly string[]
}

/** Options of the plugin `cors`: those of @fastify/cors that do not disable a part of it. */
export interface CorsOptions {
  /**
   * `enforce` sets headers and answers preflights, `report` adds nothing and counts the requests from other origins, `off`
   * does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Origins that may read responses: an origin (`'https://app.example'`), several, a regular expression from `^` to `$`, a
   * function, `'*'` or `true` for all (`true` sends the origin of the request), `false` for none.
   * @default false
   */
  readonly origin?: CorsOrigin
  /**
   * Whether a page may send cookies and read the response. Not with `origin: true` or `'*'`.
   * @default false
   */
  readonly credentials?: boolean
  /**
   * Response headers that a page may read, in addition to those of the conventions.
   * @default []
   */
  readonly exposedHeaders?: readonly string[]
  /**
   * Methods that a page may use.
   * @default ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
   */
  readonly methods?: readonly string[]
  /**
   * Request headers that a page may send.
   * @default those that the preflight asks for
   */
  readonly allowedHeaders?: readonly string[]
  /**
   * Seconds for which a browser may reuse the answer to a preflight. Chromium reduces it to two hours, Firefox to a day.
   * @default 7200
   */
  readonly maxAge?: number
  /**
   * Status of the answer to a preflight; some old clients need 200.
   * @default 204
   */
  readonly optionsSuccessStatus?: 200 | 204
  /**
   * Whether the OpenAPI document leaves out the route for preflights. At the root, `true` also declares no such route.
   * @default true
   */
  readonly hideOptionsRoute?: boolean
}

const origins: Check<CorsOrigin> = (label, received) => {
  if (typeof received === 'boolean') return received
  if (typeof received === 'function') return received as CorsOriginFunction
  return Array.isArray(received) ? someOf(label, received) : origin(label, received)
}

const fieldNames: Check<readonly string[]> = listOf(fieldName)

/** Checks of {@link CorsRouteOptions}. */
export const corsRouteChecks: Checks<CorsRouteOptions> = {
  origin: origins,
  credentials: flag,
  exposedHeaders: fieldNames,
}

/** Checks of {@link CorsOptions}. */
export const corsChecks: Checks<CorsOptions> = {
  ...corsRouteChecks,
  mode: oneOf(...modes),
  methods: listOf(text('a method such as PATCH', /^[A-Z]+$/)),
  allowedHeaders: fieldNames,
  maxAge: integer(0, 86_400),
  optionsSuccessStatus: oneOf(200, 204),
  hideOptionsRoute: flag,
}

/** The options of the plugin with all defaults; that of `allowedHeaders` is not a list. */
export type ResolvedCors = CorsOptions & Required<Omit<CorsOptions, 'allowedHeaders'>>

/** The defaults of {@link CorsOptions}. */
export const corsDefaults: ResolvedCors = Object.freeze({
  mode: 'enforce',
  origin: false,
  credentials: false,
  exposedHeaders: [],
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  maxAge: 7200,
  optionsSuccessStatus: 204,
  hideOptionsRoute: true,
})

/** Whether responses differ by origin. They do not if one origin, or all, or none are allowed. */
export function variesByOrigin(allowed: CorsOrigin): boolean {
  return typeof allowed !== 'string' && allowed !== false
}

/**
 * Returns the options of @fastify/cors for a route.
 *
 * @throws FST_CONV_OPTION_INVALID for `credentials` with all origins
 */
export function fastifyCorsOptions(
  label: string,
  { origin, credentials, exposedHeaders: own }: Required<CorsRouteOptions>,
): FastifyCorsOptions {
  // Any page could act for the user.
  if (credentials && (origin === true || origin === '*')) {
    invalid(`${label}.origin`, 'named origins, because credentials is true', origin)
  }
  return {
    origin: (typeof origin === 'function' ? settled(origin) : origin) as NonNullable<
      FastifyCorsOptions['origin']
    >,
    credentials,
    exposedHeaders: exposedHeaders(own),
  }
}

function someOf(label: string, received: readonly unknown[]): readonly (string | RegExp)[] {
  if (received.length === 0) invalid(label, 'at least one origin, or false', received)
  return Object.freeze(
    received.map((item, index) =>
      // With '*' in a list, @fastify/cors allows all origins.
      item === '*'
        ? invalid(`${label}[${index}]`, "an origin, or '*' alone without a list", item)
        : origin(`${label}[${index}]`, item),
    ),
  )
}

function origin(label: string, received: unknown): string | RegExp {
  if (received instanceof RegExp) {
    const { source } = received
    // An expression without anchors suggests that it matches a part of an origin.
    const isWhole = source.startsWith('^') && source.endsWith('$')
    return isWhole
      ? matchingWhole(received)
      : invalid(label, 'a regular expression from ^ to $', String(received))
  }
  const isOrigin = typeof received === 'string' && (received === '*' || isWebOrigin(received))
  return isOrigin
    ? received
    : invalid(label, "an origin such as 'https://app.example', without a path", received)
}

/**
 * Returns an expression that matches whole origins only. In `/^https:\/\/a\.example|https:\/\/b\.example$/` each anchor
 * belongs to one alternative, so `https://a.example.evil.example` would match.
 */
function matchingWhole({ source, flags }: RegExp): RegExp {
  return new RegExp(`^(?:${source})$`, flags.replace(/[gmy]/g, ''))
}

type Answered = PromiseLike<unknown> | undefined

/** Wraps the function of the app: its exceptions become errors, and the expressions that it returns match whole origins. */
function settled(ask: CorsOriginFunction): CorsOriginFunction {
  return function askForOrigin(
    this: unknown,
    given: string,
    callback: (error: Error | null, allowed?: unknown) => void,
  ) {
    const answer = (error: Error | null, allowed?: unknown): void => callback(error, wholeOrigins(allowed))
    try {
      const result = (ask as (...args: unknown[]) => Answered).call(this, given, answer)
      return typeof result?.then === 'function' ? result.then(wholeOrigins) : undefined
    } catch (error) {
      callback(error as Error)
      return undefined
    }
  } as CorsOriginFunction
}

function wholeOrigins(allowed: unknown): unknown {
  if (Array.isArray(allowed)) return allowed.map(wholeOrigins)
  return allowed instanceof RegExp ? matchingWhole(allowed) : allowed
}
