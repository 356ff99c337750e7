import { createHash } from 'node:crypto'
import { bootErrors } from '../../boot-errors.js'
import { exactJson, parseExact } from '../../json/exact-json.js'
import { type Check, invalid, isObject, optional, resolveOptions, text } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import type { SchemaStore } from '../../schema/json-schema.js'
import { isProviderSchema, type SchemaDirection } from '../../schema/provider-schema.js'
import { definitionOptions, type OperationDefinition, type OperationHandler } from './api.js'
import { problemOfWork } from './failures.js'
import type { Log } from './options.js'
import type { OperationEnd, OperationRecord } from './record.js'
import { type Restore, restorer, type Validate, validInput } from './typed-value.js'

export interface WorkContext {
  readonly record: OperationRecord
  /** As JSON; `null` for none. */
  readonly input: string | null
  readonly signal: AbortSignal
  readonly progress: (progress: number) => void
}

export interface Compilers {
  readonly shared: SchemaStore
  validator(schema: object): Validate
  jsonSchema(schema: object, direction: SchemaDirection): object
}

const schema: Check<object> = (label, received) =>
  isObject(received) ? received : invalid(label, 'a schema', received)

const declared = { input: optional(schema), result: optional(schema), ...definitionOptions }

const nameForm = text("a name such as 'payments.retry'", /^[\w.:-]{1,100}$/)

const unchanged: Restore = (value) => value

export type DefinedOperation = ReturnType<typeof operation>

function operation(
  name: string,
  received: OperationDefinition,
  handler: OperationHandler,
  log: Log,
  maxLength: number,
) {
  const label = `operations.define('${name}')`
  const options = resolveOptions(label, received, declared)
  const { cancellable, maxRuns, timeout } = options
  const { input = null, result = null, retryAfter = null, onePer = null } = options
  const { max = 0, delay = 1_000 } = options.retry
  if (typeof handler !== 'function') invalid(`${label} handler`, 'a function', handler)
  let validate: Validate | null = null
  let restoreInput = unchanged
  let restoreResult = unchanged

  function endOf(outcome: unknown): OperationEnd {
    if (!isObject(outcome ?? {}))
      throw invalidResult(`${label} has to return { resource, result } or nothing`)
    const { resource = null, result } = (outcome ?? {}) as Record<string, unknown>
    const reference = resource === null ? null : referenceOf(resource)
    if (resource !== null && reference === null) {
      throw invalidResult(`${label}: resource is neither a path such as '/v1/payments/7' nor an http URL`)
    }
    const json = result === undefined ? null : resultText(label, result)
    if (json !== null && json.length > maxLength) {
      throw invalidResult(`${label}: the result is longer than ${maxLength} characters`)
    }
    return { status: 'Succeeded', resource: reference, result: json }
  }

  return {
    cancellable,
    retryAfter,
    onePer,
    result,
    retry: { max, delay: Math.ceil(Number(delay) / 1_000) * 1_000 },
    /** Maximum number of runs that may die. */
    maxRuns,
    /** Maximum time of a run, in milliseconds. */
    timeout: Number(timeout),

    /** Whether the work may run again after an error. */
    isRetried(error: unknown): boolean {
      const { code, statusCode } = problemOfWork(error)
      return statusCode >= 500 && code !== 'operation-result-invalid'
    },

    async run({ record, input: json, signal, progress }: WorkContext): Promise<OperationEnd> {
      const { id: operationId, name: operation, run, requestId: reqId } = record
      const input = json === null ? undefined : restoreInput(parseExact(json), false)
      const ids = { operationId, operation, ...(reqId !== null && { reqId }) }
      return endOf(await handler({ input, signal, progress, operationId, run, log: log.child(ids) }))
    },

    inputJson(given: unknown): string | null {
      let json = given === undefined ? undefined : inputText(given)
      if (validate !== null) {
        const isExact = isProviderSchema(input)
        json = inputText(validInput(validate, json ?? null, isExact ? restoreInput : null))
      } else if (input !== null) {
        throw new Error(`the operation '${name}' cannot be started before the app is ready: it has a schema`)
      }
      if (given !== undefined && json === undefined)
        throw new TypeError(`the input of '${name}' is not a JSON value`)
      if (json !== undefined && json.length > maxLength) {
        const detail = `The input of the operation is longer than ${maxLength} characters`
        throw new ProblemError('content-too-large', { detail })
      }
      return json ?? null
    },

    onePerOf(json: string | null): string | null {
      if (onePer === null) return null
      const input = json === null ? null : parseExact(json)
      const id = isObject(input) ? input[onePer] : undefined
      if (typeof id !== 'string' && typeof id !== 'number' && typeof id !== 'bigint') {
        throw new TypeError(`the input of '${name}' needs the member ${onePer}, a string or an integer`)
      }
      return digest(name, String(id))
    },

    /** Reads a stored result. With `twins`, declared 64-bit integers have them. */
    readResult: (json: string, twins: boolean): unknown => restoreResult(parseExact(json), twins),

    compile({ shared, validator, jsonSchema }: Compilers): void {
      const restore = (given: object | null, direction: SchemaDirection): Restore => {
        const json = given === null ? null : jsonSchema(given, direction)
        return json === null || isProviderSchema(json) ? unchanged : restorer(json, shared)
      }
      validate = input === null ? null : validator(input)
      restoreInput = restore(input, 'input')
      restoreResult = restore(result, 'output')
    },
  }
}

export function operationDefinitions(maxLength: number) {
  const defined = new Map<string, DefinedOperation>()
  let isCompiled = false
  return {
    get size(): number {
      return defined.size
    },

    get: (name: string) => defined.get(name),

    /** @throws FST_CONV_OPERATION_UNKNOWN */
    named(name: string): DefinedOperation {
      const found = defined.get(name)
      if (found !== undefined) return found
      throw new bootErrors.FST_CONV_OPERATION_UNKNOWN(name, [...defined.keys()].join(', ') || 'none')
    },

    /** @throws FST_CONV_OPTION_INVALID, FST_CONV_OPTION_UNKNOWN, FST_CONV_OPERATION_DEFINED */
    define(name: string, options: OperationDefinition, handler: OperationHandler, log: Log): void {
      nameForm('operations.define() name', name)
      const one = operation(name, options, handler, log, maxLength)
      if (isCompiled) {
        invalid(`operations.define('${name}')`, 'a definition before the app is ready', 'a later one')
      }
      if (defined.has(name)) throw new bootErrors.FST_CONV_OPERATION_DEFINED(name)
      defined.set(name, one)
    },

    compile(compilers: Compilers): void {
      isCompiled = true
      for (const one of defined.values()) one.compile(compilers)
    },

    /** Reads a stored result, also of an operation of another release. */
    readResult: (name: string, json: string, twins: boolean): unknown =>
      defined.get(name)?.readResult(json, twins) ?? parseExact(json),
  }
}

export function digest(...texts: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex')
}

/** The work is done, so it must not run again because of its result. */
function invalidResult(message: string): ProblemError {
  const detail = 'The work was done, but its result cannot be sent. The cause is in the log.'
  return new ProblemError('operation-result-invalid', { detail, cause: new TypeError(message) })
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
