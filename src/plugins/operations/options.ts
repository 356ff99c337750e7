import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  type Check,
  type Checks,
  functionOf,
  integer,
  invalid,
  isObject,
  objectOf,
  resolveOptions,
  text,
} from '../../options.js'
import { type Schedule, scheduleTimeout } from '../../time/schedule.js'
import { timeWindowOf } from '../../time/time-window.js'
import type { OperationEngine } from './engines/engine.js'
import { inProcessEngine } from './engines/in-process.js'
import type { PollInterval, PollLimitOptions } from './polls.js'
import type { OperationOwner } from './record.js'
import { memoryOperationStore } from './stores/memory.js'
import type { OperationStore } from './stores/store.js'

/** The log of the app. */
export type Log = FastifyInstance['log']

/** Milliseconds, or a text such as `'30s'`, `'24 hours'`. */
export type Duration = number | string

export type { OperationOwner }

/** How often one operation may be polled. */
export interface PollsOptions {
  /**
   * Polls within a window.
   * @default 60
   */
  readonly max?: number
  /**
   * Length of the window. At least one second.
   * @default '1 minute'
   */
  readonly timeWindow?: Duration
}

/** Options of the plugin `operations`. */
export interface OperationsOptions {
  /**
   * Path of the collection of operations, below the prefix of the context.
   * @default '/v1/operations'
   */
  readonly path?: string
  /**
   * Where records are kept. With several instances it has to be one that they share.
   * @default memoryOperationStore()
   */
  readonly store?: OperationStore
  /**
   * What runs the work.
   * @default inProcessEngine()
   */
  readonly engine?: OperationEngine
  /**
   * Who starts, polls and cancels: an operation is seen by the caller alone who started it. Called in the handler's time,
   * after authentication. Without it, whoever knows the id of an operation (128 random bits) sees it.
   */
  readonly identify?: (request: FastifyRequest) => OperationOwner | Promise<OperationOwner>
  /**
   * How long the end of an operation can be asked for; for as long again it is answered with 410, then with 404.
   * @default '24 hours'
   */
  readonly retention?: Duration
  /**
   * How long after its last sign of life another run has taken the place of one that died, or the operation has failed.
   * Running work gives four signs in that time; with none for two thirds of it, it is taken for dead.
   * @default '30 seconds'
   */
  readonly lease?: Duration
  /**
   * Bounds of `Retry-After`, in seconds, and its value while nothing is known of how long such work takes.
   * @default { min: 1, max: 30, initial: 5 }
   */
  readonly retryAfter?: Partial<PollInterval>
  /**
   * How often one operation may be polled, in each process; `false` for no limit.
   * @default { max: 60, timeWindow: '1 minute' }
   */
  readonly polls?: PollsOptions | false
  /**
   * Longest time in seconds that a request waits for `Prefer: wait` (RFC 7240 §4.3).
   * @default 10
   */
  readonly maxWait?: number
  /**
   * Longest input and longest result, in characters of JSON.
   * @default 65_536
   */
  readonly maxLength?: number
  /**
   * How long runs of this process may go on when the app closes, before they are told to stop.
   * @default '5 seconds'
   */
  readonly drain?: Duration
  /**
   * How long the store and the engine have for an answer; a request that waits longer is answered with 503.
   * @default '5 seconds'
   */
  readonly storeTimeout?: Duration
  /**
   * The time, in milliseconds since the epoch.
   * @default Date.now
   */
  readonly now?: () => number
  /**
   * Calls a function later.
   * @default timers of the process, which they do not keep alive
   */
  readonly schedule?: Schedule
}

/** The options of the plugin when all is resolved. */
export interface ResolvedOperations {
  readonly path: string
  readonly store: OperationStore
  readonly engine: OperationEngine
  readonly identify: ((request: FastifyRequest) => OperationOwner | Promise<OperationOwner>) | null
  readonly retention: number
  readonly lease: number
  readonly retryAfter: PollInterval
  readonly polls: PollLimitOptions | null
  readonly maxWait: number
  readonly maxLength: number
  readonly drain: number
  readonly storeTimeout: number
  readonly now: () => number
  readonly schedule: Schedule
}

/** A check of a {@link Duration}: milliseconds, at least one second. */
export const duration: Check<number> = (label, received) =>
  timeWindowOf(received) ??
  invalid(label, "at least a second: milliseconds, or a text such as '30s'", received)

/** An object with these methods, which says whether it is shared. */
function withMethods<Given>(expected: string, ...names: readonly (keyof Given & string)[]): Check<Given> {
  return (label, received) =>
    isObject(received) &&
    names.every((name) => typeof received[name] === 'function') &&
    typeof received.isShared === 'boolean'
      ? (received as unknown as Given)
      : invalid(label, expected, received)
}

const seconds = integer(1, 86_400)
const interval = objectOf<Partial<PollInterval>>({ min: seconds, max: seconds, initial: seconds })
const polls = objectOf<PollsOptions>({ max: integer(1), timeWindow: duration })

const checks: Checks<OperationsOptions> = {
  // It stands in URLs as it is.
  path: text("a path such as '/v1/operations', without parameters", /^(\/[\w.~-]+)+$/),
  store: withMethods<OperationStore>(
    'a store of operations, such as memoryOperationStore()',
    'check',
    'create',
    'get',
    'replace',
    'remove',
    'due',
    'expire',
    'announceCancel',
    'onCancel',
  ),
  engine: withMethods<OperationEngine>('an engine, such as inProcessEngine()', 'start', 'enqueue', 'close'),
  identify: functionOf('a function of the request that gives the id of the caller'),
  retention: duration,
  lease: duration,
  retryAfter: interval,
  polls: (label, received) => (received === false ? false : polls(label, received)),
  maxWait: integer(0, 3600),
  maxLength: integer(1, 100_000_000),
  drain: (label, received) => (received === 0 ? 0 : duration(label, received)),
  storeTimeout: duration,
  now: functionOf('a function that returns milliseconds'),
  schedule: functionOf('a function that calls another later'),
}

const usualInterval: PollInterval = { min: 1, max: 30, initial: 5 }
const usualPolls: PollLimitOptions = { max: 60, timeWindow: 60_000 }

const defaults: Omit<ResolvedOperations, 'identify' | 'polls' | 'retryAfter' | 'store' | 'engine'> = {
  path: '/v1/operations',
  retention: 86_400_000,
  lease: 30_000,
  maxWait: 10,
  maxLength: 65_536,
  drain: 5_000,
  storeTimeout: 5_000,
  now: Date.now,
  schedule: scheduleTimeout,
}

/** @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN */
export function resolveOperations(received: OperationsOptions | undefined): ResolvedOperations {
  const given = resolveOptions<OperationsOptions, OperationsOptions>('operations', received, checks, {})
  const retryAfter = { ...usualInterval, ...given.retryAfter }
  if (retryAfter.min > retryAfter.max) {
    invalid('operations.retryAfter.min', `at most max (${retryAfter.max})`, retryAfter.min)
  }
  const store = given.store ?? memoryOperationStore()
  const engine = given.engine ?? inProcessEngine()
  if (engine.isShared && !store.isShared) {
    invalid(
      'operations.store',
      'one that instances share, since the engine hands work to others',
      given.store,
    )
  }
  const { identify = null, polls } = given
  return Object.freeze({
    ...defaults,
    ...(given as Partial<typeof defaults>),
    identify,
    polls: polls === false ? null : { ...usualPolls, ...(polls as Partial<PollLimitOptions>) },
    retryAfter: Object.freeze(retryAfter),
    store,
    engine,
  })
}
