import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AnyRequest } from '../../fastify/any-request.js'
import {
  type Check,
  type Checks,
  flag,
  functionOf,
  integer,
  invalid,
  isObject,
  listOf,
  objectOf,
  oneOf,
  text,
} from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import { timeWindowOf } from '../../time/time-window.js'
import type { RateLimitNodeRedis, RateLimitRedis } from './stores/redis-store.js'
import type { QuotaStore } from './stores/store.js'

/** The caller that a request counts for: `undefined` for its address, `null` for a request that does not count. */
export type CallerKey = string | number | null | undefined

/**
 * Returns the `max` of a caller, such as that of a plan: an integer from 0, below 10^15; `null` or `Infinity` for no limit.
 * The result is kept for {@link RateLimitOptions.maxTtl}.
 *
 * It runs before the app's authentication. A result that takes longer than half a second, an error and any other value are
 * failures, see {@link RateLimitOptions.skipOnError}.
 *
 * @param caller what {@link RateLimitOptions.key} has returned; without `key`, the subject of a token that was verified for
 * an earlier request. Empty if the request counts for its address
 */
export type RateLimitMax = AnyRequest<[caller: string], number | null | Promise<number | null>>

/** A quota. */
export interface QuotaOptions {
  /**
   * Units of one caller within a window; below 10^15, the limit of the header fields. A request costs one unit, or the
   * {@link RateLimitRouteOptions.cost} of its route. A function returns it for each caller.
   * @default 1000
   */
  readonly max?: number | RateLimitMax
  /**
   * Length of the window, which begins with the first request of a caller: milliseconds, or a text such as `'30s'`,
   * `'1 minute'` or `'2 hours'`. At least one second.
   * @default '1 minute'
   */
  readonly timeWindow?: number | string
  /**
   * With `failures`, a request is given back when its response has a status below 400, or 429. Until then it counts, so
   * concurrent attempts get no further than others; it also counts if the connection is closed before the response.
   * For routes where clients guess, such as a login that responds with 401 to a wrong password.
   * @default 'all'
   */
  readonly count?: 'all' | 'failures'
}

/** One of several quotas. */
export interface NamedQuotaOptions extends QuotaOptions {
  /**
   * Name in `RateLimit-Policy` and `RateLimit`: a letter, then up to 63 letters, digits, `-` and `_`; not beginning with
   * `hook-`.
   */
  readonly name: string
  /** See {@link QuotaOptions.max}. */
  readonly max: number | RateLimitMax
  /** See {@link QuotaOptions.timeWindow}. */
  readonly timeWindow: number | string
}

/**
 * Options of a route, under `config.rateLimit`: quotas in place of those of the plugin, or the `cost` of a request; `false`
 * for no quota. Members of a quota that are left out are those of the plugin.
 */
export interface RateLimitRouteOptions extends QuotaOptions {
  /**
   * Several quotas in place of `max`, `timeWindow` and `count`. A request that one of them refuses takes nothing from the
   * others.
   * @default one quota, of `max`, `timeWindow` and `count`
   */
  readonly quotas?: readonly NamedQuotaOptions[]
  /**
   * Units that a request takes; 0 for a request that does not count. If it is the only option of a route, the requests
   * count against the quotas of the plugin.
   * @default 1
   */
  readonly cost?: number
}

/** Options of the plugin `rateLimit`. */
export interface RateLimitOptions extends Omit<RateLimitRouteOptions, 'cost'> {
  /**
   * `enforce` refuses requests beyond the quota, `report` adds no header and counts these requests, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Returns the caller that a request counts for. It runs before the app's authentication, so it has to verify its input:
   * a key that a caller can invent limits no caller, and the key of another caller uses up that caller's quota.
   * @default the subject of the request's token, if the plugin `bearer` has verified it for an earlier request; otherwise
   * the address, `request.ip`; behind a proxy, set `trustProxy` of Fastify
   */
  readonly key?: AnyRequest<[], CallerKey | Promise<CallerKey>>
  /**
   * How long the results of functions for `max` are kept for a caller: milliseconds, or a text such as `'1 minute'`; at
   * least one second, or 0 for not at all.
   * @default '1 minute'
   */
  readonly maxTtl?: number | string
  /**
   * Leading bits of an IPv6 address that make one caller: a household or a rented server has a whole /64. An IPv4-mapped
   * address counts as IPv4.
   * @default 64
   */
  readonly ipv6Subnet?: number
  /**
   * Maximum number of callers in memory, for each quota; the least recently seen one is dropped first. About 250 bytes
   * each.
   * @default 10_000
   */
  readonly cache?: number
  /**
   * Client for counting in Redis 5 or later, so that several instances count together: of
   * [ioredis](https://github.com/redis/ioredis) or [node-redis](https://github.com/redis/node-redis), also of a cluster. A
   * count that takes longer than half a second fails. The client should not queue commands that cannot be sent: see
   * docs/rate-limit.md.
   * @default none; each instance counts in memory
   */
  readonly redis?: RateLimitRedis | RateLimitNodeRedis
  /**
   * A store of the app, in place of `redis`, such as one that loses no counts.
   * @default none
   */
  readonly store?: QuotaStore
  /**
   * Prefix of the keys in Redis.
   * @default 'fastify-rate-limit-'
   */
  readonly nameSpace?: string
  /**
   * Whether requests are served uncounted while `redis`, `store`, `key` or `max` fails; the log has the begin and the end.
   * With `false` they are refused: with 503 `quota-unavailable` and `Retry-After` while `redis` or `store` fails, with the
   * error of `key` or `max` otherwise. In `report` mode all are served.
   * @default true
   */
  readonly skipOnError?: boolean
}

/** The request that is counted. */
export type Request = FastifyRequest

/** The decorator of @fastify/rate-limit. */
export type CreateRateLimit = FastifyInstance['createRateLimit']

/** A quota with all defaults. */
export interface QuotaDeclaration {
  readonly name: string
  readonly max: number | RateLimitMax
  /** Milliseconds. */
  readonly timeWindow: number
  readonly count: 'all' | 'failures'
}

const timeWindow: Check<number> = (label, received) =>
  timeWindowOf(received) ??
  invalid(label, "at least a second: milliseconds, or a text such as '1 minute'", received)

/** The largest Integer of a structured field (RFC 9651 §3.3.1), the type of `max` in the header fields. */
const largestFieldInteger = 999_999_999_999_999

/** Whether a value can be the `max` of a caller. */
export function isMax(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= largestFieldInteger
}

const maxNumber = integer(1, largestFieldInteger)

const quotaChecks: Checks<QuotaOptions> = {
  max: (label, received) =>
    typeof received === 'function' ? (received as RateLimitMax) : maxNumber(label, received),
  timeWindow,
  count: oneOf('all', 'failures'),
}

const quotaName = text(
  "a letter, then up to 63 letters, digits, '-' and '_', not beginning with 'hook-'",
  /^(?!hook-)[A-Za-z][\w-]{0,63}$/,
)

const namedQuota = objectOf<NamedQuotaOptions>({ ...quotaChecks, name: quotaName })

const quotas: Check<readonly NamedQuotaOptions[]> = (label, received) => {
  const list = listOf(namedQuota)(label, received)
  if (list.length === 0) return invalid(label, 'at least one quota', received)
  for (const [index, quota] of list.entries()) {
    for (const member of ['name', 'max', 'timeWindow'] as const) {
      if (quota[member] === undefined) {
        return invalid(`${label}[${index}].${member}`, 'a value: each of several quotas has one', undefined)
      }
    }
    if (list.findIndex(({ name }) => name === quota.name) < index) {
      return invalid(`${label}[${index}].name`, 'a name that no other quota of the list has', quota.name)
    }
  }
  return list
}

/** Checks of {@link RateLimitRouteOptions}. */
export const rateLimitRouteChecks: Checks<RateLimitRouteOptions> = {
  ...quotaChecks,
  quotas,
  cost: integer(0, largestFieldInteger),
}

const { cost: _ofRoutes, ...quotasChecks } = rateLimitRouteChecks

/** Checks of {@link RateLimitOptions}. */
export const rateLimitChecks: Checks<RateLimitOptions> = {
  ...quotasChecks,
  mode: oneOf(...modes),
  key: functionOf('a function of the request'),
  maxTtl: (label, received) => (received === 0 ? 0 : timeWindow(label, received)),
  ipv6Subnet: integer(1, 128),
  cache: integer(1, 10_000_000),
  redis: (label, received) =>
    hasMethods<RateLimitRedis>(received, 'defineCommand') ||
    hasMethods<RateLimitNodeRedis>(received, 'evalSha', 'eval')
      ? received
      : invalid(
          label,
          'a client with defineCommand(), such as that of ioredis, or with evalSha() and eval(), such as that of node-redis',
          received,
        ),
  store: (label, received) =>
    hasMethods<QuotaStore>(received, 'take', 'giveBack')
      ? received
      : invalid(label, 'a store with take() and giveBack()', received),
  nameSpace: text(),
  skipOnError: flag,
}

function hasMethods<Value>(received: unknown, ...names: (keyof Value & string)[]): received is Value {
  return isObject(received) && names.every((name) => typeof received[name] === 'function')
}

/** The options of a route with all defaults. */
export type ResolvedRateLimitRoute = RateLimitRouteOptions &
  Omit<QuotaDeclaration, 'name'> & { readonly cost: number }

/** The options of the plugin with all defaults. */
export type ResolvedRateLimit = RateLimitOptions &
  Required<Pick<RateLimitOptions, 'mode' | 'ipv6Subnet' | 'cache' | 'nameSpace' | 'skipOnError'>> &
  ResolvedRateLimitRoute & {
    /** Milliseconds. */
    readonly maxTtl: number
  }

/** The defaults of {@link RateLimitOptions}. */
export const rateLimitDefaults: ResolvedRateLimit = Object.freeze({
  mode: 'enforce',
  max: 1000,
  timeWindow: 60_000,
  count: 'all',
  cost: 1,
  maxTtl: 60_000,
  ipv6Subnet: 64,
  cache: 10_000,
  nameSpace: 'fastify-rate-limit-',
  skipOnError: true,
})

/**
 * Checks options that contradict each other.
 *
 * @param given the options as the app wrote them
 * @throws FST_CONV_OPTION_INVALID
 */
export function checkContradictions(label: string, given: RateLimitOptions | RateLimitRouteOptions): void {
  const { quotas, max, timeWindow, count } = given
  const simple = Object.entries({ max, timeWindow, count }).find(([, value]) => value !== undefined)
  if (quotas !== undefined && simple !== undefined) {
    invalid(`${label}.${simple[0]}`, 'no such option beside quotas: each of them has its own', simple[1])
  }
  const { redis, store } = given as RateLimitOptions
  if (redis !== undefined && store !== undefined) invalid(`${label}.store`, 'no store beside redis', store)
}

/**
 * Returns the options that have the same meaning here, out of those that a route has for @fastify/rate-limit. In `report`
 * mode the app may still have that plugin.
 */
export function understoodOptions(given: unknown): RateLimitRouteOptions | false | undefined {
  if (given === false) return false
  if (!isObject(given)) return undefined
  const { max, timeWindow, quotas, cost, count } = given
  const isUnderstood = typeof max === 'function' || (isMax(max) && max > 0)
  // That plugin has none of `quotas`, `cost` and `count`, so these are meant for this one.
  const own = Object.entries({ quotas, cost, count }).filter(([, value]) => value !== undefined)
  return {
    ...(isUnderstood ? { max: max as number | RateLimitMax } : {}),
    ...(timeWindowOf(timeWindow) === null ? {} : { timeWindow: timeWindow as number | string }),
    ...Object.fromEntries(own),
  }
}

/** The options of @fastify/rate-limit that have no meaning here, and what to write instead. */
const foreign: Readonly<Record<string, string>> = {
  allowList: 'max: a function that returns null for these callers',
  keyGenerator: 'key, an option of the plugin',
  store: 'store, an option of the plugin',
  redis: 'redis, an option of the plugin',
  nameSpace: 'nameSpace, an option of the plugin',
  cache: 'cache, an option of the plugin',
  ipv6Subnet: 'ipv6Subnet, an option of the plugin',
  skipOnError: 'skipOnError, an option of the plugin',
  groupId: 'quotas of the plugin, and a cost for each route',
  ...Object.fromEntries(
    [
      'addHeaders',
      'addHeadersOnExceeding',
      'ban',
      'continueExceeding',
      'enableDraftSpec',
      'errorResponseBuilder',
      'exponentialBackoff',
      'global',
      'hook',
      'onBanReach',
      'onExceeded',
      'onExceeding',
    ].map((name) => [name, 'no such option']),
  ),
}

/** Returns the names of the options of a route that have a meaning for @fastify/rate-limit only. */
export function foreignOptions(given: unknown): readonly string[] {
  if (!isObject(given)) return []
  return Object.keys(given).filter((name) => given[name] !== undefined && Object.hasOwn(foreign, name))
}

/** Returns the options of a route without those of {@link foreignOptions}. */
export function withoutForeignOptions<Given>(given: Given): Given {
  const names = foreignOptions(given)
  if (names.length === 0) return given
  return Object.fromEntries(
    Object.entries(given as object).filter(([name]) => !names.includes(name)),
  ) as Given
}

/** Returns what is wrong with the options that have a meaning for @fastify/rate-limit only, and what to write instead. */
export function foreignFinding(names: readonly string[]): readonly [problem: string, instead: string] {
  const written = names.map((name) => `config.rateLimit.${name}`).join(', ')
  const instead = [...new Set(names.map((name) => foreign[name]))].join('; ')
  return [`${written}: an option of @fastify/rate-limit, which has no effect here`, instead]
}
