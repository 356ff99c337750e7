import type { FastifyRequest } from 'fastify'
import {
  type Check,
  type Checks,
  flag,
  functionOf,
  integer,
  invalid,
  isObject,
  oneOf,
  text,
} from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import { timeWindowOf } from '../../time/time-window.js'

/** The caller that a request counts for: `undefined` for its address, `null` for a request that does not count. */
export type CallerKey = string | number | null | undefined

/** The part of a Redis client that @fastify/rate-limit needs, such as one of [ioredis](https://github.com/redis/ioredis). */
export interface RateLimitRedis {
  /** Defines a method that runs a Lua script. */
  defineCommand(name: string, definition: { numberOfKeys?: number; lua: string }): void
}

/** Options of a route, under `config.rateLimit`: a quota in place of that of the plugin; `false` for none. */
export interface RateLimitRouteOptions {
  /**
   * See {@link RateLimitOptions.max}.
   * @default that of the plugin
   */
  readonly max?: number
  /**
   * See {@link RateLimitOptions.timeWindow}.
   * @default that of the plugin
   */
  readonly timeWindow?: number | string
}

/** Options of the plugin `rateLimit`. */
export interface RateLimitOptions extends RateLimitRouteOptions {
  /**
   * `enforce` refuses requests beyond the quota, `report` adds no header and counts these requests, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Requests of one caller within a window; below 10^15, the limit of the header fields.
   * @default 1000
   */
  readonly max?: number
  /**
   * Length of the window, which begins with the first request of a caller: milliseconds, or a text such as `'30s'`,
   * `'1 minute'` or `'2 hours'`. At least one second.
   * @default '1 minute'
   */
  readonly timeWindow?: number | string
  /**
   * Returns the caller that a request counts for. It runs before the app's authentication, so it has to verify its input:
   * a key that a caller can invent limits no caller, and the key of another caller uses up that caller's quota.
   * @default the address, `request.ip`; behind a proxy, set `trustProxy` of Fastify
   */
  readonly key?: (request: FastifyRequest) => CallerKey | Promise<CallerKey>
  /**
   * Leading bits of an IPv6 address that make one caller: a household or a rented server has a whole /64. An IPv4-mapped
   * address counts as IPv4.
   * @default 64
   */
  readonly ipv6Subnet?: number
  /**
   * Maximum number of callers in memory, for the plugin and for each route with a quota of its own; the least recently
   * seen one is dropped first. About 200 bytes each.
   * @default 10_000
   */
  readonly cache?: number
  /**
   * Client for counting in Redis, so that several instances count together. A count that takes longer than half a second
   * fails. The client should have `maxRetriesPerRequest: 0`, `enableOfflineQueue: false` and a `commandTimeout`, so that
   * it does not queue failed commands.
   * @default none; each instance counts in memory
   */
  readonly redis?: RateLimitRedis
  /**
   * Prefix of the keys in Redis.
   * @default 'fastify-rate-limit-'
   */
  readonly nameSpace?: string
  /**
   * Whether requests are served uncounted while `redis` or `key` fails; the log has the begin and the end. With `false`
   * they are refused: with 503 `quota-unavailable` and `Retry-After` while `redis` fails, with the error of `key`
   * otherwise. In `report` mode all are served.
   * @default true
   */
  readonly skipOnError?: boolean
}

const timeWindow: Check<number> = (label, received) =>
  timeWindowOf(received) ??
  invalid(label, "at least a second: milliseconds, or a text such as '1 minute'", received)

/** The largest Integer of a structured field (RFC 9651 §3.3.1), the type of `max` in the header fields. */
const largestFieldInteger = 999_999_999_999_999

/** Checks of {@link RateLimitRouteOptions}. */
export const rateLimitRouteChecks: Checks<RateLimitRouteOptions> = {
  max: integer(1, largestFieldInteger),
  timeWindow,
}

/** Checks of {@link RateLimitOptions}. */
export const rateLimitChecks: Checks<RateLimitOptions> = {
  ...rateLimitRouteChecks,
  mode: oneOf(...modes),
  key: functionOf('a function of the request'),
  ipv6Subnet: integer(1, 128),
  cache: integer(1, 10_000_000),
  redis: (label, received) =>
    isObject(received) && typeof received.defineCommand === 'function'
      ? (received as unknown as RateLimitRedis)
      : invalid(label, 'a client with defineCommand(), such as that of ioredis', received),
  nameSpace: text(),
  skipOnError: flag,
}

/** The options of the plugin with all defaults. */
export type ResolvedRateLimit = RateLimitOptions &
  Required<Omit<RateLimitOptions, 'key' | 'redis' | 'nameSpace' | 'timeWindow'>> & {
    /** Milliseconds. */
    readonly timeWindow: number
  }

/** The defaults of {@link RateLimitOptions}. */
export const rateLimitDefaults: ResolvedRateLimit = Object.freeze({
  mode: 'enforce',
  max: 1000,
  timeWindow: 60_000,
  ipv6Subnet: 64,
  cache: 10_000,
  skipOnError: true,
})

/**
 * Returns the options that have the same meaning here, out of those that a route has for @fastify/rate-limit. In `report`
 * mode the app may still have that plugin.
 */
export function understoodOptions(given: unknown): RateLimitRouteOptions | false | undefined {
  if (given === false) return false
  if (!isObject(given)) return undefined
  const { max, timeWindow } = given
  return {
    ...(Number.isSafeInteger(max) && Number(max) > 0 ? { max: Number(max) } : {}),
    ...(timeWindowOf(timeWindow) === null ? {} : { timeWindow: timeWindow as number | string }),
  }
}
