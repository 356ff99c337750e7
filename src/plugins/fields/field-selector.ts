import { BoundedCache } from '../../bounded-cache.js'
import { Selection } from '../../fastify/selection.js'
import {
  type FieldBounds,
  type FieldTree,
  fieldTree,
  isHidden,
  joinPath,
  readFields,
  splitPath,
} from '../../json/field-tree.js'
import { canonicalPath, isField, namesBelow } from '../../json-schema/field-names.js'
import type { Shape } from '../../json-schema/shape.js'
import { clip } from '../../text.js'

/** A selection that is refused: why, and for which names. */
export interface RefusedFields {
  readonly detail: string
  /** What is wrong with each of the names. */
  readonly messages: readonly string[]
}

const cachedSelections = 100
const maxNamed = 20
const maxNameLength = 100
const maxLevels = 5

/** Makes selections for the answers of one route. */
export class FieldSelector {
  readonly #shape: Shape
  readonly #within: readonly string[]
  readonly #bounds: FieldBounds
  readonly #defaults: FieldTree | null
  readonly #default: Selection | null
  // Clients choose the keys: bounded, and compiling is cheap where it misses.
  readonly #cache = new BoundedCache<string, Selection | null>(cachedSelections)

  /**
   * @param shape the shape to select from: an item, or an item of a list
   * @param within names of the members that lead to `shape`
   * @param defaults dot paths of the fields in the response if the request selects none; `null` for all fields
   */
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

  /** The path by which a field goes: a twin by that of its number. */
  canonical(path: string): string {
    return joinPath(canonicalPath(this.#shape, splitPath(path)))
  }

  /**
   * The selection that a request asks for; `null` where it gets all.
   *
   * @param values the parameter as often as it was given; `null` where it was not
   * @param hidden dot paths that the request may not see
   */
  select(values: readonly string[] | null, hidden: ReadonlySet<string>): Selection | null | RefusedFields {
    if (values === null && hidden.size === 0) return this.#default
    const key = `${hidden.size === 0 ? '' : JSON.stringify([...hidden])}${values === null ? '' : `=${values.join()}`}`
    const known = this.#cache.get(key)
    if (known !== undefined) return known
    const without = hidden.size === 0 ? null : fieldTree([...hidden])
    const tree = values === null ? this.#defaults : this.#requested(values, without)
    if (tree !== null && 'detail' in tree) return tree
    const selection = this.#selection(tree, without)
    if (key.length <= this.#bounds.maxLength) this.#cache.set(key, selection)
    return selection
  }

  #selection(only: FieldTree | null, without: FieldTree | null): Selection | null {
    if (only === null && without === null) return null
    return new Selection(this.#shape, only, this.#within, without)
  }

  #requested(values: readonly string[], without: FieldTree | null): FieldTree | null | RefusedFields {
    const read = readFields(values, this.#bounds)
    if ('message' in read)
      return { detail: `fields ${read.message}${this.#allowed(without)}`, messages: [read.message] }
    const named = read.filter((path) => path !== '*')
    // Hidden looks the same as unknown: in the order of the request, by the name that it used.
    const unknown = named.filter((path) => !this.#isKnown(splitPath(path), without))
    if (unknown.length > 0) return this.#refused(unknown, without)
    return named.length < read.length ? null : this.#canonicalTree(named)
  }

  #canonicalTree(paths: readonly string[]): FieldTree {
    return fieldTree(paths.map((path) => this.canonical(path)))
  }

  #refused(unknown: readonly string[], without: FieldTree | null): RefusedFields {
    const first = unknown.slice(0, maxNamed)
    const named = first.map((name) => clip(name, maxNameLength))
    return {
      detail: `Not among the fields: ${named.join(', ')}${this.#allowed(without, first)}`,
      messages: named.map((name) => `'${name}' is not among the fields`),
    }
  }

  #isKnown(names: readonly string[], without: FieldTree | null): boolean {
    return isField(this.#shape, names) && !isHidden(without, canonicalPath(this.#shape, names))
  }

  /** The fields that there are where unknown ones were looked for. */
  #allowed(without: FieldTree | null, unknown: readonly string[] = ['']): string {
    const levels = new Map(
      unknown.map((path) => this.#levelOf(path, without)).map((at) => [joinPath(at), at]),
    )
    const sentences = [...levels].slice(0, maxLevels).map(([path, at]) => {
      const names = this.#namesAt(at, without)
      return names === '' ? '' : `. The fields${path === '' ? '' : ` of ${path}`} are ${names}`
    })
    return sentences.join('')
  }

  /** The longest part of a path that leads to fields. */
  #levelOf(path: string, without: FieldTree | null): readonly string[] {
    const names = splitPath(path).slice(0, -1)
    const lengths = names.map((_, index) => names.length - index)
    const parts = lengths.map((length) => names.slice(0, length))
    return (
      parts.find((part) => this.#isKnown(part, without) && namesBelow(this.#shape, part).length > 0) ?? []
    )
  }

  #namesAt(at: readonly string[], without: FieldTree | null): string {
    const names = namesBelow(this.#shape, at).map((name) => [...at, name])
    return names
      .filter((path) => this.#isKnown(path, without))
      .map((path) => joinPath(path.slice(-1)))
      .join(', ')
  }
}
