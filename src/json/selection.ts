import { numberName } from '../schema/shape.js'
import { jsonValueOf } from './exact-json.js'

export type Fields = ReadonlyMap<string, Fields | true>

export interface Selection {
  /** The fields that are written; `null` for all. */
  readonly only: Fields | null
  /** The fields that are left out, even if `only` has them; `null` for none. */
  readonly without: Fields | null
  /** Names of the members that lead to where the selection applies, such as the items of a list. */
  readonly within?: readonly string[]
}

export const whole: Selection = Object.freeze({ only: null, without: null })

export interface FieldBounds {
  readonly maxNames: number
  readonly maxLength: number
  readonly maxDepth: number
}

/** Reads `fields=a,b.c` into its dot paths, each once, in the order of the request; or returns what is wrong with it. */
export function readFields(
  values: readonly string[],
  { maxLength, maxNames, maxDepth }: FieldBounds,
): readonly string[] | { readonly message: string } {
  const text = values.join()
  if (text.length > maxLength) return { message: `has more than ${maxLength} characters` }
  const names = text.split(',').map((name) => name.trim())
  if (names.length > maxNames) return { message: `has more than ${maxNames} names` }
  for (const name of names) {
    const path = splitPath(name)
    if (path.includes('')) return { message: name === '' ? 'has an empty name' : `has '${name}'` }
    if (path.length > maxDepth) return { message: `goes deeper than ${maxDepth}: ${name}` }
  }
  return [...new Set(names)]
}

export function fieldsOf(paths: readonly string[]): Fields {
  const tree: DraftTree = new Map()
  for (const path of paths) add(tree, splitPath(path))
  return tree
}

export function fieldPaths(fields: Fields, within: readonly string[] = []): string[] {
  return [...fields].flatMap(([name, below]) => {
    const path = [...within, name]
    return below === true ? [joinPath(path)] : fieldPaths(below, path)
  })
}

type DraftTree = Map<string, DraftTree | true>

function add(tree: DraftTree, path: readonly string[]): void {
  let at = tree
  for (const [index, segment] of path.entries()) {
    const below = at.get(segment)
    if (below === true) return
    if (index === path.length - 1) {
      at.set(segment, true)
      return
    }
    const next: DraftTree = below ?? new Map()
    at.set(segment, next)
    at = next
  }
}

/** Returns the part of a selection for a member: whole, a part of it, or `null` for nothing. */
export function partOf(
  { only, without, within = [] }: Selection,
  name: string,
  alias = name,
): Selection | null {
  const [step, ...steps] = within
  if (step !== undefined) return step === name ? { only, without, within: steps } : whole
  const hidden = without?.get(name)
  if (hidden === true) return null
  const asked = only === null ? true : (only.get(name) ?? only.get(alias))
  if (asked === undefined) return null
  return asked === true && hidden === undefined
    ? whole
    : { only: asked === true ? null : asked, without: hidden ?? null }
}

/** The same for a member that no schema declares: what hides a number hides a member that is named like its twin. */
export function partOfOwn(selection: Selection, name: string): Selection | null {
  const number = isWithin(selection) ? null : numberName(name)
  return number !== null && selection.without?.get(number) === true ? null : partOf(selection, name)
}

/** A value with its own fields that are selected, where no schema describes it. */
export function ownFields(value: unknown, selection: Selection): unknown {
  if (selection === whole) return value
  const object = jsonValueOf(value)
  if (typeof object !== 'object' || object === null) return object
  if (Array.isArray(object))
    return isWithin(selection) ? object : object.map((item) => ownFields(item, selection))
  const fields = object as Readonly<Record<string, unknown>>
  const entries = Object.keys(fields).flatMap((name): [string, unknown][] => {
    const left = partOfOwn(selection, name)
    return left === null ? [] : [[name, ownFields(fields[name], left)]]
  })
  return Object.fromEntries(entries)
}

function isWithin({ within = [] }: Selection): boolean {
  return within.length > 0
}

export function isHidden(without: Fields | null, path: readonly string[]): boolean {
  let at: Fields | true | undefined = without ?? undefined
  for (const name of path) {
    if (at === undefined || at === true) break
    at = at.get(name)
  }
  return at === true
}

export function splitPath(path: string): string[] {
  return path.split('.')
}

export function joinPath(names: readonly string[]): string {
  return names.join('.')
}
