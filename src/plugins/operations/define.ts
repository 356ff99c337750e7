import { createHash } from 'node:crypto'
import { bootErrors } from '../../boot-errors.js'
import { exactJson, parseExact } from '../../json/exact-json.js'
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
import { isProblemError, ProblemError } from '../../problem/problem-error.js'
import type { SchemaStore } from '../../schema/json-schema.js'
import { isProviderSchema, type SchemaDirection } from '../../schema/provider-schema.js'
import { duration } from '../../time/time-window.js'
import type { OperationContext, OperationDefinition, OperationHandler, OperationRetry } from './api.js'
import { problemOfWork } from './failures.js'
import type { Duration, Log } from './options.js'
import type { OperationEnd, OperationRecord } from './record.js'
import type { RunLimits } from './registry.js'
import { type Restore, restorer, type Validate, validInput } from './typed-value.js'

/** An operation of `define`. */
export interface DefinedOperation {
  readonly cancellable: boolean
  readonly retryAfter: number | null
  readonly onePer: string | null
  readonly result: object | null
  /** Maximum number of runs after the first one, and milliseconds before the second run. */
  readonly retry: { readonly max: number; readonly delay: number }
  readonly work: OperationWork
}

/** The context of a run. */
export interface WorkContext {
  readonly record: OperationRecord
  /** The input as JSON; `null` for none. */
  readonly input: string | null
  readonly signal: AbortSignal
  readonly progress: (progress: number) => void
}

/** The work of an operation. */
export interface OperationWork extends RunLimits {
  /** Whether the work may run again after an error. */
  readonly isRetried: (error: unknown) => boolean
  /** Runs the work. An error that it throws becomes the failure of the operation. */
  readonly run: (context: WorkContext) => Promise<OperationEnd>
}

const schema: Check<object> = (label, received) =>
  isObject(received) ? received : invalid(label, 'a schema', received)

const checks: Checks<OperationDefinition> = {
  input: schema,
  result: schema,
  cancellable: flag,
  retryAfter: integer(1, 86_400),
  onePer: text('the name of a member of the input'),
  maxRuns: integer(1, 1_000),
  timeout: duration,
  retry: objectOf<OperationRetry>({ max: integer(0, 20), delay: duration }),
}

const defaults = { maxRuns: 3, timeout: 3_600_000 as Duration, retry: {} as OperationRetry }

const nameForm = text("a name such as 'payments.retry'", /^[\w.:-]{1,100}$/)

interface Compiled {
  readonly validate: Validate
  readonly restore: Restore
  readonly isExact: boolean
}

/** The operations that an app has defined, by name. */
export class OperationDefinitions {
  readonly #defined = new Map<string, DefinedOperation & { readonly input: object | null }>()
  readonly #inputs = new Map<string, Compiled>()
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

  /** @throws FST_CONV_OPERATION_UNKNOWN */
  named(name: string): DefinedOperation {
    const defined = this.#defined.get(name)
    if (defined === undefined)
      throw new bootErrors.FST_CONV_OPERATION_UNKNOWN(name, this.names.join(', ') || 'none')
    return defined
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
    const { maxRuns, timeout, retry, cancellable = false, retryAfter = null, onePer = null } = options
    const { input = null, result = null } = options
    if (typeof handler !== 'function') invalid(`${label} handler`, 'a function', handler)
    if (this.#isCompiled) invalid(label, 'a definition before the app is ready', 'a later one')
    if (this.#defined.has(name)) throw new bootErrors.FST_CONV_OPERATION_DEFINED(name)
    const work: OperationWork = {
      maxRuns,
      timeout: Number(timeout),
      isRetried: (error) => problemOfWork(error).statusCode >= 500 && !isInvalidResult(error),
      run: async (context) => {
        const given = this.#inputOf(name, context.input)
        return this.#endOf(label, await handler(contextOf(context, given as Input, log)))
      },
    }
    const { max = 0, delay = 1_000 } = retry
    const retries = { max, delay: Math.ceil(Number(delay) / 1_000) * 1_000 }
    this.#defined.set(name, { cancellable, retryAfter, onePer, input, result, retry: retries, work })
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
    return digest(name, String(id))
  }

  #endOf(label: string, outcome: unknown): OperationEnd {
    if (outcome === undefined || outcome === null)
      return { status: 'Succeeded', resource: null, result: null }
    if (!isObject(outcome)) throw invalidResult(`${label} has to return { resource, result } or nothing`)
    const { resource = null, result } = outcome
    const reference = resource === null ? null : referenceOf(resource)
    if (resource !== null && reference === null) {
      throw invalidResult(`${label}: resource is neither a path such as '/v1/payments/7' nor an http URL`)
    }
    const json = result === undefined ? null : resultText(label, result)
    if (json !== null && json.length > this.#maxLength) {
      throw invalidResult(`${label}: the result is longer than ${this.#maxLength} characters`)
    }
    return { status: 'Succeeded', resource: reference, result: json }
  }
}

/** Returns 64 hexadecimal digits of texts. */
export function digest(...texts: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex')
}

function contextOf<Input>(
  { record, signal, progress }: WorkContext,
  input: Input,
  log: Log,
): OperationContext<Input> {
  const { id: operationId, name: operation, run, requestId: reqId } = record
  return {
    input,
    signal,
    progress,
    operationId,
    run,
    log: log.child({ operationId, operation, ...(reqId !== null && { reqId }) }),
  }
}

/** The work is done, so it must not run again because of its result. */
function invalidResult(message: string): ProblemError {
  const detail = 'The work was done, but its result cannot be sent. The cause is in the log.'
  return new ProblemError('operation-result-invalid', { detail, cause: new TypeError(message) })
}

function isInvalidResult(error: unknown): boolean {
  return isProblemError(error) && error.code === 'operation-result-invalid'
}

function resultText(label: string, result: unknown): string {
  let json: string | undefined
  try {
    json = exactJson(result, false)
  } catch (error) {
    throw invalidResult(`${label}: the result cannot be written as JSON: ${error}`)
  }
  const fault = notJson(result, 'result')
  if (fault !== null) throw invalidResult(`${label}: ${fault}, which JSON cannot carry`)
  return json ?? 'null'
}

/** Returns what in a value JSON would drop or change; `null` for nothing. */
function notJson(value: unknown, path: string): string | null {
  if (typeof value === 'function' || typeof value === 'symbol') return `${path} is a ${typeof value}`
  if (typeof value === 'number') return Number.isFinite(value) ? null : `${path} is ${value}`
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return null
  if (value instanceof Map || value instanceof Set) return `${path} is a ${value.constructor.name}`
  for (const [name, member] of Object.entries(value)) {
    const fault = notJson(member, `${path}.${name}`)
    if (fault !== null) return fault
  }
  return null
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

// Clients and proxies limit the length of a header field.
const longestResource = 4_096

/** Returns the URL of a resource: a path of the service, or an http or https URL of any host. */
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
