import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  discard,
  hasSerializerOfItsOwn,
  headerOf,
  isResponse,
  isWrittenByUs,
  withHeaders,
} from '../../convention/reply.js'
import type { OwnParameters } from '../../convention/route-schemas.js'
import { type RequestSelection, selectionOf, selections } from '../../convention/selection.js'
import type { RouteSerialization } from '../../convention/serialization.js'
import type { Effect, Steps } from '../../convention/steps.js'
import { privateOnly } from '../../http/header-fields.js'
import { joinPath, splitPath } from '../../json/selection.js'
import { invalid } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { canonicalPath, fieldNames, isField } from '../../schema/field-names.js'
import {
  type FieldsRouteOptions,
  type IsHidden,
  itemOf,
  narrowsUnasked,
  openItem,
  type RouteFacts,
  refuseNames,
  type Select,
  selecting,
} from './selection.js'

const everything: readonly string[] = ['*']
const fieldsExpected = 'fields of the response schema'
const successes = Array.from({ length: 100 }, (_, index) => 200 + index)

/** The fields of one route's answers: decides what each request gets. */
export interface RouteFields {
  /** Reads the response schemas, once all shared schemas are known. */
  prepare(): void
  /** What a request selects; `null` for all. */
  select(request: FastifyRequest, values: readonly string[] | null): RequestSelection | null | ProblemError
}

export function routeFields(
  facts: RouteFacts,
  options: FieldsRouteOptions,
  serialization: RouteSerialization,
): RouteFields {
  const { label, reads, lists } = facts
  const { default: defaults = null } = options
  let hidden: readonly (readonly [path: string, hides: true | IsHidden])[] = []
  // Without a predicate, the hidden fields are the same for all requests.
  let hiddenFromAll: readonly string[] | null = null
  let selectOf: Select | null = null
  let isPrepared = false

  function prepare(): void {
    if (isPrepared) return
    isPrepared = true
    serialization.prepare()
    // A read selects from its 200; a write may answer its fields with any status of success.
    const all = serialization.shapesOf(reads ? [200] : successes).map((top) => itemOf(top, lists))
    const items = all.filter(({ shape }) => fieldNames(shape).length > 0)
    const item = items[0] ?? openItem(all, facts)
    if (item === undefined) {
      refuseNames(label, options, 'none, for no response schema of success names the fields')
      return
    }
    selectOf = selecting(item, defaults)
    const unknown = defaults?.find((path) => !isField(item.shape, splitPath(path)))
    if (unknown !== undefined) invalid(`${label}.default`, fieldsExpected, unknown)
    hidden = Object.entries(options.hidden ?? {}).map(([path, hides]) => {
      const names = splitPath(path)
      const holder = items.find(({ shape }) => isField(shape, names))
      if (holder === undefined) return invalid(`${label}.hidden`, fieldsExpected, path)
      return [joinPath(canonicalPath(holder.shape, names)), hides]
    })
    if (hidden.every(([, hides]) => hides === true)) hiddenFromAll = hidden.map(([path]) => path)
  }

  return {
    prepare,
    select(request, values) {
      prepare()
      const hiddenFrom =
        hiddenFromAll ?? hidden.flatMap(([path, hides]) => (hides === true || hides(request) ? [path] : []))
      // Only reads select: a write answers with all that is not hidden.
      return selectOf?.(isRead(request.method) ? values : everything, hiddenFrom) ?? null
    },
  }
}

/** What a request gets that names no fields; `null` for all. */
function unaskedOf(fields: RouteFields, request: FastifyRequest): RequestSelection | null {
  const selection = fields.select(request, null)
  return selection instanceof ProblemError ? null : selection
}

/** Returns the steps that select the fields of a response. */
export function selectSteps(
  fields: RouteFields,
  { hidden }: FieldsRouteOptions,
  serialization: RouteSerialization,
  { read, take }: OwnParameters,
): Steps {
  const select: Steps = {
    preValidation: take === null ? undefined : (request) => void take(request),
    // By now the app's hooks have found out who the caller is, and the handler has not run.
    preHandler(request) {
      const selection = fields.select(request, valuesOf(read(request, 'fields')))
      if (selection instanceof ProblemError) return { rule: 'projection', given: '', refusal: selection }
      selections.set(request, selection)
      return undefined
    },
  }
  if (hidden === undefined) return select
  const dependsOnCaller = Object.values(hidden).some((hides) => hides !== true)
  // A hook of the app that answers before the fields are selected must not show them either.
  serialization.unselected = (request) => unaskedOf(fields, request)
  return {
    ...select,
    onSend(request, reply, payload) {
      if (isUnnarrowed(reply, payload) && hidesFrom(fields, request)) {
        discard(payload)
        throw new TypeError('hidden fields cannot be removed from this response, because it is not an object')
      }
      return dependsOnCaller ? keepPrivate(reply, payload) : undefined
    },
  }
}

function hidesFrom(fields: RouteFields, request: FastifyRequest): boolean {
  const selected = selectionOf(request)
  return (selected === undefined ? unaskedOf(fields, request) : selected)?.hides === true
}

// A shared cache would give one caller the fields that are hidden from them, or keep them from another.
function keepPrivate(reply: FastifyReply, payload: unknown): Effect {
  const response = isResponse(payload) ? payload : null
  const current = response?.headers.get('cache-control') ?? headerOf(reply, 'cache-control')
  const headers = { 'cache-control': privateOnly(current) }
  return { rule: 'hidden', given: '', headers, ...(response && { payload: withHeaders(response, headers) }) }
}

/** Returns the steps that say what {@link selectSteps} would do. The answers are not compared. */
export function countSteps(fields: RouteFields, options: FieldsRouteOptions): Steps {
  // Selections that no request asked for, until the payload shows whether they can be applied.
  const pending = new WeakMap<FastifyRequest, RequestSelection>()
  const effect = (given: string, refusal?: ProblemError): Effect => ({ rule: 'projection', given, refusal })
  const failure = (given: string): Effect => effect(given, new ProblemError('internal-server-error'))

  return {
    preHandler(request) {
      const { fields: received } = (request.query ?? {}) as { readonly fields?: unknown }
      const values = isRead(request.method) ? valuesOf(received) : null
      if (values === null && !narrowsUnasked(options)) return undefined
      try {
        const selection = fields.select(request, values)
        if (selection instanceof ProblemError)
          return effect('the request would be refused: fields that cannot be selected', selection)
        if (selection === null) return undefined
        if (values !== null) return effect('the answer would be projected')
        pending.set(request, selection)
        return undefined
      } catch {
        return failure('the request would fail: a predicate of a hidden field throws')
      }
    },
    preSerialization(request, reply, payload) {
      const selection = pending.get(request)
      if (selection === undefined || payload === null || hasSerializerOfItsOwn(reply)) return undefined
      pending.delete(request)
      const { statusCode: status } = reply
      return status < 300 && (status !== 202 || selection.hides)
        ? effect('the answer would be narrowed to the default set, or without hidden fields')
        : undefined
    },
    onSend(request, reply, payload) {
      if (pending.get(request)?.hides !== true || !isUnnarrowed(reply, payload)) return undefined
      return failure(
        'the response would not be sent: hidden fields cannot be removed, because it is not an object',
      )
    },
  }
}

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
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
