import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AnyRequest } from '../../fastify/any-request.js'
import {
  type Check,
  type Checks,
  functionOf,
  integer,
  invalid,
  isObject,
  resolveOptions,
  text,
} from '../../options.js'
import { type Schedule, scheduleTimeout } from '../../time/schedule.js'
import { timeWindowOf } from '../../time/time-window.js'
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

/** Encodes the texts that are stored. Both functions may return a promise. */
export interface OperationCodec {
  readonly encode: (text: string) => string | Promise<string>
  readonly decode: (stored: string) => string | Promise<string>
}

/** Options of the plugin `operations`. */
export interface OperationsOptions {
  /**
   * Path of the collection of operations, below the prefix of the context.
   * @default '/v1/operations'
   */
  readonly path?: string
  /**
   * Where records are stored. Several instances need a shared store.
   * @default memoryOperationStore()
   */
  readonly store?: OperationStore
  /**
   * Runs the work.
   * @default inProcessEngine()
   */
  readonly engine?: OperationEngine
  /**
   * Returns the id of the caller. Only the caller who started an operation can see and cancel it. It is called in the
   * handler, after authentication. If it returns `null`, every caller who knows the id of an operation (128 random bits) can
   * see it. An app in which all callers are such is a finding in the boot report.
   * @default the subject of `request.caller`, which `bearer` sets
   */
  readonly identify?: AnyRequest<[], OperationOwner | Promise<OperationOwner>>
  /**
   * How long the result of an operation is stored. After that, it is a 410 for the same time again, and then a 404.
   * @default '24 hours'
   */
  readonly retention?: Duration
  /**
   * Time after the last heartbeat of a run that died within which another run takes its place, or the operation fails. A run
   * sends four heartbeats in that time, and counts as dead after two thirds of it without one.
   * @default '30 seconds'
   */
  readonly lease?: Duration
  /**
   * `Retry-After` of operations that define none, in seconds.
   * @default 5
   */
  readonly retryAfter?: number
  /**
   * Maximum number of polls of one operation in a minute, in each process; `false` for no limit.
   * @default 60
   */
  readonly polls?: number | false
  /**
   * Maximum number of status documents that this process sends as server-sent events at the same time. Beyond it, a client gets
   * the document as JSON; 0 for no streams.
   * @default 1_000
   */
  readonly maxStreams?: number
  /**
   * Maximum length of an input and of a result, in characters of JSON.
   * @default 65_536
   */
  readonly maxLength?: number
  /**
   * How long runs of this process may continue when the app closes, before their `signal` aborts.
   * @default '5 seconds'
   */
  readonly drain?: Duration
  /**
   * How long a handler may take to stop after its `signal` aborted because the app closes. Then the process hands the
   * operation back, or fails it, although the handler goes on. It is in addition to `drain`.
   * @default '10 seconds'
   */
  readonly unwind?: Duration
  /**
   * Origin, or origin and path, in front of the URLs of operations, such as `'https://api.example.com'`: for clients that
   * need an absolute `Location`, and behind proxies that change paths.
   * @default none: paths
   */
  readonly baseUrl?: string
  /**
   * Maximum number of operations in progress of one owner, in all processes; a start beyond it gets a 429. The start counts, and
   * then stores: starts at the same time may exceed it a little.
   * @default none
   */
  readonly maxPerOwner?: number
  /**
   * Encodes inputs and results before they are stored, and decodes them: for encryption at rest.
   * @default none
   */
  readonly codec?: OperationCodec
  /**
   * Returns the time, in milliseconds since the epoch. For tests.
   * @default the clock of the store
   */
  readonly now?: () => number
  /**
   * Calls a function later. For tests.
   * @default setTimeout, with timers that do not keep the process alive
   */
  readonly schedule?: Schedule
}

/** The resolved options of the plugin. */
export interface ResolvedOperations {
  readonly path: string
  readonly store: OperationStore
  readonly engine: OperationEngine
  readonly identify: ((request: FastifyRequest) => OperationOwner | Promise<OperationOwner>) | null
  readonly retention: number
  readonly lease: number
  readonly retryAfter: number
  /** In a minute; `false` for no limit. */
  readonly polls: number | false
  readonly maxStreams: number
  readonly maxLength: number
  readonly drain: number
  readonly unwind: number
  readonly baseUrl: string
  readonly maxPerOwner: number | null
  readonly codec: OperationCodec | null
  /** `null`: the clock of the store. */
  readonly now: (() => number) | null
  readonly schedule: Schedule
}

/** Returns a {@link Duration} in milliseconds. Throws if it is less than one second. */
export const duration: Check<number> = (label, received) =>
  timeWindowOf(received) ??
  invalid(label, "at least a second: milliseconds, or a text such as '30s'", received)

/** Returns a check for an object with these methods and the flag `isShared`. */
function withMethods<Given>(expected: string, ...names: readonly (keyof Given & string)[]): Check<Given> {
  return (label, received) =>
    isObject(received) &&
    names.every((name) => typeof received[name] === 'function') &&
    typeof received.isShared === 'boolean'
      ? (received as unknown as Given)
      : invalid(label, expected, received)
}

const count = integer(1)

const durationOrNone: Check<number> = (label, received) => (received === 0 ? 0 : duration(label, received))

const checks: Checks<OperationsOptions> = {
  // URLs contain it without encoding.
  path: text("a path such as '/v1/operations', without parameters", /^(\/[\w.~-]+)+$/),
  store: withMethods<OperationStore>(
    'a store of operations, such as memoryOperationStore()',
    'check',
    'create',
    'get',
    'input',
    'replace',
    'remove',
    'takeDue',
    'expire',
    'list',
    'usage',
    'announce',
    'listen',
  ),
  engine: withMethods<OperationEngine>(
    'an engine, such as inProcessEngine()',
    'start',
    'work',
    'pause',
    'enqueue',
    'close',
  ),
  identify: functionOf('a function of the request that returns the id of the caller'),
  retention: duration,
  lease: duration,
  retryAfter: integer(1, 86_400),
  polls: (label, received) => (received === false ? false : count(label, received)),
  maxStreams: integer(0, 1_000_000),
  maxLength: integer(1, 100_000_000),
  drain: durationOrNone,
  unwind: durationOrNone,
  baseUrl: text(
    "an http or https URL without query, such as 'https://api.example.com'",
    /^https?:\/\/[^/?#\s]+[^?#\s]*$/,
  ),
  maxPerOwner: count,
  codec: (label, received) =>
    isObject(received) && typeof received.encode === 'function' && typeof received.decode === 'function'
      ? (received as unknown as OperationCodec)
      : invalid(label, 'an object with the functions encode and decode', received),
  now: functionOf('a function that returns milliseconds'),
  schedule: functionOf('a function that calls another later'),
}

const defaults: Omit<ResolvedOperations, 'identify' | 'store' | 'engine'> = {
  path: '/v1/operations',
  retention: 86_400_000,
  lease: 30_000,
  maxStreams: 1_000,
  maxLength: 65_536,
  retryAfter: 5,
  polls: 60,
  drain: 5_000,
  unwind: 10_000,
  baseUrl: '',
  maxPerOwner: null,
  codec: null,
  now: null,
  schedule: scheduleTimeout,
}

/** @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN */
export function resolveOperations(received: OperationsOptions | undefined): ResolvedOperations {
  const given = resolveOptions<OperationsOptions, OperationsOptions>('operations', received, checks, {})
  const store = given.store ?? memoryOperationStore()
  const engine = given.engine ?? inProcessEngine()
  if (engine.isShared && !store.isShared) {
    invalid('operations.store', 'a shared store, because the engine is shared', given.store)
  }
  return Object.freeze({
    ...defaults,
    ...(given as Partial<typeof defaults>),
    identify: given.identify ?? null,
    baseUrl: (given.baseUrl ?? '').replace(/\/$/, ''),
    store,
    engine,
  })
}
