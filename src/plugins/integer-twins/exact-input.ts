import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { notUtf8 } from '../../fastify/request-content.js'
import { addHook } from '../../fastify/route.js'
import { isJson, mediaTypeOf } from '../../http/media-types.js'
import type { ParseJson } from '../../json/exact-body.js'
import { digitsOfBody } from '../../json/exact-digits.js'
import { mentionsWide } from '../../json-schema/mentions-wide.js'
import type { SchemaStore } from '../../json-schema/schema-refs.js'
import { IssueList, textOfIssues } from '../../problem/issue-list.js'
import { type ProblemCode, ProblemError, type ProblemIssue } from '../../problem/problem-error.js'
import { longestDetail } from '../../problem/problem-of.js'
import { refuse } from '../../problem/send-problem.js'
import { validationIssues } from '../../problem/validation-issues.js'
import { clip } from '../../text.js'
import type { ExactDigits } from './input/scalar-input.js'
import { applyWide } from './input/wide-apply.js'
import type { WideRefusal } from './input/wide-faults.js'
import type { Found } from './input/wide-found.js'
import { readWide } from './input/wide-input.js'
import { compileWidePlan, type WidePlan } from './input/wide-plan.js'

/** The parts of a request that may have 64-bit integers: their names in a schema, in a request, in a problem. */
const parts = [
  { of: 'params', name: 'params', place: 'path' },
  { of: 'body', name: 'body', place: 'body' },
  { of: 'querystring', name: 'query', place: 'query' },
] as const

type Part = (typeof parts)[number]['name']

interface PlannedPart {
  readonly name: Part
  readonly plan: WidePlan
}

/** What is remembered of a request from its first hook to the last. */
interface InputState {
  /** The body as it came, as far as it came; `null` where it is not collected. */
  text: string | null
  /** Whether bytes came that are not UTF-8. */
  isMalformed: boolean
  readonly found: Partial<Record<Part, Found | undefined>>
}

type Next = (error?: Error) => void

/**
 * How the declared 64-bit integers of a route's input reach its handler: parser and validator of the app see Numbers,
 * as ever, and what passes them becomes exact BigInts.
 */
export class ExactInput {
  readonly #app: FastifyInstance
  readonly #schema: RouteOptions['schema']
  readonly #parse: ParseJson
  // Weak: a request that a hook of the app ends early is forgotten with it.
  readonly #states = new WeakMap<FastifyRequest, InputState>()
  #parts: readonly PlannedPart[] = []
  #collects = false

  /** @param parse the JSON parser of the app, with its own view of prototype poisoning */
  constructor(app: FastifyInstance, schema: RouteOptions['schema'], parse: ParseJson) {
    this.#app = app
    this.#schema = schema
    this.#parse = parse
  }

  /** Finds what is declared, once all shared schemas are known. */
  prepare(): void {
    const shared = this.#app.getSchemas() as SchemaStore
    this.#parts = parts.flatMap(({ of, name, place }) => {
      const schema = this.#schema?.[of]
      const plan = schema === undefined ? null : compileWidePlan(schema, { place, shared })
      return plan === null ? [] : [{ name, plan }]
    })
    this.#collects = this.#parts.some(({ name }) => name === 'body')
  }

  /** The `preParsing` hook: keeps the text of a JSON body, of which a parser keeps rounded Numbers. */
  readonly collect = (
    request: FastifyRequest,
    _reply: FastifyReply,
    payload: Readable,
    next: (error: null, payload: Readable) => void,
  ): void => {
    if (this.#collects && isJson(mediaTypeOf(request.headers['content-type']))) {
      collectText(payload, request.routeOptions.bodyLimit, this.#stateOf(request))
    }
    next(null, payload)
  }

  /** The `preValidation` hook. */
  readonly read = (request: FastifyRequest, reply: FastifyReply, next: Next): void => {
    if (this.#parts.length === 0) next()
    else if (this.#states.get(request)?.isMalformed === true) refuse(request, reply, notUtf8(), next)
    else this.#finish(request, reply, () => this.#read(request), next)
  }

  /** The `preHandler` hook. */
  readonly apply = (request: FastifyRequest, reply: FastifyReply, next: Next): void => {
    if (this.#parts.length === 0) next()
    else this.#finish(request, reply, () => this.#apply(request), next)
  }

  #read(request: FastifyRequest): WideRefusal | null {
    const state = this.#stateOf(request)
    const { text } = state
    state.text = null
    const digits = text !== null && isParsed(request.body) ? this.#digitsOf(request, text) : {}
    const refusals: WideRefusal[] = []
    for (const { name, plan } of this.#parts) {
      const { value, found, refusal } = readWide(plan, request[name], name === 'body' ? digits : {})
      put(request, name, value)
      state.found[name] = found
      if (refusal !== null) refusals.push(refusal)
    }
    return refusals.length === 0 ? null : withSchemaFaults(request, refusals)
  }

  #digitsOf(request: FastifyRequest, text: string): ExactDigits {
    const { value, digits } = digitsOfBody(request.body, text, this.#parse)
    put(request, 'body', value)
    return digits
  }

  #apply(request: FastifyRequest): WideRefusal | null {
    const { found } = this.#stateOf(request)
    for (const { name, plan } of this.#parts) {
      const { value, refusal } = applyWide(plan, request[name], found[name])
      if (refusal !== null) return refusal
      put(request, name, value)
    }
    return null
  }

  #finish(request: FastifyRequest, reply: FastifyReply, step: () => WideRefusal | null, next: Next): void {
    let refusal: WideRefusal | null
    try {
      refusal = step()
    } catch (error) {
      next(error as Error)
      return
    }
    if (refusal === null) next()
    else refuse(request, reply, problemOf(refusal), next)
  }

  #stateOf(request: FastifyRequest): InputState {
    const known = this.#states.get(request)
    if (known !== undefined) return known
    const state: InputState = { text: null, isMalformed: false, found: {} }
    this.#states.set(request, state)
    return state
  }
}

/**
 * Adds the hooks of exact input to a route that may declare 64-bit integers; `null` for one that surely does not. Call
 * it from an `onRoute` hook, and `prepare` of what it returns when the app gets ready.
 */
export function addExactInput(
  app: FastifyInstance,
  route: RouteOptions,
  parse: ParseJson,
): ExactInput | null {
  const { schema } = route
  if (schema === undefined || !parts.some(({ of }) => mentionsWide(schema[of]))) return null
  const input = new ExactInput(app, schema, parse)
  if (mentionsWide(schema.body)) addHook(route, 'preParsing', 'integerTwins', input.collect)
  addHook(route, 'preValidation', 'integerTwins', input.read)
  addHook(route, 'preHandler', 'integerTwins', input.apply)
  return input
}

// Listening to a stream sets it going; so this waits until the parser listens, and hears what the parser hears.
function collectText(payload: Readable, limit: number, state: InputState): void {
  payload.on('newListener', function listenAlong(event) {
    if (event !== 'data') return
    payload.removeListener('newListener', listenAlong)
    const decoder = new TextDecoder('utf-8', { fatal: true })
    state.text = ''
    payload.on('data', (chunk: string | Uint8Array) => {
      append(state, limit, () =>
        typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }),
      )
    })
    // A character may have been cut off at the end.
    payload.on('end', () => append(state, limit, () => decoder.decode()))
  })
}

function append(state: InputState, limit: number, next: () => string): void {
  if (state.text === null) return
  try {
    const text = state.text + next()
    // The parser refuses what is over its limit: no need to keep it.
    state.text = text.length > limit ? null : text
  } catch {
    state.text = null
    state.isMalformed = true
  }
}

// A parser of the app's own may leave the body as bytes or text: then there is nothing to put right.
function isParsed(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !ArrayBuffer.isView(body)
}

function put(request: FastifyRequest, part: Part, value: unknown): void {
  ;(request as unknown as Record<Part, unknown>)[part] = value
}

/** What the schemas say against the input too, as the validator of the app will not be asked any more. */
function withSchemaFaults(request: FastifyRequest, refusals: readonly WideRefusal[]): WideRefusal {
  const list = new IssueList()
  const places = new Set<string>()
  for (const issue of refusals.flatMap(({ issues }) => issues)) {
    list.add(issue)
    places.add(placeOf(issue))
  }
  let kind: WideRefusal['kind'] = refusals.every((one) => one.kind === 'mismatch') ? 'mismatch' : 'invalid'
  for (const { of, name } of parts) {
    for (const issue of validationIssues(schemaFaults(request, of, name), of)) {
      // A twin has been taken for what it is the twin of; what holds a fault is at fault because of it.
      const place = placeOf(issue)
      if ([...places].some((one) => one === `${place}_str` || `${one}/`.startsWith(`${place}/`))) continue
      kind = 'invalid'
      list.add(issue)
    }
  }
  return { kind, issues: list.issues }
}

function placeOf(issue: ProblemIssue): string {
  return issue.in === 'body' ? `body${issue.pointer}` : `${issue.in}/${issue.name}`
}

/** The faults that the app's validator finds in a part; none where it cannot be asked at once. */
function schemaFaults(
  request: FastifyRequest,
  of: (typeof parts)[number]['of'],
  name: Part,
): readonly unknown[] {
  const validate: unknown = request.getValidationFunction(of)
  if (typeof validate !== 'function') return []
  try {
    const outcome: unknown = validate(request[name] ?? null)
    if (outcome instanceof Promise) outcome.catch(() => {})
    const { errors } = validate as { readonly errors?: unknown }
    return outcome === false && Array.isArray(errors) ? errors : []
  } catch {
    return []
  }
}

function problemOf({ kind, issues }: WideRefusal): ProblemError {
  const code: ProblemCode = kind === 'mismatch' ? 'integer-twin-mismatch' : 'validation'
  return new ProblemError(code, { detail: clip(textOfIssues(issues), longestDetail), errors: issues })
}
