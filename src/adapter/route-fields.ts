import type { FastifyReply, FastifyRequest } from 'fastify'
import { ProblemError } from '../errors.js'
import { invalid } from '../options.js'
import { fieldNames, isList, shapeWithin } from '../representation/output/field-names.js'
import type { FieldBounds } from '../representation/output/field-tree.js'
import type { Shape } from '../representation/output/schema-shape.js'
import { refuse } from './answer.js'
import { FieldSelector } from './field-selector.js'
import type { ReadParameter } from './held-parameter.js'
import type { Selection } from './selection.js'
import { type RouteSerialization, selectionOfRequest } from './serialization.js'

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

const nothing: ReadonlySet<string> = new Set()

/** The fields of one route's answers: reads the selection of each request. */
export class RouteFields {
  readonly #label: string
  readonly #options: RouteFieldsOptions
  readonly #lists: readonly string[]
  readonly #serialization: RouteSerialization
  readonly #read: ReadParameter
  #hidden: readonly (readonly [string, true | IsHidden])[]
  // Where no predicate is asked, it is the same for all requests.
  #hiddenFromAll: ReadonlySet<string> | null = nothing
  #selector: FieldSelector | null = null
  #prepared = false

  /**
   * @param lists names that the member with the items of a list may have, the likeliest first
   * @param read reads the `fields` parameter
   */
  constructor(
    label: string,
    options: RouteFieldsOptions,
    lists: readonly string[],
    serialization: RouteSerialization,
    read: ReadParameter,
  ) {
    this.#label = label
    this.#options = options
    this.#lists = lists
    this.#serialization = serialization
    this.#read = read
    this.#hidden = Object.entries(options.hidden ?? {})
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

  /** What a request gets that names no fields; `null` for all. */
  unasked(request: FastifyRequest): Selection | null {
    if (!this.#prepared) this.#prepare()
    const selection = this.#selector?.select(null, this.#hiddenFrom(request)) ?? null
    return selection === null || 'detail' in selection ? null : selection
  }

  #selectFor(request: FastifyRequest): ProblemError | null {
    if (!this.#prepared) this.#prepare()
    if (this.#selector === null || !isRead(request.method)) return null
    const received = this.#read(request)
    const values = received === undefined ? null : valuesOf(received)
    const selection = this.#selector.select(values, this.#hiddenFrom(request))
    if (selection !== null && 'detail' in selection) {
      const errors = selection.messages.map((message) => ({ in: 'query' as const, name: 'fields', message }))
      return new ProblemError('fields-invalid', { detail: selection.detail, errors })
    }
    ;(request as unknown as { [selectionOfRequest]: Selection | null })[selectionOfRequest] = selection
    return null
  }

  #hiddenFrom(request: FastifyRequest): ReadonlySet<string> {
    if (this.#hiddenFromAll !== null) return this.#hiddenFromAll
    return new Set(this.#hidden.filter(([, hides]) => hides === true || hides(request)).map(([path]) => path))
  }

  #prepare(): void {
    this.#prepared = true
    this.#serialization.prepare()
    const top = this.#serialization.writerFor(200)?.shape
    if (top === undefined) {
      this.#cannotSelect()
      return
    }
    const { list: named } = this.#options
    if (typeof named === 'string' && !isList(shapeWithin(top, [named]))) {
      invalid(`${this.#label}.list`, 'an array of the response schema', named)
    }
    const list = this.#lists.find((name) => isList(shapeWithin(top, [name])))
    const within = list === undefined ? [] : [list]
    const shape = shapeWithin(top, within) as Shape
    if (fieldNames(shape).length === 0) {
      this.#cannotSelect()
      return
    }
    const selector = new FieldSelector(shape, within, this.#options, this.#options.default ?? null)
    for (const name of ['default', 'hidden'] as const) {
      const paths = name === 'default' ? (this.#options.default ?? []) : this.#hidden.map(([path]) => path)
      const [unknown] = selector.unknown(paths)
      if (unknown !== undefined) invalid(`${this.#label}.${name}`, 'fields of the response schema', unknown)
    }
    this.#hidden = this.#hidden.map(([path, hides]) => [selector.canonical(path), hides])
    const isSame = this.#hidden.every(([, hides]) => hides === true)
    this.#hiddenFromAll = isSame ? new Set(this.#hidden.map(([path]) => path)) : null
    this.#selector = selector
  }

  // A field that nobody can hide must not be declared hidden, nor a default that nothing is narrowed to.
  #cannotSelect(): void {
    const expected = 'none, for no response schema of 200 names the fields'
    const [path] = this.#hidden[0] ?? []
    if (path !== undefined) invalid(`${this.#label}.hidden`, expected, path)
    if (this.#options.default !== undefined)
      invalid(`${this.#label}.default`, expected, this.#options.default)
  }
}

function valuesOf(received: unknown): readonly string[] {
  return typeof received === 'string' ? [received] : [received].flat().map(String)
}

/** Is it a method that selects? */
export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}
