import type { FastifyRequest } from 'fastify'
import { fieldName } from '../../http/field-name.js'
import { type Check, type Checks, flag, functionOf, invalid, listOf, oneOf, text } from '../../options.js'
import { type RouteRuleOptions, type RuleOptions, routeRuleChecks, ruleChecks } from '../../rules/modes.js'
import type { CacheDirectives } from './cache-control.js'
import { cacheControlFaults } from './cache-control-faults.js'
import type { FindValidators, RouteValidators } from './plan.js'

/** What is wrong with the caching of a route, by its name. */
export type CachingRule = 'directives' | 'expires' | 'confidential' | 'hidden' | 'last-modified'

/** All of {@link CachingRule}. */
export const cachingRuleNames: readonly CachingRule[] = [
  'directives',
  'expires',
  'confidential',
  'hidden',
  'last-modified',
]

/** Options of the plugin `caching`. */
export interface CachingOptions extends RuleOptions<CachingRule> {
  /**
   * Directives of `Cache-Control` on what is read and says nothing itself (RFC 9111 §5.2.2); `false` for no header.
   * @default { noCache: true }: kept, but validated before each use
   */
  readonly cacheControl?: CacheDirectives | false
  /**
   * `ETag` of a 200 whose handler gives none, from its bytes: `strong`, `weak` where something behind the app changes
   * them, or `false`. Streams get none.
   * @default 'strong'
   */
  readonly etag?: 'strong' | 'weak' | false
  /**
   * Member of a representation that says when it was last modified (a `Date` or RFC 3339 text); of a list, the latest
   * counts. Read before `fields` projects it away. `false` for none.
   * @default 'updated_at', or 'updatedAt' where the `keyStyle` of `responseRules` is camelCase
   */
  readonly lastModified?: string | false
  /**
   * Does a request have credentials, so that `private` is added where the route does not say who may store the answer?
   * @default has it `Authorization` or `Cookie`
   */
  readonly isAuthenticated?: (request: FastifyRequest) => boolean
  /**
   * The time, in milliseconds since the epoch.
   * @default Date.now
   */
  readonly now?: () => number
}

/** What a route says under `config.caching`; `false` leaves the route alone. */
export interface CachingRouteOptions
  extends RouteRuleOptions<CachingRule>,
    Pick<CachingOptions, 'cacheControl' | 'etag' | 'lastModified'> {
  /**
   * When the answer expires: a `Date`, milliseconds since the epoch or an HTTP-date; at most one year ahead. For caches
   * that do not know `maxAge`, which wins where both are there (RFC 9111 §5.3). Not for what moves with the clock: that
   * is `cacheControl: { maxAge }`, or `reply.expires()`.
   */
  readonly expires?: Date | number | string
  /** Request headers that the answer depends on, such as `Accept-Language` (RFC 9110 §12.5.5). */
  readonly vary?: readonly string[]
  /**
   * Nobody may store the answer: `Cache-Control: no-store`. Together with directives that let it be stored it is a
   * breach.
   * @default false
   */
  readonly confidential?: boolean
  /**
   * Finds the validators of what is asked for before the handler runs: a match is answered with 304, a mismatch with
   * 412, and neither the handler runs nor is anything serialized. Give the same function to the routes that read and to
   * those that write. Not where finding them costs as much as the answer, and not with a `version` alone where the
   * answer depends on more than the version and the URL, such as a language: return an `etag` for each there.
   */
  readonly validators?: FindValidators
  /**
   * Reads the validators out of what the handler returns with a 200 or 201, before `fields` projects it: the object of
   * the answer, as it is stored now. A write then answers with the `ETag` that the next `If-Match` needs, without a GET
   * in between; on a route that reads, they stand in for the tag of the bytes. They have to be the same that
   * `validators` finds for the resource. Synchronous: it must not ask the store again, which may hold another caller's
   * version by then.
   *
   * Not for an answer that shows something else than the stored resource (RFC 9110 §9.3.4).
   */
  validatorsOf?(answer: object, request: FastifyRequest): RouteValidators | null | undefined
  /**
   * `required` refuses a PUT, PATCH or DELETE without a precondition with 428 (RFC 6585 §3). Needs `validators`.
   * @default 'optional'
   */
  readonly preconditions?: 'optional' | 'required'
}

const directives: Check<CacheDirectives | false> = (label, received) => {
  if (received === false) return false
  if (typeof received !== 'object' || received === null || Array.isArray(received))
    return invalid(label, 'directives or false', received)
  return received as CacheDirectives
}

const soundDirectives: Check<CacheDirectives | false> = (label, received) => {
  const checked = directives(label, received)
  const [fault] = checked === false ? [] : cacheControlFaults(checked)
  return fault === undefined ? checked : invalid(label, `directives that agree: ${fault}`, received)
}

const memberOrNone: Check<string | false> = (label, received) =>
  received === false ? false : text('a name of a member, or false')(label, received)

const time: Check<Date | number | string> = (label, received) =>
  received instanceof Date || typeof received === 'number' || typeof received === 'string'
    ? received
    : invalid(label, 'a Date, milliseconds or an HTTP-date', received)

/** Checks of {@link CachingOptions}. */
export const cachingChecks: Checks<CachingOptions> = {
  ...ruleChecks(cachingRuleNames),
  cacheControl: soundDirectives,
  etag: oneOf('strong', 'weak', false),
  lastModified: memberOrNone,
  isAuthenticated: functionOf('a function of the request'),
  now: functionOf('a function that returns milliseconds'),
}

/** Checks of {@link CachingRouteOptions}. */
export const cachingRouteChecks: Checks<CachingRouteOptions> = {
  ...routeRuleChecks(cachingRuleNames),
  cacheControl: directives,
  etag: cachingChecks.etag,
  lastModified: memberOrNone,
  expires: time,
  vary: listOf(fieldName),
  confidential: flag,
  validators: functionOf('a function of the request'),
  validatorsOf: functionOf('a function of what the handler returns'),
  preconditions: oneOf('optional', 'required'),
}

/** Where nobody said otherwise. */
export const cachingDefaults: Required<CachingOptions> = {
  mode: 'enforce',
  rules: {},
  exceptions: [],
  cacheControl: { noCache: true },
  etag: 'strong',
  lastModified: 'updated_at',
  isAuthenticated: ({ headers }) => headers.authorization !== undefined || headers.cookie !== undefined,
  now: Date.now,
}
