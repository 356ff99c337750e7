import type { FastifyRequest } from 'fastify'
import type { AnyFunction, AnyRequest } from '../../convention/any-request.js'
import { fieldName } from '../../http/header-fields.js'
import {
  type Check,
  flag,
  functionOf,
  invalid,
  listOf,
  type OptionsOf,
  oneOf,
  option,
  optional,
  orFalse,
  text,
} from '../../options.js'
import { type RouteRuleOptions, type RuleOptions, routeRuleOptions, ruleOptions } from '../../report/modes.js'
import { clockOption } from '../../time/clock.js'
import { directives } from './cache-control.js'
import { hasCredentials } from './preconditions.js'

/**
 * The rules of caching: `private` (no header shows a hidden field, and no shared cache stores what depends on the caller)
 * and `last-modified` (a 200 has `Last-Modified`).
 */
export type CachingRule = 'private' | 'last-modified'

export const cachingRuleNames: readonly CachingRule[] = ['private', 'last-modified']

/** What distinguishes a version of a resource from all others: a counter, or the time of the last change as stored. */
export type ResourceVersion = string | number | bigint

/** The type of the version that `config.caching.validators` of a route returns, where TypeScript sees the config. */
export type VersionOf<Config> = Config extends {
  readonly caching: { readonly validators: (...given: never) => infer Found }
}
  ? VersionIn<Awaited<Found>>
  : ResourceVersion

type VersionIn<Found> = Found extends object
  ? 'version' extends keyof Found
    ? Extract<Found['version'], ResourceVersion>
    : never
  : never

/** The validators of a representation that a service knows without making it (RFC 9110 §8.8). */
export interface RouteValidators {
  /**
   * Entity tag: `W/"v7"` for a weak one, `"v7"` or `v7` for a strong one. Without it and without `version`, a GET is
   * compared by the tag of its bytes after the handler has run, and no `If-Match` of a write matches.
   * @default the `version` in quotes
   */
  readonly etag?: string
  /** When it was last modified: a `Date`, or milliseconds since the epoch. */
  readonly lastModified?: Date | number
  /** What the store compares before it writes. The handler of a write gets it as `request.expectedVersion`. */
  readonly version?: ResourceVersion
}

/**
 * Finds the validators of the requested resource before the handler runs. Returns `null` if there is no such resource,
 * or none that the caller may see. It should cost less than the handler: one row by its key, two columns.
 */
export type FindValidators = AnyRequest<[], RouteValidators | null | Promise<RouteValidators | null>>

/** Reads the validators from what the handler returns. */
export type ReadValidators = AnyFunction<
  [answer: object, request: FastifyRequest],
  RouteValidators | null | undefined
>

const time: Check<Date | number | string> = (label, received) =>
  received instanceof Date || typeof received === 'number' || typeof received === 'string'
    ? received
    : invalid(label, 'a Date, milliseconds or an HTTP-date', received)

const optionsOfBoth = {
  /**
   * Directives of `Cache-Control` for responses to GET and HEAD that have none (RFC 9111 §5.2.2); `false` for no header.
   * `noStore` is for confidential data: it holds even if the handler sets another value.
   * @default { noCache: true }: caches store the response and validate it before each use
   */
  cacheControl: option(orFalse(directives), { noCache: true }),
  /**
   * Whether a 200 without `ETag` gets one, made from its bytes. Streams and empty payloads get none.
   * @default true
   */
  etag: option(flag, true),
  /**
   * Member of a representation with the time of its last modification (a `Date` or RFC 3339 text). In a list, the latest
   * counts. Read before `fields` projects the payload. `false` for none.
   * @default 'updated_at', or 'updatedAt' if the `keyStyle` of `responseRules` is camelCase
   */
  lastModified: optional(orFalse(text('the name of a member, or false'))),
}

const ownOptions = {
  ...optionsOfBoth,
  /**
   * Whether a request has credentials, so that `private` is added if `Cache-Control` does not say who may store the
   * response. It is added for requests with a `request.caller` too.
   * @default whether it has `Authorization` or `Cookie`; of all requests, if the preset has `identify`
   */
  isAuthenticated: option(functionOf<AnyRequest<[], boolean>>('a function of the request'), hasCredentials),
  ...clockOption,
}

const ownRouteOptions = {
  ...optionsOfBoth,
  /**
   * When the response expires: a `Date`, milliseconds since the epoch or an HTTP-date, at most one year ahead. For caches
   * that do not know `maxAge`, which takes precedence (RFC 9111 §5.3). For a time relative to the response, use
   * `cacheControl: { maxAge }` or `reply.caching({ expires })`.
   * @default none
   */
  expires: optional(time),
  /**
   * Request headers that the response depends on, such as `Accept-Language` (RFC 9110 §12.5.5).
   * @default []
   */
  vary: optional(listOf(fieldName)),
  /**
   * Finds the validators of the requested resource before the handler runs: a match is answered with 304, a mismatch with
   * 412, and the handler does not run. Use the same function for the routes that read and those that write. If the response
   * depends on more than version and URL, such as a language, return an `etag` for each. Not if it costs as much as the response.
   * @default none: the preconditions of reads are evaluated after the handler, those of writes by the handler
   */
  validators: optional(functionOf<FindValidators>('a function of the request')),
  /**
   * Reads the validators from what the handler returns with a 200 or 201, before `fields` projects it, synchronously: those
   * that `validators` finds for the resource. A write then has the `ETag` for the next `If-Match`, a read has it instead of
   * the tag of its bytes. Not for a response that does not represent the stored resource (RFC 9110 §9.3.4).
   * @default none
   */
  validatorsOf: optional(functionOf<ReadValidators>('a function of what the handler returns')),
  /**
   * `required` answers a PUT, PATCH or DELETE without a precondition with 428 (RFC 6585 §3). Needs `validators`.
   * @default 'optional'
   */
  preconditions: optional(oneOf('optional', 'required')),
}

export const cachingOptions = { ...ruleOptions(cachingRuleNames), ...ownOptions }

export const cachingRouteOptions = { ...routeRuleOptions(cachingRuleNames), ...ownRouteOptions }

/** Options of the plugin `caching`. */
export interface CachingOptions extends RuleOptions<CachingRule>, OptionsOf<typeof ownOptions> {}

/** Options of a route under `config.caching`, over those of the plugin; `false` turns caching off for the route. */
export interface CachingRouteOptions
  extends RouteRuleOptions<CachingRule>,
    OptionsOf<typeof ownRouteOptions> {}
