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
   * Can it be cancelled? Then its handler has to heed `signal`; one that does not runs to its end.
   * @default false
   */
  readonly cancellable?: boolean
  /**
   * Runs that are begun at most: one that goes silent (a killed process, a lost connection) is followed by another, and
   * after the last of them the operation fails. 1 for work that must not be done twice. What a handler throws is no
   * reason to run again.
   * @default 3
   */
  readonly maxRuns?: number
  /**
   * How long a run may take; then `signal` aborts and the operation fails, whatever the handler does.
   * @default '1 hour'
   */
  readonly timeout?: Duration
}

/** What the handler of an operation is given. */
export interface OperationContext<Input = unknown> {
  /** As it was given at the start, after JSON: no `undefined`, dates as text; an integer that a Number cannot hold as BigInt. */
  readonly input: Input
  /**
   * Aborts when the operation is cancelled, took too long, is another's, or when the process closes. Throw then
   * (`signal.throwIfAborted()`): work that returns has been done, also after it was cancelled.
   */
  readonly signal: AbortSignal
  /** Says how far it is, from 0 to 1; as often as you like. */
  readonly progress: (progress: number) => void
  readonly operationId: string
  /** 1 for the first run. More means that an earlier one went silent, and may have done its work in part or whole. */
  readonly run: number
  readonly log: Log
}

/** What came of the work. */
export interface OperationOutcome {
  /** URL of what it created: a poll is answered with 303 to it. A path, or an absolute URL. */
  readonly resource?: string
  /** Anything else, as JSON; for small facts, not for documents. */
  readonly result?: unknown
}

/**
 * Does the work of an operation. It may be called twice for the same operation, even at the same time when a process was
 * taken for dead and is not: `operationId` stays the same, so what it creates should be found again by it. A
 * `ProblemError` that it throws is what the client sees; of other errors the log has the cause, the client none.
 */
export type OperationHandler<Input = unknown> = (
  context: OperationContext<Input>,
) => Promise<OperationOutcome | undefined> | Promise<void>

/** Work as it was defined. */
export interface DefinedOperation extends OperationWork {
  readonly cancellable: boolean
}

const checks: Checks<OperationDefinition> = {
  cancellable: flag,
  maxRuns: integer(1, 1_000),
  timeout: duration,
}
const nameForm = text("a name such as 'payments.retry'", /^[\w.:-]{1,100}$/)

/** The work that an app has defined, by its name. */
export class OperationDefinitions {
  readonly #defined = new Map<string, DefinedOperation>()
  readonly #maxLength: number

  /** @param maxLength of an input and of a result, in characters of JSON */
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

  /** An input as the registry keeps it; `null` for none. */
  inputJson(name: string, input: unknown): string | null {
    const json = input === undefined ? undefined : inputText(input)
    if (input !== undefined && json === undefined)
      throw new TypeError(`the input of '${name}' is no JSON value`)
    if (json !== undefined && json.length > this.#maxLength) {
      const detail = `What the operation is to be started with is longer than ${this.#maxLength} characters`
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

/** @throws ProblemError `content-too-large` for what is nested too deep to be written */
function inputText(input: unknown): string | undefined {
  try {
    return exactJson(input, false)
  } catch (cause) {
    if (!isTooDeep(input)) throw cause
    const detail = 'What the operation is to be started with is nested too deep'
    throw new ProblemError('content-too-large', { detail, cause })
  }
}

/** Whether depth is what keeps a value from being written, and not a circle or a `toJSON` that throws. */
function isTooDeep(value: unknown): boolean {
  try {
    JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? null : member))
    return true
  } catch (error) {
    return error instanceof RangeError
  }
}

// Clients and proxies take about so much of a header.
const longestResource = 4_096

/**
 * Where it is, in the characters of a URL: below the service, or on another host by http or https; `null` for what is
 * neither.
 */
function referenceOf(resource: unknown): string | null {
  if (typeof resource !== 'string' || resource.length > longestResource) return null
  // The parser would leave them out without a word.
  if (controlOrSpace.test(resource)) return null
  if (!URL.canParse(resource, ownOrigin)) return null
  const { origin, protocol, href } = new URL(resource, ownOrigin)
  // What begins with two slashes, or slashes the other way round, is another host that does not look like one.
  // The parser resolves dots, so what comes out can begin with them where what went in did not: '/..//host'.
  if (resource.startsWith('/')) {
    const path = href.slice(ownOrigin.length)
    return origin === ownOrigin && !path.startsWith('//') ? path : null
  }
  return /^https?:\/\//i.test(resource) && (protocol === 'http:' || protocol === 'https:') ? href : null
}

const controlOrSpace = /[^!-~\u0080-\uffff]/

// A reserved host name (RFC 2606 §2).
const ownOrigin = 'http://service.invalid'

/** What a run of an operation gets. */
export interface WorkContext {
  readonly record: OperationRecord
  readonly signal: AbortSignal
  readonly progress: (progress: number) => void
}

/** The work of one name. */
export interface OperationWork {
  /** Runs that are begun at most, the first included. */
  readonly maxRuns: number
  /** Milliseconds that a run has. */
  readonly timeout: number
  /** Runs the work. An error that it throws becomes the failure of the operation. */
  readonly run: (context: WorkContext) => Promise<OperationEnd>
}
