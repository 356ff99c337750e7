import { cutOf, type FieldCut, type FieldTree, fieldPaths, splitPath } from '../json/field-tree.js'
import type { Write } from '../json/object-writer.js'
import { ownFields } from '../json/own-fields.js'
import { projectionWriter } from '../json/projection.js'
import {
  canonicalPath,
  fieldNames,
  fieldsLeft,
  isField,
  isList,
  shapeWithin,
} from '../json-schema/field-names.js'
import type { Shape } from '../json-schema/shape.js'
import type { ResponseWriter } from './response-writers.js'

/** Which fields a request wants, so that the handler need not read others. */
export interface FieldSelection {
  /**
   * Names at the top of the item, in the order of the schema: what the handler has to read. Of a list, and where a date is
   * taken from the items, they contain the fields that these need, whether or not the client selects them.
   */
  readonly names: readonly string[]
  /** All selected dot paths; a dot or a comma in a name has a backslash before it. */
  readonly paths: readonly string[]
  /** Whether the field is wanted, whole or in part. */
  has(path: string): boolean
}

/** The fields that a request selects; compiled once for each schema that it meets. */
export class Selection implements FieldSelection {
  readonly names: readonly string[]
  readonly paths: readonly string[]
  /** Whether it hides fields from the request, so that no answer may be sent without it. */
  readonly hides: boolean
  readonly #shape: Shape
  readonly #named: readonly string[]
  // Few entries: the needed fields depend on the route and on the key of the page.
  readonly #needing = new Map<string, FieldSelection>()
  readonly #cut: FieldCut
  readonly #within: readonly string[]
  readonly #writers = new Map<ResponseWriter, Write>()
  #unselected: Selection | null = null

  /**
   * @param only the selected fields of `shape`; `null` for all
   * @param within names of the members that lead to `shape`: to the items of a list
   * @param without the hidden fields, also if they are selected; `null` for none
   */
  constructor(
    shape: Shape,
    only: FieldTree | null,
    within: readonly string[],
    without: FieldTree | null = null,
  ) {
    this.hides = without !== null
    this.#shape = shape
    this.#cut = { only, without }
    this.#within = within
    const left = fieldsLeft([shape], this.#cut)
    this.#named = fieldNames(shape)
    const ordered = this.#named.filter((name) => left.has(name))
    this.names = Object.freeze([...new Set([...ordered, ...left.keys()])])
    this.paths = Object.freeze(fieldPaths(left))
  }

  has(path: string): boolean {
    const names = canonicalPath(this.#shape, splitPath(path))
    let left: FieldCut | null = this.#cut
    // Where nothing is selected, all is wanted that there is.
    if (left.only === null && !isField(this.#shape, names)) return false
    for (const name of names) {
      left = cutOf(left, name)
      if (left === null) return false
    }
    return true
  }

  /** Whether the schema names the field at the top of the item. */
  isNamed(name: string): boolean {
    return this.#named.includes(name)
  }

  /** The same selection for a handler that needs more fields: their names are among `names`. */
  needing(needed: readonly string[]): FieldSelection {
    if (needed.every((name) => this.names.includes(name))) return this
    const key = needed.join()
    const known = this.#needing.get(key)
    if (known !== undefined) return known
    const wanted = new Set([...this.names, ...needed])
    const names = Object.freeze([...new Set([...this.#named.filter((name) => wanted.has(name)), ...wanted])])
    const selection = Object.freeze({ names, paths: this.paths, has: (path: string) => this.has(path) })
    this.#needing.set(key, selection)
    return selection
  }

  /** Returns the selection for a status: a 202 has all fields but the hidden ones. */
  forStatus(status: number): Selection {
    const { only, without } = this.#cut
    if (status !== 202 || only === null) return this
    this.#unselected ??= new Selection(this.#shape, null, this.#within, without)
    return this.#unselected
  }

  /** Returns a value without its hidden fields, if no schema describes it, such as the result of an operation. */
  withoutHidden(value: unknown): unknown {
    return ownFields(value, { only: null, without: this.#cut.without }, false)
  }

  writerFor(response: ResponseWriter): Write {
    const known = this.#writers.get(response)
    if (known !== undefined) return known
    const writer = this.#compile(response)
    this.#writers.set(response, writer)
    return writer
  }

  #compile({ compiler, shape }: ResponseWriter): Write {
    const isWithin = shape.kind === 'anything' || isList(shapeWithin(shape, this.#within))
    if (this.#within.length === 0 || isWithin)
      return projectionWriter(compiler, shape, this.#cut, this.#within)
    // Another status may answer an item instead of a list: nothing is selected there, but hidden stays hidden.
    return projectionWriter(compiler, shape, { only: null, without: this.#cut.without })
  }
}
