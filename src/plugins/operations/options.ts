import type { FastifyInstance } from 'fastify'
import type { AnyRequest } from '../../convention/any-request.js'
import { hasVersion } from '../../convention/contexts.js'
import {
  type Check,
  functionOf,
  integer,
  invalid,
  type OptionsOf,
  objectWith,
  option,
  optional,
  orFalse,
  type ResolvedOptions,
  text,
} from '../../options.js'
import { timerOption } from '../../time/clock.js'
import { duration } from '../../time/time-window.js'
import type { OperationEngine } from './engines/engine.js'
import { inProcessEngine } from './engines/in-process.js'
import type { OperationOwner } from './record.js'
import { memoryOperationStore } from './stores/memory.js'
import type { OperationStore } from './stores/store.js'

/** The log of the app. */
export type Log = FastifyInstance['log']

/** Milliseconds, or a text such as `'30s'`, `'24 hours'`. */
export type Duration = number | string

export type { OperationOwner }

const durationOrNone: Check<Duration> = (label, received) => (received === 0 ? 0 : duration(label, received))

const store = objectWith<OperationStore>(
  'a store of operations, such as memoryOperationStore()',
  ['create', 'replace', 'takeDue'],
  ['isShared'],
)

const engine = objectWith<OperationEngine>(
  'an engine, such as inProcessEngine()',
  ['start', 'enqueue'],
  ['isShared'],
)

export const operationsOptions = {
  /**
   * Path of the collection of operations, below the prefix of the context.
   * @default '/v1/operations'; '/operations' if the prefix has a version, as '/v1' and '/api/v1' have
   */
  // URLs contain it without encoding.
  path: optional(text("a path such as '/v1/operations', without parameters", /^(\/[\w.~-]+)+$/)),
  /**
   * Where records are stored. Several instances need a shared store.
   * @default memoryOperationStore()
   */
  store: optional(store),
  /**
   * Runs the work.
   * @default inProcessEngine()
   */
  engine: optional(engine),
  /**
   * Returns the id of the caller, after authentication. Only the caller who started an operation can see and cancel it;
   * with `null`, every caller who knows the id of the operation (128 random bits).
   * @default the subject of `request.caller`, which `bearer` sets
   */
  identify: optional(
    functionOf<AnyRequest<[], OperationOwner | Promise<OperationOwner>>>(
      'a function of the request that returns the id of the caller',
    ),
  ),
  /**
   * How long the result of an operation is stored. After that, it is a 410 for the same time again, and then a 404.
   * @default '24 hours'
   */
  retention: option(duration, 86_400_000),
  /**
   * Time after the last heartbeat of a run that died within which another run takes its place, or the operation fails. A run
   * sends four heartbeats in that time, and counts as dead after two thirds of it without one.
   * @default '30 seconds'
   */
  lease: option(duration, 30_000),
  /**
   * `Retry-After` of operations that define none, in seconds.
   * @default 5
   */
  retryAfter: option(integer(1, 86_400), 5),
  /**
   * Maximum number of polls of one operation in a minute, in each process; `false` for no limit.
   * @default 60
   */
  polls: option(orFalse(integer(1)), 60),
  /**
   * Maximum length of an input and of a result, in characters of JSON.
   * @default 65_536
   */
  maxLength: option(integer(1, 100_000_000), 65_536),
  /**
   * How long runs of this process may continue when the app closes, before their `signal` aborts.
   * @default '5 seconds'
   */
  drain: option(durationOrNone, 5_000),
  /**
   * How long a handler may take to stop after its `signal` aborted, in addition to `drain`. Then its slot is free, and a
   * closing process hands the operation back, or fails it, although the handler goes on.
   * @default '10 seconds'
   */
  unwind: option(durationOrNone, 10_000),
  /**
   * Origin, or origin and path, in front of the URLs of operations, such as `'https://api.example.com'`: for clients that
   * need an absolute `Location`, and behind proxies that change paths.
   * @default none: paths
   */
  baseUrl: option(
    text(
      "an http or https URL without query, such as 'https://api.example.com'",
      /^https?:\/\/[^/?#\s]+[^?#\s]*$/,
    ),
    '',
  ),
  /**
   * Returns the time, in milliseconds since the epoch. For tests.
   * @default the clock of the store
   */
  now: optional(functionOf<() => number>('a function that returns milliseconds')),
  ...timerOption,
}

/** Options of the plugin `operations`. */
export interface OperationsOptions extends OptionsOf<typeof operationsOptions> {}

/** The options of the plugin: durations in milliseconds. */
export type ResolvedOperations = ReturnType<typeof resolveOperations>

/** @throws FST_CONV_OPTION_INVALID */
export function resolveOperations(options: ResolvedOptions<typeof operationsOptions>, app: FastifyInstance) {
  const { store = memoryOperationStore(), engine = inProcessEngine(), ...others } = options
  if (engine.isShared && !store.isShared) {
    invalid('operations.store', 'a shared store, because the engine is shared', options.store)
  }
  return Object.freeze({
    ...others,
    path: options.path ?? (hasVersion(app) ? '/operations' : '/v1/operations'),
    retention: Number(options.retention),
    lease: Number(options.lease),
    drain: Number(options.drain),
    unwind: Number(options.unwind),
    baseUrl: options.baseUrl.replace(/\/$/, ''),
    store,
    engine,
  })
}
