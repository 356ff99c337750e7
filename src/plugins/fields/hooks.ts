import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { ReadParameter } from '../../fastify/bypass-query-validation.js'
import { headerOf } from '../../fastify/header-of.js'
import { hookError } from '../../fastify/hook-error.js'
import { discard, isResponse, withHeaders } from '../../fastify/payloads.js'
import { hasSerializerOfItsOwn, isWrittenByUs } from '../../fastify/reply-serializer.js'
import { addHook } from '../../fastify/route.js'
import { type RequestSelection, selectionOf, selections } from '../../fastify/selection.js'
import type { RouteSerialization } from '../../fastify/serialization.js'
import { privateOnly } from '../../http/cache-control.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { Observed } from '../../rules/findings.js'
import type { Reporter } from '../../rules/report.js'
import { type IsHidden, narrowsUnasked, type ResolvedFields } from './options.js'
import { type RouteFacts, type SelectionReader, selectionReader } from './selection.js'

type Next = (error: Error | null, payload?: unknown) => void

const none: ReadonlySet<string> = new Set()
const everything: readonly string[] = ['*']
const successes = Array.from({ length: 100 }, (_, index) => 200 + index)

/** The fields of one route's answers: decides what each request gets. */
export class RouteFields {
  readonly #facts: RouteFacts
  readonly #options: ResolvedFields
  readonly #serialization: RouteSerialization
  #hidden: readonly (readonly [path: string, hides: true | IsHidden])[]
  // Where no predicate is asked, it is the same for all requests.
  #hiddenFromAll: ReadonlySet<string> | null = none
  #reader: SelectionReader | null = null
  #isPrepared = false

  constructor(facts: RouteFacts, options: ResolvedFields, serialization: RouteSerialization) {
    this.#facts = facts
    this.#options = options
    this.#serialization = serialization
    this.#hidden = Object.entries(options.hidden ?? {})
  }

  /** Reads the response schemas, once all shared schemas are known. */
  prepare(): void {
    if (this.#isPrepared) return
    this.#isPrepared = true
    this.#serialization.prepare()
    // A read is about its 200; a write may answer its fields with any status of success.
    const answers = this.#serialization.shapesOf(this.#facts.reads ? [200] : successes)
    const found = selectionReader(this.#facts, this.#options, answers)
    if (found === null) return
    this.#hidden = this.#hidden.map(([path, hides]) => [found.hidden.get(path) ?? path, hides])
    const isSame = this.#hidden.every(([, hides]) => hides === true)
    this.#hiddenFromAll = isSame ? new Set(this.#hidden.map(([path]) => path)) : null
    this.#reader = found.reader
  }

  /** What a request selects; `null` for all. */
  select(request: FastifyRequest, values: readonly string[] | null): RequestSelection | null | ProblemError {
    this.prepare()
    if (this.#reader === null) return null
    // Only reads select: a write answers with all that is not hidden.
    const asked = isRead(request.method) ? values : everything
    const selection = this.#reader.select(asked, this.#hiddenFrom(request))
    if (selection === null || !('detail' in selection)) return selection
    const errors = selection.messages.map((message) => ({ in: 'query' as const, name: 'fields', message }))
    return new ProblemError('fields-invalid', { detail: selection.detail, errors })
  }

  /** What a request gets that names no fields; `null` for all. */
  unasked(request: FastifyRequest): RequestSelection | null {
    const selection = this.select(request, null)
    return selection instanceof ProblemError ? null : selection
  }

  /** What would change in an answer, in the words of the report; `null` for nothing. */
  changeOf(selection: RequestSelection, reply: FastifyReply, payload: unknown): string | null {
    if (reply.statusCode >= 300) return null
    const selected = this.#selected(selection, reply)
    if (selected === 'none') return 'the answer would not be sent: no schema names its fields'
    if (selected === null) return null
    try {
      if (selected.write(payload, ignoreLoss, selected.of) === selected.write(payload, ignoreLoss))
        return null
    } catch {
      // A payload that does not match its schema is reported by Fastify, which sends it.
      return null
    }
    return selection.hides
      ? 'fields that are hidden would be left out'
      : 'the answer would be narrowed to the default set'
  }

  #selected(selection: RequestSelection, reply: FastifyReply) {
    try {
      return this.#serialization.selected(selection, reply)
    } catch {
      return 'none'
    }
  }

  #hiddenFrom(request: FastifyRequest): ReadonlySet<string> {
    if (this.#hiddenFromAll !== null) return this.#hiddenFromAll
    return new Set(this.#hidden.filter(([, hides]) => hides === true || hides(request)).map(([path]) => path))
  }
}

const ignoreLoss = (): void => {}

export function addSelectHooks(
  route: RouteOptions,
  fields: RouteFields,
  { hidden }: ResolvedFields,
  serialization: RouteSerialization,
  read: ReadParameter,
): void {
  // In `preHandler` the app's hooks have found out who the caller is, and the handler has not run.
  addHook(route, 'preHandler', 'fields', function selectFields(request, reply, next) {
    let selection: RequestSelection | null | ProblemError
    try {
      selection = fields.select(request, valuesOf(read(request)))
    } catch (error) {
      next(hookError(error))
      return
    }
    if (selection instanceof ProblemError) refuse(request, reply, selection, next)
    else {
      selections.set(request, selection)
      next()
    }
  })
  if (hidden === undefined) return
  const dependsOnCaller = Object.values(hidden).some((hides) => hides !== true)
  // A hook of the app that answers before the fields are selected must not show them either.
  serialization.unselected = (request) => fields.unasked(request)
  addHook(route, 'onSend', 'fields', function refuseUnnarrowed(request, reply, payload: unknown, next: Next) {
    try {
      if (isUnnarrowed(reply, payload) && hidesFrom(fields, request)) {
        discard(payload)
        throw new TypeError('hidden fields cannot be removed from this response, because it is not an object')
      }
    } catch (error) {
      next(hookError(error))
      return
    }
    next(null, dependsOnCaller ? keepPrivate(reply, payload) : payload)
  })
}

// A shared cache would give one caller the fields that are hidden from them, or keep them from another.
function keepPrivate(reply: FastifyReply, payload: unknown): unknown {
  const response = isResponse(payload) ? payload : null
  const current = response?.headers.get('cache-control') ?? headerOf(reply, 'cache-control')
  const headers = { 'cache-control': privateOnly(current) }
  reply.headers(headers)
  return response === null ? payload : withHeaders(response, headers)
}

export function addCountHooks(
  route: RouteOptions,
  fields: RouteFields,
  options: ResolvedFields,
  reporter: Reporter,
): void {
  const pending = new WeakMap<FastifyRequest, RequestSelection>()
  const observe = (request: FastifyRequest, change: string, does: Observed = 'changed'): void =>
    reporter.observe('fields', 'projection', request, change, does)

  addHook(route, 'preHandler', 'fields', function countRequest(request, _reply, next) {
    const { fields: received } = (request.query ?? {}) as { readonly fields?: unknown }
    if (received !== undefined && isRead(request.method)) {
      try {
        const selection = fields.select(request, valuesOf(received))
        if (selection instanceof ProblemError)
          observe(
            request,
            'the request would be refused: fields that cannot be selected',
            selection.statusCode,
          )
        else if (selection !== null) observe(request, 'the answer would be projected')
      } catch {
        observe(request, 'the request would fail: a predicate of a hidden field throws', 500)
      }
    } else if (narrowsUnasked(options)) {
      try {
        const selection = fields.unasked(request)
        if (selection !== null) pending.set(request, selection)
      } catch {
        observe(request, 'the request would fail: a predicate of a hidden field throws', 500)
      }
    }
    next()
  })
  if (narrowsUnasked(options)) {
    addHook(
      route,
      'preSerialization',
      'fields',
      function countAnswer(request, reply, payload: unknown, next: Next) {
        const selection = pending.get(request)
        if (selection !== undefined && payload !== null && !hasSerializerOfItsOwn(reply)) {
          pending.delete(request)
          const change = fields.changeOf(selection, reply, payload)
          if (change !== null) observe(request, change)
        }
        next(null, payload)
      },
    )
  }
  if (options.hidden === undefined) return
  addHook(route, 'onSend', 'fields', function countUnnarrowed(request, reply, payload: unknown, next: Next) {
    if (pending.get(request)?.hides === true && isUnnarrowed(reply, payload))
      observe(
        request,
        'the response would not be sent: hidden fields cannot be removed, because it is not an object',
        500,
      )
    next(null, payload)
  })
}

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

function hidesFrom(fields: RouteFields, request: FastifyRequest): boolean {
  const selected = selectionOf(request)
  return (selected === undefined ? fields.unasked(request) : selected)?.hides === true
}

function valuesOf(received: unknown): readonly string[] | null {
  if (received === undefined) return null
  return typeof received === 'string' ? [received] : [received].flat().map(String)
}

function isUnnarrowed(reply: FastifyReply, payload: unknown): boolean {
  const status = isResponse(payload) ? payload.status : reply.statusCode
  return status < 300 && !empty.has(payload) && !isWrittenByUs(reply)
}

// The last two are what Fastify writes of a handler's null.
const empty: ReadonlySet<unknown> = new Set([null, undefined, '', 'null', '{}'])
