import type { AnyRequest } from '../../fastify/any-request.js'
import { type CallerId, subjectOf } from '../../fastify/caller.js'
import {
  type Check,
  type Checks,
  flag,
  functionOf,
  integer,
  invalid,
  isObject,
  oneOf,
} from '../../options.js'
import { type Mode, modes } from '../../rules/modes.js'
import { type Schedule, scheduleTimeout } from '../../time/schedule.js'
import { timeWindowOf } from '../../time/time-window.js'
import { isKeptStatus } from './answer.js'
import type { IdempotencyStore } from './stores/store.js'

/** Options of a route, under `config.idempotency`; `false` for none. */
export interface IdempotencyRouteOptions {
  /**
   * Whether a request without `Idempotency-Key` is refused: 400 `idempotency-key-invalid`.
   * @default false
   */
  readonly required?: boolean
  /**
   * How long an answer is kept: milliseconds, or a text such as `'24 h'`; at least one second.
   * @default '24 h'
   */
  readonly keepFor?: number | string
  /**
   * Maximum length of an answer, in bytes of its body. A longer one is sent, but not kept: the request does not run again,
   * and a repeated one gets 409 `idempotency-answer-not-kept`.
   * @default 65_536
   */
  readonly maxBytes?: number
  /**
   * Returns whether the answer with a status is kept. It also gets the statuses of hooks that run after this one: 412 and 428
   * of preconditions.
   * @default 2xx, 3xx, and 4xx other than those which say that nothing was carried out: 400, 401, 403–408, 411–417, 421, 425,
   * 426, 428, 429 and 431
   */
  readonly keeps?: (statusCode: number) => boolean
}

/** Options of the plugin `idempotency`. */
export interface IdempotencyOptions extends IdempotencyRouteOptions {
  /**
   * `enforce` sends kept answers and refuses requests, `report` changes no response and counts these requests, `off` does
   * nothing.
   * @default 'enforce'
   */
  readonly mode?: Mode
  /**
   * Where keys and answers are: `memoryIdempotency()`, `redisIdempotency()`, `postgresIdempotency()`, or one of your own.
   * @default memoryIdempotency()
   */
  readonly store?: IdempotencyStore
  /**
   * Returns the id of the caller, or a promise of it; `null` if the caller is not known. A key of one caller has nothing to
   * do with that of another. It runs after authorization.
   * @default the subject of `request.caller`
   */
  readonly identify?: AnyRequest<[], CallerId | null | undefined | PromiseLike<CallerId | null | undefined>>
  /**
   * How long a key stays claimed if its process dies: milliseconds, or a text such as `'30 s'`; at least one second. It is
   * renewed while the request runs, so it does not limit the handler.
   * @default '30 s'
   */
  readonly lease?: number | string
  /**
   * How long a request waits for the store.
   * @default '2 s'
   */
  readonly storeTimeout?: number | string
  /**
   * Calls a function later, for tests.
   * @default setTimeout
   */
  readonly schedule?: Schedule
}

const duration: Check<number> = (label, received) =>
  timeWindowOf(received) ??
  invalid(label, "at least a second: milliseconds, or a text such as '30 s'", received)

/** Checks of {@link IdempotencyRouteOptions}. */
export const idempotencyRouteChecks: Checks<IdempotencyRouteOptions> = {
  required: flag,
  keepFor: duration,
  maxBytes: integer(0, 16_777_216),
  keeps: functionOf('a function of the status'),
}

const methodsOfStores = ['check', 'claim', 'renew', 'complete', 'release', 'expire']

/** Checks of {@link IdempotencyOptions}. */
export const idempotencyChecks: Checks<IdempotencyOptions> = {
  ...idempotencyRouteChecks,
  mode: oneOf(...modes),
  store: (label, received) =>
    isObject(received) &&
    typeof received.isShared === 'boolean' &&
    methodsOfStores.every((name) => typeof received[name] === 'function')
      ? (received as unknown as IdempotencyStore)
      : invalid(label, 'a store of keys, such as memoryIdempotency()', received),
  identify: functionOf('a function of the request'),
  lease: duration,
  storeTimeout: duration,
  schedule: functionOf('a function that calls another later'),
}

/** The options of a route with all defaults. */
export type RoutePlan = Required<Omit<IdempotencyOptions, 'store' | 'keepFor' | 'lease' | 'storeTimeout'>> & {
  /** Milliseconds. */
  readonly keepFor: number
  readonly lease: number
  readonly storeTimeout: number
  readonly store?: IdempotencyStore
}

/** The defaults of {@link IdempotencyOptions}. */
export const idempotencyDefaults: RoutePlan = Object.freeze({
  mode: 'enforce',
  identify: subjectOf,
  required: false,
  keepFor: 86_400_000,
  lease: 30_000,
  storeTimeout: 2_000,
  maxBytes: 65_536,
  keeps: isKeptStatus,
  schedule: scheduleTimeout,
})
