import type { FastifyCorsOptions } from '@fastify/cors'
import { fieldName } from '../../http/field-name.js'
import { isWebOrigin } from '../../http/web-origin.js'
import { type Check, type Checks, flag, integer, invalid, listOf, oneOf, text } from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import { exposedHeaders } from './exposed-headers.js'

/**
 * Who is asked whether an origin may read answers: with a callback, or with a promise. It is not asked for requests
 * without `Origin`.
 */
export type CorsOriginFunction = Extract<FastifyCorsOptions['origin'], (...args: never[]) => unknown>

/** Origins that may read answers. */
export type CorsOrigin = boolean | string | RegExp | readonly (string | RegExp)[] | CorsOriginFunction

/** What a route says under `config.cors`, for its own answers; a preflight has the options of the plugin. */
export interface CorsRouteOptions {
  /** Origins that may read the answers of this route. */
  readonly origin?: CorsOrigin
  /** See {@link CorsOptions.credentials}. */
  readonly credentials?: boolean
  /** See {@link CorsOptions.exposedHeaders}. */
  readonly exposedHeaders?: readonly string[]
}

/** Options of the plugin `cors`: those of @fastify/cors that do not undo it. */
export interface CorsOptions {
  /**
   * `enforce` answers, `report` adds nothing and counts the requests from other origins, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Who may read answers: an origin (`'https://app.example'`), several, a regular expression from `^` to `$`, a function,
   * `'*'` or `true` for everybody (`true` names the origin that asks), `false` for nobody but the service's own pages.
   * @default false
   */
  readonly origin?: CorsOrigin
  /**
   * May a page send cookies, and read the answer? Needs origins that are named.
   * @default false
   */
  readonly credentials?: boolean
  /**
   * Response headers that a page may read, besides those of the conventions.
   * @default []
   */
  readonly exposedHeaders?: readonly string[]
  /**
   * Methods that a page may use.
   * @default ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
   */
  readonly methods?: readonly string[]
  /**
   * Request headers that a page may send. Default: those that it asks for, as its origin is known by then.
   */
  readonly allowedHeaders?: readonly string[]
  /**
   * Seconds for which a browser need not ask again. Browsers cut it: Chromium at two hours, Firefox at a day.
   * @default 7200
   */
  readonly maxAge?: number
  /**
   * Status of the answer to a preflight.
   * @default 204
   */
  readonly optionsSuccessStatus?: 200 | 204
  /**
   * Keeps the route of preflights out of the OpenAPI document.
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

/** What the options of the plugin are when all is resolved; `allowedHeaders` has no default that is a list. */
export type ResolvedCors = CorsOptions & Required<Omit<CorsOptions, 'allowedHeaders'>>

/** Where nobody said otherwise. */
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

/** Does the answer differ with the origin that asks? Not where it is always the same one, or everybody. */
export function variesByOrigin(allowed: CorsOrigin): boolean {
  return typeof allowed !== 'string' && allowed !== false
}

/**
 * What @fastify/cors is to be told of a route.
 *
 * @throws FST_CONV_OPTION_INVALID for credentials that any page may use
 */
export function fastifyCorsOptions(
  label: string,
  { origin, credentials, exposedHeaders: own }: Required<CorsRouteOptions>,
): FastifyCorsOptions {
  // Any page could act for the user who is signed in.
  if (credentials && (origin === true || origin === '*')) {
    invalid(`${label}.origin`, 'named origins, for credentials is true', origin)
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
      // @fastify/cors takes a list with it for everybody, and it would hide that the others do not count.
      item === '*'
        ? invalid(`${label}[${index}]`, "an origin; for everybody '*' alone", item)
        : origin(`${label}[${index}]`, item),
    ),
  )
}

function origin(label: string, received: unknown): string | RegExp {
  if (received instanceof RegExp) {
    const { source } = received
    // Without them the author expects that a part of an origin is enough, and it never is.
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
 * Returns an expression that matches whole origins alone. In `/^https:\/\/a\.example|https:\/\/b\.example$/` each anchor
 * belongs to one alternative, and so `https://a.example.evil.example` would pass.
 */
function matchingWhole({ source, flags }: RegExp): RegExp {
  return new RegExp(`^(?:${source})$`, flags.replace(/[gmy]/g, ''))
}

type Answered = PromiseLike<unknown> | undefined

/** Runs the function of the app so that what it throws becomes an error, and what it returns matches whole origins. */
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
