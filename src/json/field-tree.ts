import { joinPath, splitPath, splitUnescaped } from './field-path.js'

/** Which fields are selected: by name, each whole (`true`) or in part. */
export type FieldTree = ReadonlyMap<string, FieldTree | true>

/** Bounds of a `fields` parameter. */
export interface FieldBounds {
  /** Most names. */
  readonly maxNames: number
  /** Most characters. */
  readonly maxLength: number
  /** Most segments of a path. */
  readonly maxDepth: number
}

/** A `fields` parameter that cannot be read: why. */
export interface FieldFault {
  readonly message: string
}

/**
 * Reads `fields=a,b.c` into its dot paths, each once, in the order of the request; in time linear in its length. A
 * backslash before a dot or a comma makes it part of a name.
 *
 * @param values the parameter as often as it was given
 */
export function readFields(values: readonly string[], bounds: FieldBounds): readonly string[] | FieldFault {
  const length = values.reduce((sum, value) => sum + value.length + 1, -1)
  if (length > bounds.maxLength) return { message: `has more than ${bounds.maxLength} characters` }
  const names = values.flatMap((value) => splitUnescaped(value, ',')).map((name) => name.trim())
  if (names.length > bounds.maxNames) return { message: `has more than ${bounds.maxNames} names` }

  const paths = new Set<string>()
  for (const name of names) {
    const path = splitPath(name)
    if (path.some((segment) => segment === ''))
      return { message: name === '' ? 'has an empty name' : `has '${name}'` }
    if (path.length > bounds.maxDepth) return { message: `goes deeper than ${bounds.maxDepth}: ${name}` }
    paths.add(name.includes('\\') ? joinPath(path) : name)
  }
  return [...paths]
}

/** The tree of dot paths that are known to be well-formed; `a` and `a.b` together are `a`. */
export function fieldTree(paths: readonly string[]): FieldTree {
  const tree: DraftTree = new Map()
  for (const path of paths) add(tree, splitPath(path))
  return tree
}

/** The dot paths of a tree, in its order. */
export function fieldPaths(tree: FieldTree, within: readonly string[] = []): string[] {
  return [...tree].flatMap(([name, below]) => {
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
