import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AnyRequest } from '../../convention/any-request.js'
import {
  type Check,
  checksOf,
  functionOf,
  integer,
  invalid,
  isObject,
  listOf,
  type OptionsOf,
  objectOf,
  optional,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { modeOption, routeModeOption } from '../../report/modes.js'
import { duration, timeWindowOf } from '../../time/time-window.js'

/** The caller that a request counts for: `undefined` for its address, `null` for a request that does not count. */
export type CallerKey = string | number | null | undefined

/**
 * Returns the `max` of a caller, such as that of a plan: an integer from 0, below 10^15; `null` or `Infinity` for no limit.
 * The result is kept for a minute.
 *
 * It runs before the app's authentication. If it fails, takes longer than half a second or returns another value, the request
 * is served uncounted.
 *
 * @param caller what {@link RateLimitOptions.key} has returned; without `key`, the subject of a token that was verified for
 * an earlier request. Empty if the request counts for its address
 */
export type RateLimitMax = AnyRequest<[caller: string], number | null | Promise<number | null>>

/** The part of a client of [ioredis](https://github.com/redis/ioredis) that @fastify/rate-limit needs. */
export interface RateLimitRedis {
  /** Defines a method that runs a Lua script. */
  defineCommand(name: string, definition: { numberOfKeys?: number; lua: string }): void
}

export interface Quota {
  readonly name: string
  readonly max: number | RateLimitMax
  /** Milliseconds. */
  readonly timeWindow: number
}

export type Request = FastifyRequest
export type CreateRateLimit = FastifyInstance['createRateLimit']

/** The largest Integer of a structured field (RFC 9651 §3.3.1), the type of `max` in the header fields. */
const largestFieldInteger = 999_999_999_999_999

export function isMax(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= largestFieldInteger
}

const maxNumber = integer(1, largestFieldInteger)
const max: Check<number | RateLimitMax> = (label, received) =>
  typeof received === 'function' ? (received as RateLimitMax) : maxNumber(label, received)

const ofNamedQuota = {
  /** Name in `RateLimit-Policy` and `RateLimit`: a letter, then up to 63 letters, digits, `-` and `_`. */
  name: optional(text("a letter, then up to 63 letters, digits, '-' and '_'", /^[A-Za-z][\w-]{0,63}$/)),
  /** See {@link RateLimitOptions.max}. */
  max: optional(max),
  /** See {@link RateLimitOptions.timeWindow}. */
  timeWindow: optional(duration),
}

/** One of several quotas. */
export interface NamedQuotaOptions extends Required<OptionsOf<typeof ofNamedQuota>> {}

const namedQuota: Check<NamedQuotaOptions> = objectOf(checksOf(ofNamedQuota), ['name', 'max', 'timeWindow'])

const quotas: Check<readonly NamedQuotaOptions[]> = (label, received) => {
  const list = listOf(namedQuota, 'at least one quota')(label, received)
  for (const [index, { name }] of list.entries()) {
    if (list.findIndex((other) => other.name === name) < index) {
      return invalid(`${label}[${index}].name`, 'a name that no other quota of the list has', name)
    }
  }
  return list
}

const redis: Check<RateLimitRedis> = (label, received) =>
  isObject(received) && typeof received.defineCommand === 'function'
    ? (received as unknown as RateLimitRedis)
    : invalid(label, 'a client with defineCommand(), such as that of ioredis', received)

const quotaOptions = {
  /**
   * Requests of one caller within a window; below 10^15, the limit of the header fields. A function returns it for each
   * caller.
   * @default 1000
   */
  max: optional(max),
  /**
   * Length of the window, which begins with the first request of a caller: milliseconds, or a text such as `'30s'`,
   * `'1 minute'` or `'2 hours'`. At least one second.
   * @default '1 minute'
   */
  timeWindow: optional(duration),
  /**
   * Several quotas in place of `max` and `timeWindow`. A request that one of them refuses takes nothing from the others.
   * @default one quota, of `max` and `timeWindow`
   */
  quotas: optional(quotas),
}

export const rateLimitOptions = {
  /**
   * `enforce` refuses requests beyond the quota, `report` adds no header and counts these requests, `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  ...quotaOptions,
  /**
   * Returns the caller that a request counts for. It runs before the app's authentication, so it has to verify its input:
   * a key that a caller can invent limits no caller, and the key of another caller uses up that caller's quota.
   * @default the subject of the request's token, if the plugin `bearer` has verified it for an earlier request; otherwise
   * the address, `request.ip`; behind a proxy, set `trustProxy` of Fastify to the addresses of the proxies
   */
  key: optional(functionOf<AnyRequest<[], CallerKey | Promise<CallerKey>>>('a function of the request')),
  /**
   * Client of [ioredis](https://github.com/redis/ioredis), also of a cluster, with which @fastify/rate-limit counts, so that
   * several instances count together. A count that takes longer than half a second fails. The client should not queue
   * commands that cannot be sent: see docs/rate-limit.md.
   * @default none; each instance counts in memory
   */
  redis: optional(redis),
}

/** The options of a route: a quota that is left out, and what it leaves out, is that of the plugin. */
export const rateLimitRouteOptions = {
  ...quotaOptions,
  /**
   * Mode of this route.
   * @default that of the plugin
   */
  mode: routeModeOption,
}

/** Options of the plugin `rateLimit`. */
export type RateLimitOptions = OptionsOf<typeof rateLimitOptions>

/** Options of a route, under `config.rateLimit`; `false` for no quota. */
export type RateLimitRouteOptions = OptionsOf<typeof rateLimitRouteOptions>

export type ResolvedRateLimit = ResolvedOptions<typeof rateLimitOptions>

type QuotaOptions = Partial<ResolvedOptions<typeof quotaOptions>>

export function quotasOf(
  label: string,
  { quotas: several, max, timeWindow }: QuotaOptions,
  route?: string,
  defaults: QuotaOptions = {},
): readonly Quota[] {
  if (several === undefined) {
    const window = timeWindowOf(timeWindow ?? defaults.timeWindow) ?? 60_000
    return [{ name: route ?? 'default', max: max ?? defaults.max ?? 1000, timeWindow: window }]
  }
  const simple = Object.entries({ max, timeWindow }).find(([, value]) => value !== undefined)
  if (simple !== undefined) {
    invalid(`${label}.${simple[0]}`, 'no such option beside quotas: each of them has its own', simple[1])
  }
  // Checked, and so valid.
  return several.map((quota) => ({
    ...quota,
    name: route === undefined ? quota.name : `${route} ${quota.name}`,
    timeWindow: timeWindowOf(quota.timeWindow) ?? 0,
  }))
}
