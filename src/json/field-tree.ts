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

/** What is left of a value. */
export interface FieldCut {
  /** The fields that are left; `null` for all. */
  readonly only: FieldTree | null
  /** The fields that are not, whatever `only` says; `null` for none. */
  readonly without: FieldTree | null
}

/** The cut that leaves all. */
export const whole: FieldCut = Object.freeze({ only: null, without: null })

/**
 * What a cut leaves of a member: {@link whole}, a part of it, or `null` for nothing.
 *
 * @param alias another name by which a client may select it
 */
export function cutOf({ only, without }: FieldCut, name: string, alias = name): FieldCut | null {
  const hidden = without?.get(name)
  if (hidden === true) return null
  const asked = only === null ? true : (only.get(name) ?? only.get(alias))
  if (asked === undefined) return null
  return asked === true && hidden === undefined
    ? whole
    : { only: asked === true ? null : asked, without: hidden ?? null }
}

/** Whether a field is hidden, or something that the field is in. */
export function isHidden(without: FieldTree | null, path: readonly string[]): boolean {
  let at: FieldTree | true | undefined = without ?? undefined
  for (const name of path) {
    if (at === undefined || at === true) break
    at = at.get(name)
  }
  return at === true
}

/**
 * The names of a dot path. A backslash takes the character after it for part of a name: `a\.b` is the field `a.b`,
 * `\*` the field `*`.
 */
export function splitPath(path: string): string[] {
  const names = splitUnescaped(path, '.')
  return path.includes('\\') ? names.map((name) => name.replace(/\\(.)/gs, '$1')) : names
}

/** The dot path of names, with a backslash before what would be read as something else. */
export function joinPath(names: readonly string[]): string {
  const [only] = names
  if (names.length === 1 && only === '*') return '\\*'
  return names.map((name) => (/[\\.,]/.test(name) ? name.replace(/[\\.,]/g, '\\$&') : name)).join('.')
}

/** The parts of a text between separators that no backslash stands before. Takes time linear in its length. */
function splitUnescaped(text: string, separator: '.' | ','): string[] {
  if (!text.includes('\\')) return text.split(separator)
  const parts: string[] = []
  let start = 0
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '\\') index++
    else if (text[index] === separator) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  return [...parts, text.slice(start)]
}
