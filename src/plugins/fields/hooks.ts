import type { FastifyReply, FastifyRequest } from 'fastify'
import { LruMap } from 'toad-cache'
import { discard, isRead, isResponse, isWrittenByUs, sentFields } from '../../convention/exchange.js'
import {
  isListed,
  type OwnParameters,
  type RequestSelection,
  requestSelection,
  selectionOf,
  selections,
} from '../../convention/selection.js'
import type { RouteSerialization } from '../../convention/serialization.js'
import type { Effect, Steps } from '../../convention/steps.js'
import { privateOnly } from '../../http/header-fields.js'
import { type Fields, fieldsOf, isHidden, joinPath, readFields, splitPath } from '../../json/selection.js'
import { invalid } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import {
  canonicalPath,
  fieldNames,
  isField,
  isList,
  namesBelow,
  shapeWithin,
} from '../../schema/field-names.js'
import { anything, type Shape, twinName } from '../../schema/shape.js'
import { clip } from '../../text.js'
import { type FieldsRouteOptions, type IsHidden, refuseNames } from './options.js'

export const fieldBounds = { maxNames: 64, maxLength: 1024, maxDepth: 4 }
const cachedSelections = 100
const maxNamed = 20
const maxNameLength = 100

export interface RouteFacts {
  readonly label: string
  readonly reads: boolean
  /** Whether it is declared as a list (`config.lists`): then its items may be selected from without a schema. */
  readonly isList: boolean
  /** Names that the member with the items of a list may have, the likeliest first. */
  readonly lists: readonly string[]
}

/** An item that fields are selected from, and the members that lead to it. */
interface Item {
  readonly shape: Shape
  readonly within: readonly string[]
}

export function itemOf(top: Shape, lists: readonly string[]): Item {
  const list = lists.find((name) => isList(shapeWithin(top, [name])))
  const within = list === undefined ? [] : [list]
  return { shape: shapeWithin(top, within) as Shape, within }
}

/** The item of a list whose schema does not name its fields. */
function openItem(items: readonly Item[], { isList, lists }: RouteFacts): Item | undefined {
  if (!isList) return undefined
  if (items.length === 0) return { shape: anything, within: lists.slice(0, 1) }
  return items.find(({ shape }) => isField(shape, ['any name']))
}

export type HiddenField = readonly [path: string, hides: true | IsHidden]

const everything: readonly string[] = ['*']
const fieldsExpected = 'fields of the response schema'
const successes = Array.from({ length: 100 }, (_, index) => 200 + index)

export type RouteFields = ReturnType<typeof routeFields>

/** Returns what reads the schemas of a route, once all shared schemas are known, and decides what each request gets. */
export function routeFields(
  facts: RouteFacts,
  options: FieldsRouteOptions,
  serialization: RouteSerialization,
) {
  const { label, reads, lists } = facts
  const { default: defaults = null } = options
  let hidden: readonly HiddenField[] = []
  let within: readonly string[] = []
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
    within = item.within
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

  /** @param values those of the parameter; `null` if the request has none */
  function select(request: FastifyRequest, values: readonly string[] | null) {
    prepare()
    const hiddenFrom =
      hiddenFromAll ?? hidden.flatMap(([path, hides]) => (hides === true || hides(request) ? [path] : []))
    // Only reads select: a write answers with all that is not hidden.
    return selectOf?.(isRead(request.method) ? values : everything, hiddenFrom) ?? null
  }

  /** The hidden fields of the responses with a status, by their paths from the top, and their twins. */
  function hiddenIn(status: number): readonly HiddenField[] {
    if (hidden.length === 0) return []
    return serialization.shapesOf([status]).flatMap((top) => {
      const above = isListed(top, within) ? within : []
      const shape = shapeWithin(top, above) ?? anything
      const isName = (name: string, path: string) => joinPath(canonicalPath(shape, splitPath(name))) === path
      return hidden.flatMap(([path, hides]) =>
        [path, twinName(path)]
          .filter((name) => isName(name, path))
          .map((name): HiddenField => [joinPath([...above, name]), hides]),
      )
    })
  }

  return { prepare, select, hiddenIn }
}

/** Returns what a request selects; `null` where it gets all. */
export type Select = (
  values: readonly string[] | null,
  hidden: readonly string[],
) => RequestSelection | null | ProblemError

export function selecting(
  { shape, within }: Item,
  defaults: readonly string[] | null,
  bounds = fieldBounds,
): Select {
  // Clients choose the keys: bounded, and compiling is cheap where it misses.
  const cache = new LruMap<RequestSelection | null>(cachedSelections)
  const byDefault = defaults === null ? null : canonicalTree(defaults)
  const unasked = byDefault === null ? null : requestSelection(shape, byDefault, within)

  function canonicalTree(paths: readonly string[]): Fields {
    return fieldsOf(paths.map((path) => joinPath(canonicalPath(shape, splitPath(path)))))
  }

  function isKnown(names: readonly string[], without: Fields | null): boolean {
    return isField(shape, names) && !isHidden(without, canonicalPath(shape, names))
  }

  function requested(values: readonly string[], without: Fields | null): Fields | null | ProblemError {
    const read = readFields(values, bounds)
    if ('message' in read) return refusal(`fields ${read.message}`, [read.message], [], without)
    const named = read.filter((path) => path !== '*')
    // Hidden looks the same as unknown: in the order of the request, by the name that it used.
    const unknown = named.filter((path) => !isKnown(splitPath(path), without)).slice(0, maxNamed)
    if (unknown[0] === undefined) return named.length < read.length ? null : canonicalTree(named)
    const shown = unknown.map((name) => clip(name, maxNameLength))
    const messages = shown.map((name) => `'${name}' is not among the fields`)
    const above = splitPath(unknown[0]).slice(0, -1)
    return refusal(`Not among the fields: ${shown.join(', ')}`, messages, above, without)
  }

  /** The detail has the allowed names beside a name that is refused. */
  function refusal(
    fault: string,
    messages: readonly string[],
    path: readonly string[],
    without: Fields | null,
  ): ProblemError {
    const names = namesBelow(shape, path).filter((name) => isKnown([...path, name], without))
    const isHolder = path.length === 0 || (names.length > 0 && isKnown(path, without))
    if (!isHolder) return refusal(fault, messages, path.slice(0, -1), without)
    const holder = path.length === 0 ? '' : ` of ${joinPath(path)}`
    return new ProblemError('fields-invalid', {
      detail: names.length === 0 ? fault : `${fault}. The fields${holder} are ${names.join(', ')}`,
      errors: messages.map((message) => ({ in: 'query', name: 'fields', message })),
    })
  }

  return function select(values, hidden) {
    if (values === null && hidden.length === 0) return unasked
    const key = `${hidden.length === 0 ? '' : JSON.stringify(hidden)}${values === null ? '' : `=${values.join()}`}`
    const known = cache.get(key)
    if (known !== undefined) return known
    const without = hidden.length === 0 ? null : fieldsOf(hidden)
    const only = values === null ? byDefault : requested(values, without)
    if (only instanceof ProblemError) return only
    const selection =
      only === null && without === null ? null : requestSelection(shape, only, within, without)
    if (key.length <= bounds.maxLength) cache.set(key, selection)
    return selection
  }
}

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
      const values = valuesOf(read(request, 'fields'))
      const selection = fields.select(request, values)
      if (selection instanceof ProblemError)
        return { rule: 'projection', given: 'fields that cannot be selected', refusal: selection }
      if (selection === null) {
        selections.set(request, null)
        return undefined
      }
      const given = 'the response would have fewer fields'
      return { rule: 'projection', given, change: () => selections.set(request, selection) }
    },
  }
  if (hidden === undefined) return select
  const dependsOnCaller = Object.values(hidden).some((hides) => hides !== true)
  const unaskedOf = (request: FastifyRequest): RequestSelection | null => {
    const selection = fields.select(request, null)
    return selection instanceof ProblemError ? null : selection
  }
  // A hook of the app that answers before the fields are selected must not show them either.
  serialization.unselected = unaskedOf
  return {
    ...select,
    onSend(request, reply, payload) {
      if (isUnnarrowed(reply, payload)) {
        const selected = selectionOf(request)
        const selection = selected === undefined ? unaskedOf(request) : selected
        if (selection?.hides === true) {
          discard(payload)
          throw new TypeError(
            'hidden fields cannot be removed from this response, because it is not an object',
          )
        }
      }
      return dependsOnCaller ? keepPrivate(reply, payload) : undefined
    },
  }
}

// A shared cache would give one caller the fields that are hidden from them, or keep them from another.
function keepPrivate(reply: FastifyReply, payload: unknown): Effect {
  const { get, set } = sentFields(reply, payload)
  return { rule: 'hidden', given: '', ...set({ 'cache-control': privateOnly(get('cache-control')) }) }
}

function valuesOf(received: unknown): readonly string[] | null {
  if (received === undefined) return null
  return [received].flat().map(String)
}

function isUnnarrowed(reply: FastifyReply, payload: unknown): boolean {
  const status = isResponse(payload) ? payload.status : reply.statusCode
  return status < 300 && !empty.has(payload) && !isWrittenByUs(reply)
}

// The last two are what Fastify writes of a handler's null.
const empty: ReadonlySet<unknown> = new Set([null, undefined, '', 'null', '{}'])
