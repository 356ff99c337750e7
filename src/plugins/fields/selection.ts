import { BoundedCache } from '../../bounded-cache.js'
import type { AnyRequest } from '../../convention/any-request.js'
import { RequestSelection } from '../../convention/selection.js'
import {
  type FieldBounds,
  type Fields,
  fieldsOf,
  isHidden,
  joinPath,
  readFields,
  splitPath,
} from '../../json/selection.js'
import { invalid, listOf, type OptionsOf, optional, text } from '../../options.js'
import { modeOption, routeModeOption } from '../../report/modes.js'
import { canonicalPath, isField, isList, namesBelow, shapeWithin } from '../../schema/field-names.js'
import { anything, type Shape } from '../../schema/shape.js'
import { clip } from '../../text.js'
import { joinWords, wordsOf } from '../../words/words.js'

/** A selection that is refused: why, and for which names. */
export interface RefusedSelection {
  readonly detail: string
  readonly messages: readonly string[]
}

export const fieldBounds: FieldBounds = { maxNames: 64, maxLength: 1024, maxDepth: 4 }
const cachedSelections = 100
const maxNamed = 20
const maxNameLength = 100

/** Makes selections for the answers of one route. */
export class SelectionReader {
  readonly #shape: Shape
  readonly #within: readonly string[]
  readonly #bounds: FieldBounds
  readonly #defaults: Fields | null
  readonly #default: RequestSelection | null
  // Clients choose the keys: bounded, and compiling is cheap where it misses.
  readonly #cache = new BoundedCache<string, RequestSelection | null>(cachedSelections)

  constructor(
    shape: Shape,
    within: readonly string[],
    bounds: FieldBounds,
    defaults: readonly string[] | null,
  ) {
    this.#shape = shape
    this.#within = within
    this.#bounds = bounds
    this.#defaults = defaults === null ? null : this.#canonicalTree(defaults)
    this.#default = this.#selection(this.#defaults, null)
  }

  /** The dot paths that the shape does not have. */
  unknown(paths: readonly string[]): string[] {
    return paths.filter((path) => !isField(this.#shape, splitPath(path)))
  }

  canonical(path: string): string {
    return joinPath(canonicalPath(this.#shape, splitPath(path)))
  }

  /** The selection that a request asks for; `null` where it gets all. */
  select(
    values: readonly string[] | null,
    hidden: ReadonlySet<string>,
  ): RequestSelection | null | RefusedSelection {
    if (values === null && hidden.size === 0) return this.#default
    const key = `${hidden.size === 0 ? '' : JSON.stringify([...hidden])}${values === null ? '' : `=${values.join()}`}`
    const known = this.#cache.get(key)
    if (known !== undefined) return known
    const without = hidden.size === 0 ? null : fieldsOf([...hidden])
    const tree = values === null ? this.#defaults : this.#requested(values, without)
    if (tree !== null && 'detail' in tree) return tree
    const selection = this.#selection(tree, without)
    if (key.length <= this.#bounds.maxLength) this.#cache.set(key, selection)
    return selection
  }

  #selection(only: Fields | null, without: Fields | null): RequestSelection | null {
    if (only === null && without === null) return null
    return new RequestSelection(this.#shape, only, this.#within, without)
  }

  #requested(values: readonly string[], without: Fields | null): Fields | null | RefusedSelection {
    const read = readFields(values, this.#bounds)
    if ('message' in read)
      return { detail: `fields ${read.message}${this.#allowed(without)}`, messages: [read.message] }
    const named = read.filter((path) => path !== '*')
    // Hidden looks the same as unknown: in the order of the request, by the name that it used.
    const unknown = named.filter((path) => !this.#isKnown(splitPath(path), without))
    if (unknown.length > 0) return this.#refused(unknown, without)
    return named.length < read.length ? null : this.#canonicalTree(named)
  }

  #canonicalTree(paths: readonly string[]): Fields {
    return fieldsOf(paths.map((path) => this.canonical(path)))
  }

  #refused(unknown: readonly string[], without: Fields | null): RefusedSelection {
    const first = unknown.slice(0, maxNamed)
    const named = first.map((name) => clip(name, maxNameLength))
    return {
      detail: `Not among the fields: ${named.join(', ')}${this.#allowed(without, first[0])}`,
      messages: named.map((name) => `'${name}' is not among the fields`),
    }
  }

  #isKnown(names: readonly string[], without: Fields | null): boolean {
    return isField(this.#shape, names) && !isHidden(without, canonicalPath(this.#shape, names))
  }

  /** The allowed names beside a name that is refused. */
  #allowed(without: Fields | null, refused = ''): string {
    const above = splitPath(refused).slice(0, -1)
    while (above.length > 0 && !this.#hasNames(above, without)) above.pop()
    const names = namesBelow(this.#shape, above).filter((name) => this.#isKnown([...above, name], without))
    if (names.length === 0) return ''
    return `. The fields${above.length === 0 ? '' : ` of ${joinPath(above)}`} are ${names.join(', ')}`
  }

  #hasNames(path: readonly string[], without: Fields | null): boolean {
    return this.#isKnown(path, without) && namesBelow(this.#shape, path).length > 0
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

export function listNames(path: string, declared: string | null): readonly string[] {
  const last = path.split('/').at(-1) ?? ''
  const ofPath = [last.replaceAll('-', '_'), joinWords(wordsOf(last), 'camelCase'), last]
  return declared === null ? ofPath : [declared, ...ofPath]
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
export function openItem(
  items: readonly Item[],
  { isList: isDeclaredList, lists }: RouteFacts,
): Item | undefined {
  if (!isDeclaredList) return undefined
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
   * Dot paths that no 2xx answers, whatever the method (`true`), or not to every request (a predicate, asked before the
   * handler runs). A request from which a field is hidden gets the error for an unknown field. An answer that cannot be narrowed (a string, a stream, a
   * status without a schema) is a 500 where a field is hidden. With a predicate, no shared cache may store a response. Not
   * for secrets: errors are never projected.
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
  if (typeof received !== 'object' || received === null || Array.isArray(received)) {
    return invalid(label, 'an object of true or predicates, by dot path', received)
  }
  for (const [path, hides] of Object.entries(received)) {
    if (hides !== true && typeof hides !== 'function')
      invalid(`${label}['${path}']`, 'true or a predicate', hides)
  }
  return Object.freeze({ ...received })
}
