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

/** Who a request counts for: `undefined` for its address, `null` for nobody, so that it is not counted. */
export type CallerKey = string | number | null | undefined

/** What @fastify/rate-limit needs of a Redis client; [ioredis](https://github.com/redis/ioredis) has it. */
export interface RateLimitRedis {
  /** Makes a method of a script. */
  defineCommand(name: string, definition: { numberOfKeys?: number; lua: string }): void
}

/** What a route says under `config.rateLimit`: a quota of its own, in place of that of the plugin. `false` for none. */
export interface RateLimitRouteOptions {
  /** See {@link RateLimitOptions.max}. */
  readonly max?: number
  /** See {@link RateLimitOptions.timeWindow}. */
  readonly timeWindow?: number | string
}

/** Options of the plugin `rateLimit`. */
export interface RateLimitOptions extends RateLimitRouteOptions {
  /**
   * `enforce` refuses, `report` adds no header and counts who would be refused, `off` does nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Requests of one caller within a window; below 10^15, as the header fields take no more.
   * @default 1000
   */
  readonly max?: number
  /**
   * Length of the window, which begins with the first request of a caller: milliseconds, or a text such as `'30s'`,
   * `'1 minute'`, `'2 hours'`. At least one second.
   * @default '1 minute'
   */
  readonly timeWindow?: number | string
  /**
   * Who a request counts for. It runs before the app's authentication, so it has to check itself what it takes: a key
   * that a caller can make up is no limit, and one that is another's uses up the quota of that one.
   * @default the address, `request.ip`: set `trustProxy` of Fastify behind a proxy
   */
  readonly key?: (request: FastifyRequest) => CallerKey | Promise<CallerKey>
  /**
   * Leading bits of an IPv6 address that are one caller: a household or a rented server has a whole /64. IPv4 in IPv6
   * counts as IPv4.
   * @default 64
   */
  readonly ipv6Subnet?: number
  /**
   * Callers that are remembered in memory, of the plugin and of each route with a quota of its own; the one that was
   * longest away is forgotten first. Some 200 bytes each.
   * @default 10_000
   */
  readonly cache?: number
  /**
   * Client for counting in Redis, where several instances count together. A count that takes longer than half a second
   * has failed. Give it `maxRetriesPerRequest: 0`, `enableOfflineQueue: false` and a `commandTimeout`, so that it does not
   * keep what failed to send it later.
   */
  readonly redis?: RateLimitRedis
  /**
   * What keys in Redis begin with.
   * @default 'fastify-rate-limit-'
   */
  readonly nameSpace?: string
  /**
   * Serves requests uncounted while `redis` or `key` fails; the log tells when it begins and ends. With `false` they are
   * refused: with 503 `quota-unavailable` and `Retry-After` while `redis` fails, with what `key` throws otherwise. In
   * `report` mode all are served.
   * @default true
   */
  readonly skipOnError?: boolean
}

const timeWindow: Check<number> = (label, received) =>
  timeWindowOf(received) ??
  invalid(label, "at least a second: milliseconds, or a text such as '1 minute'", received)

/** The largest Integer of a structured field (RFC 9651 §3.3.1), as which `max` is sent. */
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

/** What the options of the plugin are when all is resolved. */
export type ResolvedRateLimit = RateLimitOptions &
  Required<Omit<RateLimitOptions, 'key' | 'redis' | 'nameSpace'>>

/** Where nobody said otherwise. */
export const rateLimitDefaults: ResolvedRateLimit = Object.freeze({
  mode: 'enforce',
  max: 1000,
  timeWindow: 60_000,
  ipv6Subnet: 64,
  cache: 10_000,
  skipOnError: true,
})
