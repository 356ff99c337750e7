import type { FastifyReply, FastifyRequest } from 'fastify'
import { discard, isResponse } from '../../fastify/payloads.js'
import { isWrittenByUs } from '../../fastify/reply-serializer.js'
import type { Selection } from '../../fastify/selection.js'
import { type RouteSerialization, selectionOf, selections } from '../../fastify/serialization.js'
import { type FieldBounds, joinPath, splitPath } from '../../json/field-tree.js'
import { canonicalPath, fieldNames, isField, isList, shapeWithin } from '../../json-schema/field-names.js'
import { anything, type Shape } from '../../json-schema/shape.js'
import { invalid } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { refuse } from '../../problem/send-problem.js'
import type { ReadParameter } from './bypass-query-validation.js'
import { FieldSelector } from './field-selector.js'

/** Says of a request whether a field is hidden from it. */
export type IsHidden = (request: FastifyRequest) => boolean

/** What a route says of its fields. */
export interface RouteFieldsOptions extends FieldBounds {
  /** Dot paths of what is answered where the request names no fields; all where it is left out. */
  readonly default?: readonly string[]
  readonly hidden?: Readonly<Record<string, true | IsHidden>>
  /** The member with the items of a list, which has to be there; `null` for none, found where it is left out. */
  readonly list?: string | null
}

/** What is selected from, and the members that lead to it. */
interface Item {
  readonly shape: Shape
  readonly within: readonly string[]
}

/** What has to be known of a route. */
export interface AboutRoute {
  /** Names the route's options in errors. */
  readonly label: string
  /** Whether it reads, rather than only writes. */
  readonly reads: boolean
  /** Whether it is declared as a list (`config.lists`): then its items may be selected from without a schema. */
  readonly isList: boolean
  /** Names that the member with the items of a list may have, the likeliest first. */
  readonly lists: readonly string[]
}

const nothing: ReadonlySet<string> = new Set()
const everything: readonly string[] = ['*']
const statusesOfSuccess = Array.from({ length: 100 }, (_, index) => 200 + index)

/** The fields of one route's answers: reads the selection of each request. */
export class RouteFields {
  readonly #about: AboutRoute
  readonly #options: RouteFieldsOptions
  readonly #serialization: RouteSerialization
  readonly #read: ReadParameter
  #hidden: readonly (readonly [string, true | IsHidden])[]
  // Where no predicate is asked, it is the same for all requests.
  #hiddenFromAll: ReadonlySet<string> | null = nothing
  #selector: FieldSelector | null = null
  #prepared = false

  /** @param read reads the `fields` parameter */
  constructor(
    about: AboutRoute,
    options: RouteFieldsOptions,
    serialization: RouteSerialization,
    read: ReadParameter,
  ) {
    this.#about = about
    this.#options = options
    this.#serialization = serialization
    this.#read = read
    this.#hidden = Object.entries(options.hidden ?? {})
    // A hook of the app that answers before `select` has run is held to it as well.
    if (this.#hidden.length > 0) serialization.unselected = (request) => this.unasked(request)
  }

  /**
   * Reads the response schema at boot where the route's options name fields of it; otherwise when first asked.
   *
   * @throws FST_CONV_OPTION_INVALID for fields that the schema does not have
   */
  check(): void {
    const { default: defaults, hidden, list } = this.#options
    if (defaults !== undefined || hidden !== undefined || typeof list === 'string') this.#prepare()
  }

  /** The `preHandler` hook. Here a hook of the app has found out who the caller is, and the handler has not run. */
  readonly select = (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void): void => {
    let refusal: ProblemError | null
    try {
      refusal = this.#selectFor(request)
    } catch (error) {
      next(error as Error)
      return
    }
    if (refusal === null) next()
    else refuse(request, reply, refusal, next)
  }

  /**
   * The `onSend` hook of a route that hides fields. Strings, bytes and streams cannot be narrowed: one that the handler
   * gives a 2xx is not sent.
   */
  readonly refuseUnnarrowed = (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    next: (error: Error | null, payload?: unknown) => void,
  ): void => {
    try {
      if (isUnnarrowed(reply, payload) && this.#hidesFrom(request)) {
        discard(payload)
        throw new TypeError(
          'fields are hidden from this answer, which is no object: nothing can be left out of it',
        )
      }
    } catch (error) {
      next(error as Error)
      return
    }
    next(null, payload)
  }

  /** What a request gets that names no fields; `null` for all. */
  unasked(request: FastifyRequest): Selection | null {
    if (!this.#prepared) this.#prepare()
    const values = isRead(request.method) ? null : everything
    const selection = this.#selector?.select(values, this.#hiddenFrom(request)) ?? null
    return selection === null || 'detail' in selection ? null : selection
  }

  #selectFor(request: FastifyRequest): ProblemError | null {
    if (!this.#prepared) this.#prepare()
    if (this.#selector === null) return null
    const selection = this.#selector.select(this.#valuesFor(request), this.#hiddenFrom(request))
    if (selection !== null && 'detail' in selection) {
      const errors = selection.messages.map((message) => ({ in: 'query' as const, name: 'fields', message }))
      return new ProblemError('fields-invalid', { detail: selection.detail, errors })
    }
    selections.set(request, selection)
    return null
  }

  // Only reads select: a write answers with all that is not hidden.
  #valuesFor(request: FastifyRequest): readonly string[] | null {
    if (!isRead(request.method)) return everything
    const received = this.#read(request)
    return received === undefined ? null : valuesOf(received)
  }

  #hidesFrom(request: FastifyRequest): boolean {
    const selected = selectionOf(request)
    return (selected === undefined ? this.unasked(request) : selected)?.hides === true
  }

  #hiddenFrom(request: FastifyRequest): ReadonlySet<string> {
    if (this.#hiddenFromAll !== null) return this.#hiddenFromAll
    return new Set(this.#hidden.filter(([, hides]) => hides === true || hides(request)).map(([path]) => path))
  }

  #prepare(): void {
    this.#prepared = true
    this.#serialization.prepare()
    // Of a read, 200 is what it is about; a write may answer its fields with any status of success.
    const tops = this.#serialization.shapesOf(this.#about.reads ? [200] : statusesOfSuccess)
    const { list: named, default: defaults = null } = this.#options
    if (
      typeof named === 'string' &&
      tops.length > 0 &&
      !tops.some((top) => isList(shapeWithin(top, [named])))
    )
      invalid(`${this.#about.label}.list`, 'an array of the response schema', named)
    const all = tops.map((top) => this.#itemOf(top))
    const items = all.filter(({ shape }) => fieldNames(shape).length > 0)
    const item = items[0] ?? this.#openItemOf(all)
    if (item === undefined) {
      this.#cannotSelect()
      return
    }
    const selector = new FieldSelector(item.shape, item.within, this.#options, defaults)
    const [unknown] = selector.unknown(defaults ?? [])
    if (unknown !== undefined)
      invalid(`${this.#about.label}.default`, 'fields of the response schema', unknown)
    this.#hidden = this.#hidden.map(([path, hides]) => {
      const names = splitPath(path)
      const holder = items.find(({ shape }) => isField(shape, names))
      if (holder === undefined)
        return invalid(`${this.#about.label}.hidden`, 'fields of the response schema', path)
      return [joinPath(canonicalPath(holder.shape, names)), hides]
    })
    const isSame = this.#hidden.every(([, hides]) => hides === true)
    this.#hiddenFromAll = isSame ? new Set(this.#hidden.map(([path]) => path)) : null
    this.#selector = selector
  }

  /** The item of a list whose schema does not say what it has. */
  #openItemOf(items: readonly Item[]): Item | undefined {
    const { isList, lists } = this.#about
    if (!isList) return undefined
    if (items.length === 0) return { shape: anything, within: lists.slice(0, 1) }
    return items.find(({ shape }) => isField(shape, ['any name']))
  }

  #itemOf(top: Shape): Item {
    const list = this.#about.lists.find((name) => isList(shapeWithin(top, [name])))
    const within = list === undefined ? [] : [list]
    return { shape: shapeWithin(top, within) as Shape, within }
  }

  // `hidden` and `default` need a response schema that names the fields.
  #cannotSelect(): void {
    const expected = 'none, for no response schema of success names the fields'
    const [path] = this.#hidden[0] ?? []
    if (path !== undefined) invalid(`${this.#about.label}.hidden`, expected, path)
    if (this.#options.default !== undefined)
      invalid(`${this.#about.label}.default`, expected, this.#options.default)
  }
}

function valuesOf(received: unknown): readonly string[] {
  return typeof received === 'string' ? [received] : [received].flat().map(String)
}

/** Whether a payload of success has something in it, and no writer of this package has written it. */
export function isUnnarrowed(reply: FastifyReply, payload: unknown): boolean {
  const status = isResponse(payload) ? payload.status : reply.statusCode
  return status < 300 && !empty.has(payload) && !isWrittenByUs(reply)
}

// The last two are what Fastify writes of a handler's null.
const empty: ReadonlySet<unknown> = new Set([null, undefined, '', 'null', '{}'])

/** Is it a method that selects? */
export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}
