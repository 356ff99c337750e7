import { bootErrors } from '../../boot-errors.js'
import { exactJson } from '../../json/exact-json.js'
import { parseExact } from '../../json/parse-exact.js'
import { type Checks, flag, integer, invalid, isObject, resolveOptions, text } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { type Duration, duration, type Log } from './options.js'
import type { OperationRecord } from './record.js'
import type { OperationEnd } from './transitions.js'

/** Options of an operation. */
export interface OperationDefinition {
  /**
   * Whether the operation can be cancelled. If so, its handler has to observe `signal`.
   * @default false
   */
  readonly cancellable?: boolean
  /**
   * Maximum number of runs. If a run stops without a result (a killed process, a lost connection), another one begins; after
   * the last run the operation fails. Use 1 for work that must not be done twice. An error of the handler fails the
   * operation at once.
   * @default 3
   */
  readonly maxRuns?: number
  /**
   * Maximum time of a run. After that, `signal` aborts and the operation fails, whatever the handler does.
   * @default '1 hour'
   */
  readonly timeout?: Duration
}

/** The argument of the handler of an operation. */
export interface OperationContext<Input = unknown> {
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
  /** Log with the id and the name of the operation. */
  readonly log: Log
}

/** The return value of a handler. */
export interface OperationOutcome {
  /**
   * URL of the created resource, a path or an absolute URL: a poll gets a 303 to it.
   * @default none
   */
  readonly resource?: string
  /**
   * A small JSON value; not for documents.
   * @default none
   */
  readonly result?: unknown
}

/**
 * Does the work of an operation. It may be called twice for the same operation, even at the same time, if a slow process
 * lost its lease. `operationId` stays the same: use it to find resources that an earlier run created. If it throws a
 * `ProblemError`, the client gets that problem. The cause of any other error is only in the log.
 */
export type OperationHandler<Input = unknown> = (
  context: OperationContext<Input>,
) => Promise<OperationOutcome | undefined> | Promise<void>

/** An operation of `define`. */
export interface DefinedOperation extends OperationWork {
  readonly cancellable: boolean
}

const checks: Checks<OperationDefinition> = {
  cancellable: flag,
  maxRuns: integer(1, 1_000),
  timeout: duration,
}
const nameForm = text("a name such as 'payments.retry'", /^[\w.:-]{1,100}$/)

/** The operations that an app has defined, by name. */
export class OperationDefinitions {
  readonly #defined = new Map<string, DefinedOperation>()
  readonly #maxLength: number

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
  define<Input>(
    name: string,
    received: OperationDefinition,
    handler: OperationHandler<Input>,
    log: Log,
  ): void {
    nameForm('operations.define() name', name)
    const label = `operations.define('${name}')`
    const options = resolveOptions(label, received, checks, {
      cancellable: false,
      maxRuns: 3,
      timeout: 3_600_000,
    })
    if (typeof handler !== 'function') invalid(`${label} handler`, 'a function', handler)
    if (this.#defined.has(name)) throw new bootErrors.FST_CONV_OPERATION_DEFINED(name)
    this.#defined.set(name, {
      cancellable: options.cancellable,
      maxRuns: options.maxRuns,
      timeout: Number(options.timeout),
      run: async (context) => this.#endOf(label, await handler(contextOf<Input>(context, log))),
    })
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
    const json = input === undefined ? undefined : inputText(input)
    if (input !== undefined && json === undefined)
      throw new TypeError(`the input of '${name}' is not a JSON value`)
    if (json !== undefined && json.length > this.#maxLength) {
      const detail = `The input of the operation is longer than ${this.#maxLength} characters`
      throw new ProblemError('content-too-large', { detail })
    }
    return json ?? null
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

/** Reads what {@link exactJson} wrote. */
export function readExactJson(json: string): unknown {
  return parseExact(json)
}

function contextOf<Input>({ record, signal, progress }: WorkContext, log: Log): OperationContext<Input> {
  const { id, name, run, input } = record
  return {
    input: (input === null ? undefined : readExactJson(input)) as Input,
    signal,
    progress,
    operationId: id,
    run,
    log: log.child({ operationId: id, operation: name }),
  }
}

/** @throws ProblemError `content-too-large` for an input that is nested too deeply */
function inputText(input: unknown): string | undefined {
  try {
    return exactJson(input, false)
  } catch (cause) {
    if (!isTooDeep(input)) throw cause
    const detail = 'What the operation is to be started with is nested too deep'
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

// Clients and proxies limit the length of a header field.
const longestResource = 4_096

/**
 * Returns the URL of a resource: a path of the service, or an http or https URL of any host. Returns `null` for anything
 * else.
 */
function referenceOf(resource: unknown): string | null {
  if (typeof resource !== 'string' || resource.length > longestResource) return null
  // The parser would remove them silently.
  if (controlOrSpace.test(resource)) return null
  if (!URL.canParse(resource, ownOrigin)) return null
  const { origin, protocol, href } = new URL(resource, ownOrigin)
  // A path that begins with two slashes or backslashes names another host. The parser resolves dots, so the result can
  // begin with two slashes although the input did not: '/..//host'.
  if (resource.startsWith('/')) {
    const path = href.slice(ownOrigin.length)
    return origin === ownOrigin && !path.startsWith('//') ? path : null
  }
  return /^https?:\/\//i.test(resource) && (protocol === 'http:' || protocol === 'https:') ? href : null
}

const controlOrSpace = /[^!-~\u0080-\uffff]/

// A reserved host name (RFC 2606 §2).
const ownOrigin = 'http://service.invalid'

/** The context of a run. */
export interface WorkContext {
  readonly record: OperationRecord
  readonly signal: AbortSignal
  readonly progress: (progress: number) => void
}

/** The work of an operation. */
export interface OperationWork {
  /** Maximum number of runs. */
  readonly maxRuns: number
  /** Maximum time of a run, in milliseconds. */
  readonly timeout: number
  /** Runs the work. An error that it throws becomes the failure of the operation. */
  readonly run: (context: WorkContext) => Promise<OperationEnd>
}
