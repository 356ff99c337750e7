import type { FastifyRequest, RouteOptions } from 'fastify'
import { type Fields, fieldPaths, ownFields, partOf, type Selection, splitPath } from '../json/selection.js'
import { isObject } from '../options.js'
import { canonicalPath, fieldNames, fieldsLeft, isField, isList, shapeWithin } from '../schema/field-names.js'
import type { Shape } from '../schema/shape.js'
import { requestSlot, routeSlot } from './slots.js'

/** Where the selection of a request is kept. */
export const selections = requestSlot<RequestSelection | null>('selection')

// `null` for all, `undefined` where nothing has been selected yet.
export function selectionOf(request: FastifyRequest): RequestSelection | null | undefined {
  return selections.get(request)
}

/** Which fields a request wants, so that the handler need not read others. */
export interface FieldSelection {
  /**
   * Names at the top of the item, in the order of the schema: what the handler has to read. Of a list, and where a date is
   * taken from the items, they contain the fields that these need, whether or not the client selects them.
   */
  readonly names: readonly string[]
  /** All selected dot paths. */
  readonly paths: readonly string[]
  /** Whether the field is wanted, whole or in part. */
  has(path: string): boolean
}

/** The fields that a request selects. */
export class RequestSelection implements FieldSelection {
  readonly names: readonly string[]
  readonly paths: readonly string[]
  /** Whether it hides fields from the request, so that no answer may be sent without it. */
  readonly hides: boolean
  readonly #shape: Shape
  readonly #named: readonly string[]
  readonly #selection: Selection
  readonly #within: readonly string[]
  // By what a response may be: the items of a list, or an object.
  readonly #ofShapes = new WeakMap<Shape, Selection>()
  readonly #all: Selection

  constructor(shape: Shape, only: Fields | null, within: readonly string[], without: Fields | null = null) {
    this.hides = without !== null
    this.#shape = shape
    this.#selection = { only, without }
    this.#all = { only: null, without }
    this.#within = within
    const left = fieldsLeft([shape], this.#selection)
    this.#named = fieldNames(shape)
    const ordered = this.#named.filter((name) => left.has(name))
    this.names = Object.freeze([...new Set([...ordered, ...left.keys()])])
    this.paths = Object.freeze(fieldPaths(left))
  }

  has(path: string): boolean {
    const names = canonicalPath(this.#shape, splitPath(path))
    let left: Selection | null = this.#selection
    // Where nothing is selected, all is wanted that there is.
    if (left.only === null && !isField(this.#shape, names)) return false
    for (const name of names) {
      left = partOf(left, name)
      if (left === null) return false
    }
    return true
  }

  isNamed(name: string): boolean {
    return this.#named.includes(name)
  }

  /** The same selection for a handler that needs more fields: their names are among `names`. */
  needing(needed: readonly string[]): FieldSelection {
    if (needed.every((name) => this.names.includes(name))) return this
    const wanted = new Set([...this.names, ...needed])
    const names = Object.freeze([...new Set([...this.#named.filter((name) => wanted.has(name)), ...wanted])])
    return Object.freeze({ names, paths: this.paths, has: (path: string) => this.has(path) })
  }

  /** Returns a value without its hidden fields, if no schema describes it, such as the result of an operation. */
  withoutHidden(value: unknown): unknown {
    return ownFields(value, this.#all)
  }

  of(response: Shape, status: number): Selection {
    const known = status === 202 ? undefined : this.#ofShapes.get(response)
    if (known !== undefined) return known
    const within = this.#within
    const isItem = within.length === 0
    const isListed = response.kind === 'anything' || isList(shapeWithin(response, within))
    // Another status may answer an item instead of a list: nothing is selected there, but hidden stays hidden.
    const fields = status === 202 || !(isItem || isListed) ? this.#all : this.#selection
    const selection = isItem || !isListed ? fields : { ...fields, within }
    if (status !== 202) this.#ofShapes.set(response, selection)
    return selection
  }
}

/** Returns the names of fields that the response needs, whether or not the client selects them. */
export type NeededFields = (request: FastifyRequest) => readonly string[]

interface Need {
  readonly fields: NeededFields
  readonly whereNamed: boolean
}

const needs = routeSlot<readonly Need[]>('neededFields')

export function needFields(route: RouteOptions, fields: NeededFields, whereNamed = false): void {
  needs.set(route, [...(needs.get(route) ?? []), { fields, whereNamed }])
}

export function neededFields(request: FastifyRequest, isNamed: (name: string) => boolean): readonly string[] {
  return (needs.of(request) ?? []).flatMap(({ fields, whereNamed }) =>
    whereNamed ? fields(request).filter(isNamed) : fields(request),
  )
}

/** The fields that a route hides by `config.fields.hidden`, by dot path: from all (`true`), or by a predicate. */
export type HiddenFields = Readonly<Record<string, unknown>>

const nothing: HiddenFields = Object.freeze({})

export function hiddenFieldsOf({ config }: Pick<RouteOptions, 'config'>): HiddenFields {
  const fields: unknown = config?.fields
  const isHiding = isObject(fields) && fields.mode !== 'off' && isObject(fields.hidden)
  return isHiding ? (fields.hidden as HiddenFields) : nothing
}

/** A format of responses other than JSON. */
export type Format = 'xml' | 'csv'

/** The values of {@link Format}. */
export const otherFormats = ['xml', 'csv'] as const

/** A format that a response is to have, with the media type by which the client accepts it. */
export interface ChosenFormat {
  readonly format: Format
  readonly mediaType: string
}

/** The format of the response to a request. No value for JSON. */
export const chosenFormat = requestSlot<ChosenFormat>('formats.chosen')

/** Routes whose format the plugin `formats` chooses, by the query parameter or by `Accept`. */
export const negotiates = routeSlot<true>('formats.negotiates')

/** Returns the entity tag of a resource in the format of the response to a request. */
export function tagInFormat(request: FastifyRequest, etag: string): string {
  const chosen = chosenFormat.get(request)
  return chosen === undefined ? etag : tagOfFormat(etag, chosen.format)
}

/** Returns the entity tag of a resource in another format than JSON. */
export function tagOfFormat(etag: string, format: Format): string {
  return `${etag.slice(0, -1)}--${format}"`
}
