import type { AnyRequest } from '../../convention/any-request.js'
import { type CallerId, subjectOf } from '../../convention/caller.js'
import {
  type Check,
  flag,
  functionOf,
  integer,
  invalid,
  isObject,
  type OptionsOf,
  option,
  optional,
} from '../../options.js'
import { modeOption } from '../../report/modes.js'
import { type Schedule, scheduleTimeout } from '../../time/schedule.js'
import { duration } from '../../time/time-window.js'
import type { IdempotencyStore } from './stores/store.js'

const methodsOfStores = ['check', 'claim', 'renew', 'complete', 'release', 'expire']

const store: Check<IdempotencyStore> = (label, received) =>
  isObject(received) &&
  typeof received.isShared === 'boolean' &&
  methodsOfStores.every((name) => typeof received[name] === 'function')
    ? (received as unknown as IdempotencyStore)
    : invalid(label, 'a store of keys, such as memoryIdempotency()', received)

const maxBytes = integer(0, 16_777_216)

export const idempotencyRouteOptions = {
  /**
   * Whether a request without `Idempotency-Key` is refused: 400 `idempotency-key-invalid`.
   * @default false
   */
  required: optional(flag),
  /**
   * How long an answer is kept: milliseconds, or a text such as `'24 h'`; at least one second.
   * @default '24 h'
   */
  keepFor: optional(duration),
  /**
   * Maximum length of an answer, in bytes of its body. A longer one is sent, but not kept: the request does not run again,
   * and a repeated one gets 409 `idempotency-answer-not-kept`.
   * @default 65_536
   */
  maxBytes: optional(maxBytes),
}

type IdentifyCaller = AnyRequest<[], CallerId | null | undefined | PromiseLike<CallerId | null | undefined>>

const ownOptions = {
  /**
   * `enforce` sends kept answers and refuses requests, `report` changes no response and counts the keys that are malformed
   * or missing, `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
  /**
   * Where keys and answers are: `memoryIdempotency()`, `redisIdempotency()`, `postgresIdempotency()`, or one of your own.
   * @default memoryIdempotency()
   */
  store: optional(store),
  /**
   * Returns the id of the caller, or a promise of it; `null` if the caller is not known. A key of one caller has nothing to
   * do with that of another. It runs after authorization.
   * @default the subject of `request.caller`
   */
  identify: option(functionOf<IdentifyCaller>('a function of the request'), subjectOf),
  /**
   * How long a key stays claimed if its process dies: milliseconds, or a text such as `'30 s'`; at least one second. It is
   * renewed while the request runs, so it does not limit the handler.
   * @default '30 s'
   */
  lease: option(duration, 30_000),
  /**
   * How long a request waits for a shared store.
   * @default '2 s'
   */
  storeTimeout: option(duration, 2_000),
  /**
   * Calls a function later, for tests.
   * @default setTimeout
   */
  schedule: option(functionOf<Schedule>('a function that calls another later'), scheduleTimeout),
}

export const idempotencyOptions = {
  required: option(flag, false),
  keepFor: option(duration, 86_400_000),
  maxBytes: option(maxBytes, 65_536),
  ...ownOptions,
}

/** Options of a route, under `config.idempotency`; `false` for none. */
export interface IdempotencyRouteOptions extends OptionsOf<typeof idempotencyRouteOptions> {}

/** Options of the plugin `idempotency`. */
export interface IdempotencyOptions extends IdempotencyRouteOptions, OptionsOf<typeof ownOptions> {}
