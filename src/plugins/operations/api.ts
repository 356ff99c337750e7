import type { FastifyTypeProvider, FastifyTypeProviderDefault } from 'fastify'
import { checksOf, flag, integer, type OptionsOf, objectOf, option, optional, text } from '../../options.js'
import { duration } from '../../time/time-window.js'
import type { Log, OperationOwner } from './options.js'
import type { OperationFailure, OperationStatus } from './record.js'

/** The operations of a context. */
export interface Operations<TypeProvider extends FastifyTypeProvider = FastifyTypeProviderDefault> {
  /**
   * Defines an operation by its name, before the app is ready. The first definition adds the routes of operations. The type
   * provider of the app gives the types of schemas, as it does for routes; those of the type arguments are for schemas without types.
   *
   * @returns a handle, which starts the operation with an input of its type
   * @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_OPERATION_DEFINED
   */
  define<Input = unknown, Result = unknown>(
    name: string,
    handler: OperationHandler<Input, Result>,
  ): OperationHandle<Input, Result>
  define<
    Input = unknown,
    Result = unknown,
    const InputSchema extends object = object,
    const ResultSchema extends object = object,
  >(
    name: string,
    options: OperationDefinition<InputSchema, ResultSchema>,
    handler: OperationHandler<
      TypeOf<TypeProvider, 'validator', InputSchema, Input>,
      TypeOf<TypeProvider, 'serializer', ResultSchema, Result>
    >,
  ): OperationHandle<
    TypeOf<TypeProvider, 'validator', InputSchema, Input>,
    TypeOf<TypeProvider, 'serializer', ResultSchema, Result>
  >
  /**
   * Starts an operation outside of a request, such as from a schedule.
   * @returns its document
   * @throws FST_CONV_OPERATION_UNKNOWN; ProblemError `operation-in-progress`, `operations-full`, `operations-unavailable`, `quota-exceeded`, `content-too-large`
   */
  start<Input>(
    operation: string | OperationHandle<Input>,
    input?: Input,
    options?: InternalStartOptions,
  ): Promise<StatusDocument>
  /** Returns the document of an operation of any owner; `null` if there is none, or if its result is deleted. */
  find(id: string): Promise<StatusDocument | null>
  /** Requests the cancellation of an operation of any owner. Returns its document; `null` if there is none. */
  cancel(id: string): Promise<StatusDocument | null>
  /**
   * Begins to run operations of other processes, and those that were left. A server does that by itself when it listens; call it
   * in a process that does not listen. With a store in memory, operations run as soon as the app is ready.
   */
  work(): Promise<void>
}

/** The type that a type provider gives to a schema; `Otherwise` if it gives none, or if there is no schema (`object`). */
type TypeOf<
  TypeProvider extends FastifyTypeProvider,
  Part extends 'validator' | 'serializer',
  Schema extends object,
  Otherwise,
> = object extends Schema
  ? Otherwise
  : (TypeProvider & { readonly schema: Schema })[Part] extends infer Type
    ? unknown extends Type
      ? Otherwise
      : Type
    : never

/** Options of `operations.start()`. */
export interface InternalStartOptions extends RunOptions {
  /**
   * Id of the caller who may see and cancel the operation; `null`: every caller who knows its id.
   * @default no caller
   */
  readonly owner?: OperationOwner
}

const retryOptions = {
  /**
   * Maximum number of runs after the first one: 20 at most.
   * @default 0
   */
  max: option(integer(0, 20), 0),
  /**
   * Time before the second run, at least a second. It doubles with each further run, and varies.
   * @default '1 second'
   */
  delay: option(duration, 1_000),
}

/** Runs after errors of a handler. */
export interface OperationRetry extends OptionsOf<typeof retryOptions> {}

export const definitionOptions = {
  /**
   * Whether the operation can be cancelled. If so, its handler has to observe `signal`.
   * @default false
   */
  cancellable: option(flag, false),
  /**
   * `Retry-After` of polls, in seconds: about the time that the work usually takes.
   * @default `operations.retryAfter`
   */
  retryAfter: optional(integer(1, 86_400)),
  /**
   * Member of the input, with the id of a resource: a string or an integer. While an operation is in progress for a resource,
   * another start for it is a 409 `operation-in-progress`.
   * @default none: any number of operations
   */
  onePer: optional(text('the name of a member of the input')),
  /**
   * Maximum number of runs that may die, such as with their process; after the last one the operation fails. Use 1 for work
   * that must not be done twice. Runs that a closing process hands back, and those whose handler fails, do not count.
   * @default 3
   */
  maxRuns: option(integer(1, 1_000), 3),
  /**
   * Maximum time of a run. After that, `signal` aborts and the operation fails, whatever the handler does.
   * @default '1 hour'
   */
  timeout: option(duration, 3_600_000),
  /**
   * When the operation runs again after an error of the handler, other than a problem with a status below 500.
   * @default { max: 0 }: an error ends the operation
   */
  retry: option<OperationRetry>(objectOf(checksOf(retryOptions)), {}),
}

/** Options of an operation. */
export interface OperationDefinition<
  InputSchema extends object = object,
  ResultSchema extends object = object,
> extends OptionsOf<typeof definitionOptions> {
  /**
   * Schema of the input, for the validator of the app. A start with another input is a 400 `validation`, and starts nothing.
   * Integers of the format `int64` or `uint64` are BigInts in the handler, whatever their size.
   * @default none: any JSON value
   */
  readonly input?: InputSchema
  /**
   * JSON Schema of the result, for the OpenAPI document. Integers of the format `int64` or `uint64` have their twins in status
   * documents. Results are not validated.
   * @default none: any JSON value
   */
  readonly result?: ResultSchema
}

/** The argument of the handler of an operation. */
export interface OperationContext<Input = unknown, _Result = unknown> {
  /**
   * The input of the start, serialized as JSON and parsed: without `undefined`, dates are strings, and integers that a
   * Number cannot represent are BigInts.
   */
  readonly input: Input
  /**
   * Aborts if the operation is cancelled, if it times out, if another run takes it over, or if the process closes. Then the
   * handler has to throw (`signal.throwIfAborted()`): if it returns, the operation has succeeded, even after a cancellation.
   */
  readonly signal: AbortSignal
  /** Reports the progress, from 0 to 1. It may be called often. */
  readonly progress: (progress: number) => void
  /** Id of the operation; the same in every run. */
  readonly operationId: string
  /** 1 for the first run. A higher number means that an earlier run stopped, and may have done a part of the work or all. */
  readonly run: number
  /** Log with the ids of the operation and of the request that started it, and the name of the operation. */
  readonly log: Log
}

/** The return value of a handler. */
export interface OperationOutcome<Result = unknown> {
  /**
   * URL of the created resource, a path or an absolute URL: a poll gets a 303 to it.
   * @default none
   */
  readonly resource?: string
  /**
   * A small JSON value; not for documents. With one that is longer than `maxLength`, or not JSON, such as one with a function, a
   * Map or NaN, the operation fails with `operation-result-invalid`.
   * @default none
   */
  readonly result?: Result
}

/**
 * Does the work of an operation. It may be called twice for the same operation, even at the same time, if a slow process
 * lost its lease. `operationId` stays the same: use it to find resources that an earlier run created. If it throws a
 * `ProblemError`, the client gets that problem. The cause of any other error is only in the log.
 */
export type OperationHandler<Input = unknown, Result = unknown> = (
  context: OperationContext<Input, Result>,
) => Promise<OperationOutcome<Result> | undefined> | Promise<void>

/** An operation with the types of its input and of its result. */
export interface OperationHandle<in Input = never, out Result = unknown> {
  readonly name: string
  /** For the types only. */
  readonly [types]?: (input: Input) => Result
}

declare const types: unique symbol

export const runOptions = {
  /**
   * Time before which it must not run: milliseconds, or a text such as `'10 minutes'`.
   * @default none
   */
  delay: option(duration, 0),
  /**
   * Operations with a higher priority run first: from 0 to 100.
   * @default 0
   */
  priority: option(integer(0, 100), 0),
}

/** Options of the start of an operation. */
export interface RunOptions extends OptionsOf<typeof runOptions> {}

/**
 * The status document of an operation. Responses have `created_at` and `finished_at` in the `keyStyle` of `responseRules`:
 * `createdAt`, `finishedAt` in camelCase.
 */
export interface StatusDocument {
  readonly id: string
  readonly status: OperationStatus
  /** From 0 to 1. */
  readonly progress?: number
  /** The request that cancels the operation; only while that is possible. */
  readonly link?: { readonly rel: 'cancel'; readonly method: 'DELETE'; readonly href: string }
  /** RFC 3339. */
  readonly created_at: string
  /** RFC 3339. */
  readonly finished_at?: string
  /** URL of the created resource; generic clients of long-running operations read this name. */
  readonly resourceLocation?: string
  /** The result. */
  readonly result?: unknown
  /** Why it failed: a problem document, with its text also as `message` for generic clients. */
  readonly error?: OperationFailure & { readonly type: string; readonly message: string }
}
