import { createHash } from 'node:crypto'
import { bootErrors } from '../../boot-errors.js'
import { exactJson } from '../../json/exact-json.js'
import { parseExact } from '../../json/parse-exact.js'
import type { SchemaStore } from '../../json-schema/json-schema.js'
import { isProviderSchema, type SchemaDirection } from '../../json-schema/provider-schema.js'
import {
  type Check,
  type Checks,
  flag,
  integer,
  invalid,
  isObject,
  objectOf,
  resolveOptions,
  text,
} from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { problemOf } from '../../problem/problem-of.js'
import { type Duration, duration, type Log } from './options.js'
import type { OperationRecord } from './record.js'
import type { RunLimits } from './registry.js'
import { referenceOf } from './status-document.js'
import type { OperationEnd } from './transitions.js'
import { type Restore, restorer, type Validate, validInput } from './typed-value.js'

/** What a process has to know of an operation to start it. */
export interface OperationDeclaration<
  InputSchema extends object = object,
  ResultSchema extends object = object,
> {
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
  /**
   * Whether the operation can be cancelled. If so, its handler has to observe `signal`.
   * @default false
   */
  readonly cancellable?: boolean
  /**
   * `Retry-After` of polls, in seconds: about the time that the work usually takes.
   * @default `operations.retryAfter`
   */
  readonly retryAfter?: number
  /**
   * Member of the input, with the id of a resource: a string or an integer. While an operation is in progress for a resource,
   * another start for it is a 409 `operation-in-progress`.
   * @default none: any number of operations
   */
  readonly onePer?: string
}

/** Options of an operation. */
export interface OperationDefinition<
  InputSchema extends object = object,
  ResultSchema extends object = object,
> extends OperationDeclaration<InputSchema, ResultSchema> {
  /**
   * Maximum number of runs. If a run stops without a result (a killed process, a lost connection), another one begins; after
   * the last run the operation fails. Use 1 for work that must not be done twice. Runs that a closing process hands back,
   * and those whose handler fails, do not count.
   * @default 3
   */
  readonly maxRuns?: number
  /**
   * Maximum time of a run. After that, `signal` aborts and the operation fails, whatever the handler does.
   * @default '1 hour'
   */
  readonly timeout?: Duration
  /**
   * When the operation runs again after an error of the handler, other than a problem with a status below 500.
   * @default { max: 0 }: an error ends the operation
   */
  readonly retry?: OperationRetry
}

/** Runs after errors of a handler. */
export interface OperationRetry {
  /**
   * Maximum number of runs after the first one.
   * @default 0
   */
  readonly max?: number
  /**
   * Time before the second run. It doubles with each further run, up to an hour, and is up to a quarter shorter, so that
   * operations that failed together do not run together again.
   * @default '1 second'
   */
  readonly delay?: Duration
}

/** The argument of the handler of an operation. */
export interface OperationContext<Input = unknown, Result = unknown> {
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
  /** `traceparent` of the request that started it (W3C Trace Context §3.2); `null` if it had none. */
  readonly traceparent: string | null
  /**
   * Ends the operation in a transaction of yours, so that its effects and its end are stored together, or not at all. Call it
   * last, before the commit, with the connection of the transaction; then return the same outcome or nothing. A handler that
   * returns without the commit has failed.
   *
   * @throws ProblemError `operation-interrupted` if another run took over: let the transaction fail
   */
  readonly complete: (connection: object, outcome?: OperationOutcome<Result>) => Promise<void>
}

/** The return value of a handler. */
export interface OperationOutcome<Result = unknown> {
  /**
   * URL of the created resource, a path or an absolute URL: a poll gets a 303 to it.
   * @default none
   */
  readonly resource?: string
  /**
   * A small JSON value; not for documents.
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

export function handleOf(name: string): OperationHandle<unknown, never> {
  return Object.freeze({ name })
}

export function nameOf(operation: string | { readonly name: string }): string {
  return typeof operation === 'string' ? operation : operation.name
}

/** An operation of `declare` or `define`. */
export interface DefinedOperation {
  readonly cancellable: boolean
  readonly retryAfter: number | null
  readonly onePer: string | null
  readonly input: object | null
  readonly result: object | null
  /** The work; `null` if another process does it. */
  readonly work: OperationWork | null
}

const schema: Check<object> = (label, received) =>
  isObject(received) ? received : invalid(label, 'a schema', received)

const declarationChecks: Checks<OperationDeclaration> = {
  input: schema,
  result: schema,
  cancellable: flag,
  retryAfter: integer(1, 86_400),
  onePer: text('the name of a member of the input'),
}

const checks: Checks<OperationDefinition> = {
  ...declarationChecks,
  maxRuns: integer(1, 1_000),
  timeout: duration,
  retry: objectOf<OperationRetry>({
    max: integer(0, 1_000),
    delay: duration,
  }),
}

const defaults = { maxRuns: 3, timeout: 3_600_000 as Duration, retry: {} as OperationRetry }

const longestDelay = 3_600_000

/** Returns the delay of the next run in milliseconds, or `null` for none. */
function retryAfter(
  { max = 0, delay = 1_000 }: OperationRetry,
  error: unknown,
  retries: number,
): number | null {
  if (retries >= max || !isServerFault(error)) return null
  const longest = Math.min(Number(delay) * 2 ** retries, Math.max(Number(delay), longestDelay))
  return Math.round(longest * (1 - Math.random() / 4))
}

function isServerFault(error: unknown): boolean {
  return problemOf(error).statusCode >= 500
}

const nameForm = text("a name such as 'payments.retry'", /^[\w.:-]{1,100}$/)

/** The operations that an app has defined, by name. */
export class OperationDefinitions {
  readonly #defined = new Map<string, DefinedOperation>()
  readonly #inputs = new Map<
    string,
    { readonly validate: Validate; readonly restore: Restore; readonly isExact: boolean }
  >()
  readonly #results = new Map<string, Restore>()
  readonly #maxLength: number
  #isCompiled = false

  /** @param maxLength maximum of an input and of a result, in characters of JSON */
  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  get names(): readonly string[] {
    return [...this.#defined.keys()]
  }

  get(name: string): DefinedOperation | undefined {
    return this.#defined.get(name)
  }

  /** @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_OPERATION_DEFINED */
  declare(name: string, received: OperationDeclaration): void {
    nameForm('operations.declare() name', name)
    const label = `operations.declare('${name}')`
    this.#add(name, resolveOptions(label, received, declarationChecks, {}), null)
  }

  /** @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_OPERATION_DEFINED */
  define<Input>(
    name: string,
    received: OperationDefinition,
    handler: OperationHandler<Input>,
    log: Log,
  ): void {
    nameForm('operations.define() name', name)
    const label = `operations.define('${name}')`
    const options = resolveOptions<OperationDefinition, typeof defaults & OperationDefinition>(
      label,
      received,
      checks,
      defaults,
    )
    if (typeof handler !== 'function') invalid(`${label} handler`, 'a function', handler)
    this.#add(name, options, {
      maxRuns: options.maxRuns,
      timeout: Number(options.timeout),
      retryAfter: (error, retries) => retryAfter(options.retry, error, retries),
      run: async (context) => {
        const endOf = (outcome: unknown) => this.#endOf(label, outcome)
        const input = this.#inputOf(name, context.input)
        return endOf(await handler(contextOf(context, input as Input, log, endOf)))
      },
    })
  }

  #add(name: string, options: OperationDeclaration, work: OperationWork | null): void {
    if (this.#isCompiled)
      invalid(`the operation '${name}'`, 'a definition before the app is ready', 'a later one')
    if (this.#defined.has(name)) throw new bootErrors.FST_CONV_OPERATION_DEFINED(name)
    const { cancellable = false, retryAfter = null, onePer = null } = options
    const { input = null, result = null } = options
    this.#defined.set(name, { cancellable, retryAfter, onePer, input, result, work })
  }

  /** Compiles the schemas, when the app gets ready. */
  compile(
    compile: (schema: object) => Validate,
    shared: SchemaStore,
    convert: (schema: object, direction: SchemaDirection) => object = (schema) => schema,
  ): void {
    this.#isCompiled = true
    for (const [name, { input, result }] of this.#defined) {
      const restore = (given: object, direction: SchemaDirection): Restore => {
        const json = convert(given, direction)
        return isProviderSchema(json) ? (value) => value : restorer(json, shared)
      }
      if (input !== null) {
        const isExact = isProviderSchema(input)
        this.#inputs.set(name, { validate: compile(input), restore: restore(input, 'input'), isExact })
      }
      if (result !== null) this.#results.set(name, restore(result, 'output'))
    }
  }

  /** Reads a stored result. With `twins`, declared 64-bit integers have them. */
  readResult(name: string, json: string, twins: boolean): unknown {
    const result = parseExact(json)
    return this.#results.get(name)?.(result, twins) ?? result
  }

  #inputOf(name: string, json: string | null): unknown {
    const input = json === null ? undefined : parseExact(json)
    return this.#inputs.get(name)?.restore(input, false) ?? input
  }

  /** @throws FST_CONV_OPERATION_UNKNOWN */
  named(name: string): DefinedOperation {
    const defined = this.#defined.get(name)
    if (defined === undefined)
      throw new bootErrors.FST_CONV_OPERATION_UNKNOWN(name, this.names.join(', ') || 'none')
    return defined
  }

  /** Returns an input as JSON; `null` for none. */
  inputJson(name: string, input: unknown): string | null {
    const given = input === undefined ? undefined : inputText(input)
    const compiled = this.#inputs.get(name)
    if (compiled === undefined && (this.#defined.get(name)?.input ?? null) !== null) {
      throw new Error(`the operation '${name}' cannot be started before the app is ready: it has a schema`)
    }
    const json =
      compiled === undefined ? given : inputText(validInput(compiled.validate, given ?? null, compiled))
    if (input !== undefined && json === undefined)
      throw new TypeError(`the input of '${name}' is not a JSON value`)
    if (json !== undefined && json.length > this.#maxLength) {
      const detail = `The input of the operation is longer than ${this.#maxLength} characters`
      throw new ProblemError('content-too-large', { detail })
    }
    return json ?? null
  }

  /** Returns `onePer` of the record of an operation with this input. */
  onePerOf(name: string, json: string | null): string | null {
    const member = this.named(name).onePer
    if (member === null) return null
    const input = json === null ? null : parseExact(json)
    const id = isObject(input) ? input[member] : undefined
    if (typeof id !== 'string' && typeof id !== 'number' && typeof id !== 'bigint') {
      throw new TypeError(`the input of '${name}' needs the member ${member}, a string or an integer`)
    }
    return createHash('sha256')
      .update(JSON.stringify([name, String(id)]))
      .digest('hex')
  }

  #endOf(label: string, outcome: unknown): OperationEnd {
    if (outcome === undefined || outcome === null)
      return { status: 'Succeeded', resource: null, result: null }
    if (!isObject(outcome)) throw new TypeError(`${label} has to return { resource, result } or nothing`)
    const { resource = null, result } = outcome
    const reference = resource === null ? null : referenceOf(resource)
    if (resource !== null && reference === null) {
      throw new TypeError(`${label}: resource is neither a path such as '/v1/payments/7' nor an http URL`)
    }
    const json = result === undefined ? null : (exactJson(result, false) ?? null)
    if (json !== null && json.length > this.#maxLength) {
      throw new RangeError(`${label}: the result is longer than ${this.#maxLength} characters`)
    }
    return { status: 'Succeeded', resource: reference, result: json }
  }
}

function contextOf<Input>(
  { record, signal, progress, complete }: WorkContext,
  input: Input,
  log: Log,
  endOf: (outcome: unknown) => OperationEnd,
): OperationContext<Input> {
  const { id, name, run, requestId, traceparent } = record
  const request = requestId === null ? {} : { reqId: requestId }
  return {
    input,
    signal,
    progress,
    operationId: id,
    run,
    traceparent,
    log: log.child({ operationId: id, operation: name, ...request }),
    complete: (connection, outcome) => complete(connection, endOf(outcome)),
  }
}

/** @throws ProblemError `content-too-large` for an input that is nested too deeply */
function inputText(input: unknown): string | undefined {
  try {
    return exactJson(input, false)
  } catch (cause) {
    if (!isTooDeep(input)) throw cause
    const detail = 'The input of the operation is nested too deeply'
    throw new ProblemError('content-too-large', { detail, cause })
  }
}

/** Whether a value cannot be written because of its depth, and not because of a cycle or a `toJSON` that throws. */
function isTooDeep(value: unknown): boolean {
  try {
    JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? null : member))
    return true
  } catch (error) {
    return error instanceof RangeError
  }
}

/** The context of a run. */
export interface WorkContext {
  readonly record: OperationRecord
  /** The input as JSON; `null` for none. */
  readonly input: string | null
  readonly signal: AbortSignal
  readonly progress: (progress: number) => void
  /** Ends the operation in a transaction. */
  readonly complete: (connection: object, end: OperationEnd) => Promise<void>
}

/** The work of an operation. */
export interface OperationWork extends RunLimits {
  /** Returns after how many milliseconds the work has to run again after an error; `null` for never. */
  readonly retryAfter: (error: unknown, retries: number) => number | null
  /** Runs the work. An error that it throws becomes the failure of the operation. */
  readonly run: (context: WorkContext) => Promise<OperationEnd>
}
