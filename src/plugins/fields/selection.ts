import { BoundedCache } from '../../bounded-cache.js'
import type { AnyRequest } from '../../convention/any-request.js'
import { type RequestSelection, requestSelection } from '../../convention/selection.js'
import { type Fields, fieldsOf, isHidden, joinPath, readFields, splitPath } from '../../json/selection.js'
import { invalid, isObject, listOf, type OptionsOf, optional, text } from '../../options.js'
import { ProblemError } from '../../problem/problem-error.js'
import { modeOption, routeModeOption } from '../../report/modes.js'
import { canonicalPath, isField, isList, namesBelow, shapeWithin } from '../../schema/field-names.js'
import { anything, type Shape } from '../../schema/shape.js'
import { clip } from '../../text.js'

export const fieldBounds = { maxNames: 64, maxLength: 1024, maxDepth: 4 }
const cachedSelections = 100
const maxNamed = 20
const maxNameLength = 100

/** Returns what a request selects; `null` where it gets all. */
export type Select = (
  values: readonly string[] | null,
  hidden: readonly string[],
) => RequestSelection | null | ProblemError

/** Returns the selecting of the answers of one route. */
export function selecting(
  { shape, within }: Item,
  defaults: readonly string[] | null,
  bounds = fieldBounds,
): Select {
  // Clients choose the keys: bounded, and compiling is cheap where it misses.
  const cache = new BoundedCache<string, RequestSelection | null>(cachedSelections)
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

/** What has to be known of a route. */
export interface RouteFacts {
  readonly label: string
  /** Whether it reads, rather than only writes. */
  readonly reads: boolean
  /** Whether it is declared as a list (`config.lists`): then its items may be selected from without a schema. */
  readonly isList: boolean
  /** Names that the member with the items of a list may have, the likeliest first. */
  readonly lists: readonly string[]
}

/** An item that fields are selected from, and the members that lead to it. */
export interface Item {
  readonly shape: Shape
  readonly within: readonly string[]
}

export function itemOf(top: Shape, lists: readonly string[]): Item {
  const list = lists.find((name) => isList(shapeWithin(top, [name])))
  const within = list === undefined ? [] : [list]
  return { shape: shapeWithin(top, within) as Shape, within }
}

/** The item of a list whose schema does not name its fields. */
export function openItem(items: readonly Item[], { isList, lists }: RouteFacts): Item | undefined {
  if (!isList) return undefined
  if (items.length === 0) return { shape: anything, within: lists.slice(0, 1) }
  return items.find(({ shape }) => isField(shape, ['any name']))
}

/** Refuses options of a route that nothing can be selected from. */
export function refuseNames(label: string, options: FieldsRouteOptions, expected: string): void {
  for (const name of ['hidden', 'default'] as const) {
    if (options[name] !== undefined) invalid(`${label}.${name}`, expected, options[name])
  }
}

/** Whether a field is hidden from a request. */
export type IsHidden = AnyRequest<[], boolean>

export const fieldsOptions = {
  /**
   * `enforce` projects. `report` changes nothing and counts the requests that ask for it and the answers that the default
   * set or a hidden field would narrow. `off` does nothing.
   * @default 'enforce'
   */
  mode: modeOption,
}

export const fieldsRouteOptions = {
  /**
   * As the option of the plugin, for this route.
   * @default the option of the plugin
   */
  mode: routeModeOption,
  /**
   * Dot paths of the fields in the response if the request names no fields.
   * @default all fields
   */
  default: optional(listOf(text())),
  /**
   * Dot paths that a 2xx of any method leaves out: of all responses (`true`), or of those for which a predicate, called
   * before the handler runs, returns `true`. A request that names a field which is hidden from it gets the error for an
   * unknown field. Where a field is hidden, an answer that cannot be narrowed (a string, a stream, a status without a
   * schema) is a 500. With a predicate, no shared cache may store a response. Not for secrets: errors are never projected.
   * @default none
   */
  hidden: optional<Readonly<Record<string, true | IsHidden>>>(checkHidden),
}

/** Options of {@link fields}. */
export interface FieldsOptions extends OptionsOf<typeof fieldsOptions> {}

/** What a route sets under `config.fields`; `false` leaves the parameter alone. */
export interface FieldsRouteOptions extends OptionsOf<typeof fieldsRouteOptions> {}

/** Whether requests without the parameter get less than all. */
export function narrowsUnasked(options: FieldsRouteOptions): boolean {
  return options.default !== undefined || options.hidden !== undefined
}

function checkHidden(label: string, received: unknown): Readonly<Record<string, true | IsHidden>> {
  if (!isObject(received)) return invalid(label, 'an object of true or predicates, by dot path', received)
  for (const [path, hides] of Object.entries(received)) {
    if (hides !== true && typeof hides !== 'function')
      invalid(`${label}['${path}']`, 'true or a predicate', hides)
  }
  return Object.freeze({ ...received }) as Readonly<Record<string, true | IsHidden>>
}
