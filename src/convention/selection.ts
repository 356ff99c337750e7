import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { type Fields, fieldPaths, ownFields, partOf, type Selection, splitPath } from '../json/selection.js'
import { isObject } from '../options.js'
import { canonicalPath, fieldNames, fieldsLeft, isField, isList, shapeWithin } from '../schema/field-names.js'
import { isSchemaObject, type Json } from '../schema/json-schema.js'
import { partsOf, propertiesOf } from '../schema/reader.js'
import { queryOf } from '../schema/responses.js'
import type { Shape } from '../schema/shape.js'
import { jsonSchemasOf, readerOf } from './route-schemas.js'
import { requestSlot, routeSlot } from './slots.js'

export const selections = requestSlot<RequestSelection | null>('selection')

// `null` for all fields; `undefined` before the selection is made.
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

export interface RequestSelection extends FieldSelection {
  /** Whether it hides fields from the request, so that no answer may be sent without it. */
  readonly hides: boolean
  /** The same selection for the handler of a request: the fields that its response needs are among `names`. */
  ofHandler(request: FastifyRequest): FieldSelection
  /** Returns a value without its hidden fields, if no schema describes it, such as the result of an operation. */
  withoutHidden(value: unknown): unknown
  of(response: Shape, status: number): Selection
}

export function requestSelection(
  shape: Shape,
  only: Fields | null,
  within: readonly string[],
  without: Fields | null = null,
): RequestSelection {
  const named = fieldNames(shape)
  const selected: Selection = { only, without, within }
  const shown: Selection = { only: null, without }
  const shownWithin: Selection = { ...shown, within }
  const left = fieldsLeft([shape], { only, without })
  const inOrder = (names: ReadonlySet<string>): readonly string[] =>
    Object.freeze([...new Set([...named.filter((name) => names.has(name)), ...names])])
  const names = inOrder(new Set(left.keys()))
  const paths = Object.freeze(fieldPaths(left))

  function has(path: string): boolean {
    const steps = canonicalPath(shape, splitPath(path))
    let part: Selection | null = { only, without }
    // Without a selection, all fields of the schema are wanted.
    if (only === null && !isField(shape, steps)) return false
    for (const step of steps) part &&= partOf(part, step)
    return part !== null
  }

  const asked: FieldSelection = Object.freeze({ names, paths, has })
  return {
    ...asked,
    hides: without !== null,
    ofHandler(request) {
      const needed = (needs.of(request) ?? []).flatMap(({ fields, whereNamed }) =>
        fields(request).filter((name) => !whereNamed || named.includes(name)),
      )
      if (needed.every((name) => names.includes(name))) return asked
      return Object.freeze({ ...asked, names: inOrder(new Set([...names, ...needed])) })
    },
    withoutHidden: (value) => ownFields(value, shown),
    of(response, status) {
      // No field is selected then, and hidden fields stay hidden.
      if (!isListed(response, within)) return shown
      return status === 202 ? shownWithin : selected
    },
  }
}

/** Whether members lead to the items of a response: another status may answer an item instead of a list. */
export function isListed(response: Shape, within: readonly string[]): boolean {
  return within.length === 0 || response.kind === 'anything' || isList(shapeWithin(response, within))
}

/** The names of fields that the response needs, whether or not the client selects them. */
interface Need {
  fields(request: FastifyRequest): readonly string[]
  readonly whereNamed: boolean
}

const needs = routeSlot<readonly Need[]>('neededFields')

export function needFields(route: RouteOptions, fields: Need['fields'], whereNamed = false): void {
  needs.set(route, [...(needs.get(route) ?? []), { fields, whereNamed }])
}

/** The fields that a route hides by `config.fields.hidden`, by dot path: from all (`true`), or by a predicate. */
export type HiddenFields = Readonly<Record<string, unknown>>

const nothing: HiddenFields = Object.freeze({})

export function hiddenFieldsOf({ config }: Pick<RouteOptions, 'config'>): HiddenFields {
  const fields: unknown = config?.fields
  const isHiding = isObject(fields) && fields.mode !== 'off' && isObject(fields.hidden)
  return isHiding ? (fields.hidden as HiddenFields) : nothing
}

export interface OwnParameters {
  /** Takes them out of the query before it is validated; `null` where nothing validates it. */
  readonly take: ((request: FastifyRequest) => void) | null
  /** Returns one as the request has it; `undefined` if it has none. */
  read(request: FastifyRequest, name: string): unknown
}

/** Keeps query parameters of a convention out of the validation of the route. One that the route declares itself stays. */
export function ownParameters(
  app: FastifyInstance,
  route: RouteOptions,
  names: readonly string[],
): OwnParameters {
  const schema = queryOf(jsonSchemasOf(route) ?? {})
  if (schema === undefined) return { take: null, read: (request, name) => queryIn(request)[name] }
  const taken = new WeakMap<FastifyRequest, Record<string, unknown>>()
  let ours: readonly string[] | undefined
  return {
    take(request) {
      const query = queryIn(request)
      if (!names.some((name) => query[name] !== undefined)) return
      ours ??= names.filter((name) => !declaresParameter(app, schema, name))
      const own: Record<string, unknown> = {}
      for (const name of ours) {
        own[name] = query[name]
        Reflect.deleteProperty(query, name)
      }
      taken.set(request, own)
    },
    read: (request, name) => taken.get(request)?.[name] ?? queryIn(request)[name],
  }
}

/** Whether a query schema names a parameter, in whichever alternative. Call it when all shared schemas are known. */
export function declaresParameter(app: FastifyInstance, schema: unknown, name: string): boolean {
  if (!isSchemaObject(schema)) return false
  const reader = readerOf(app)
  return propertiesOf(partsOf(reader, [reader.absolute(schema as Json)])).has(name)
}

function queryIn({ query }: FastifyRequest): Record<string, unknown> {
  return typeof query === 'object' && query !== null ? (query as Record<string, unknown>) : {}
}

/** A format of responses other than JSON. */
export type Format = 'xml' | 'csv'

export const otherFormats = ['xml', 'csv'] as const

/** A format that a response is to have, with the media type by which the client accepts it. */
export interface ChosenFormat {
  readonly format: Format
  readonly mediaType: string
}

/** The format of the response to a request. No value for JSON. */
export const chosenFormat = requestSlot<ChosenFormat | undefined>('formats.chosen')

/** Routes whose format the plugin `formats` chooses, by the query parameter or by `Accept`. */
export const negotiates = routeSlot<true>('formats.negotiates')

/** Returns the entity tag of a resource in the format of the response to a request. */
export function tagInFormat(request: FastifyRequest, etag: string): string {
  const chosen = chosenFormat.get(request)
  return chosen === undefined ? etag : tagOfFormat(etag, chosen.format)
}

export function tagOfFormat(etag: string, format: Format): string {
  return `${etag.slice(0, -1)}--${format}"`
}
