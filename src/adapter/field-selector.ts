import { BoundedCache } from '../bounded-cache.js'
import {
  type FieldBounds,
  type FieldTree,
  fieldPaths,
  fieldTree,
  readFields,
} from '../representation/output/field-tree.js'
import { allBut, canonicalFields, fieldNames, unknownFields } from '../representation/output/projection.js'
import type { Shape } from '../representation/output/schema-shape.js'
import { clip } from '../text.js'
import { Selection } from './serialization.js'

/** A selection that is refused: why, and for which names. */
export interface RefusedFields {
  readonly detail: string
  /** What is wrong with each of the names. */
  readonly messages: readonly string[]
}

const cachedSelections = 100
const mostNamed = 20
const longestName = 100

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
   * @param shape what is selected from: an item, or an item of a list
   * @param within names of the members that lead to `shape`
   * @param defaults dot paths of what is answered where nothing is asked for; `null` for all
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
    this.#defaults = defaults === null ? null : canonicalFields(shape, fieldTree(defaults))
    this.#default = this.#selection(this.#defaults, new Set())
  }

  /** The dot paths that the shape does not have. */
  unknown(paths: readonly string[]): string[] {
    return unknownFields(this.#shape, fieldTree(paths))
  }

  /** The path by which a field goes: a twin by that of its number. */
  canonical(path: string): string {
    return fieldPaths(canonicalFields(this.#shape, fieldTree([path])))[0] ?? path
  }

  /**
   * The selection that a request asks for; `null` where it gets all.
   *
   * @param values the parameter as often as it was given; `null` where it was not
   * @param hidden dot paths that the request may not see
   */
  select(values: readonly string[] | null, hidden: ReadonlySet<string>): Selection | null | RefusedFields {
    if (values === null && hidden.size === 0) return this.#default
    const key = `${[...hidden].join()} ${values === null ? '' : `=${values.join()}`}`
    const known = this.#cache.get(key)
    if (known !== undefined) return known
    const tree = values === null ? this.#defaults : this.#requested(values, hidden)
    if (tree !== null && 'detail' in tree) return tree
    const selection = this.#selection(tree, hidden)
    if (key.length <= this.#bounds.maxLength) this.#cache.set(key, selection)
    return selection
  }

  #selection(tree: FieldTree | null, hidden: ReadonlySet<string>): Selection | null {
    if (hidden.size === 0) return tree === null ? null : new Selection(this.#shape, tree, this.#within)
    const visible = allBut(this.#shape, hidden)
    return new Selection(this.#shape, tree === null ? visible : common(tree, visible), this.#within, true)
  }

  #requested(values: readonly string[], hidden: ReadonlySet<string>): FieldTree | null | RefusedFields {
    const read = readFields(values, this.#bounds)
    if ('message' in read)
      return { detail: `fields ${read.message}. ${this.#allowed(hidden)}`, messages: [read.message] }
    const wantsAll = read.has('*')
    const named = new Map([...read].filter(([name]) => name !== '*'))
    const tree = canonicalFields(this.#shape, named)
    // Hidden looks the same as unknown: in the order of the request, by the name that it used.
    const unknown = fieldPaths(named).filter((path) => {
      const canonical = this.canonical(path)
      return isWithin(canonical, hidden) || this.unknown([canonical]).length > 0
    })
    return unknown.length > 0 ? this.#refused(unknown, hidden) : wantsAll ? null : tree
  }

  #refused(unknown: readonly string[], hidden: ReadonlySet<string>): RefusedFields {
    const named = unknown.slice(0, mostNamed).map((name) => clip(name, longestName))
    return {
      detail: `Not among the fields: ${named.join(', ')}. ${this.#allowed(hidden)}`,
      messages: named.map((name) => `'${name}' is not among the fields`),
    }
  }

  #allowed(hidden: ReadonlySet<string>): string {
    return `The fields are ${fieldNames(this.#shape)
      .filter((name) => !hidden.has(name))
      .join(', ')}`
  }
}

// To whom a field is hidden, what is in it is hidden too.
function isWithin(path: string, hidden: ReadonlySet<string>): boolean {
  return [...hidden].some((one) => path === one || path.startsWith(`${one}.`))
}

/** What both select. */
function common(tree: FieldTree, visible: FieldTree): FieldTree {
  const both = [...tree].flatMap(([name, below]): [string, FieldTree | true][] => {
    const seen = visible.get(name)
    if (seen === undefined) return []
    return [[name, below === true ? seen : seen === true ? below : common(below, seen)]]
  })
  return new Map(both)
}
