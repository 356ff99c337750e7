import { type PathSegment, routePath } from '../../http/route-path.js'

/** The parameter of a route that an alias may stand in. */
export interface AliasPlace {
  /** Its name. */
  readonly parameter: string
  /** Segments in front of its own. */
  readonly before: number
  /** Segments behind its own. */
  readonly behind: number
}

/** The first parameter of a route pattern that stands right behind one of the collections; `null` where none does. */
export function placeBehind(pattern: string, collections: ReadonlySet<string>): AliasPlace | null {
  const segments = routePath(pattern)
  const at = segments.findIndex((segment, index) => {
    const collection = segments[index - 1]
    return segment.kind === 'parameter' && collection?.kind === 'literal' && collections.has(collection.text)
  })
  return placeAt(segments, at)
}

/** The parameter of that name; without a name the only one there is; `null` where there is none, or more than one. */
export function placeOf(pattern: string, name: string | undefined): AliasPlace | null {
  const segments = routePath(pattern)
  const parameters = segments.filter(({ kind }) => kind === 'parameter')
  const meant = parameters.filter(({ text }) => name === undefined || nameOf(text) === name)
  const [only] = meant
  return only === undefined || meant.length > 1 ? null : placeAt(segments, segments.indexOf(only))
}

/** The collection that a route pattern ends in; `null` where it ends in something else. */
export function lastCollection(pattern: string): string | null {
  const last = routePath(pattern).findLast(({ text }) => text !== '')
  return last?.kind === 'literal' ? last.text : null
}

/** Does a route pattern end in the parameter: is it the record itself, and not something below it? */
export function isRecord({ behind }: AliasPlace): boolean {
  return behind === 0
}

function placeAt(segments: readonly PathSegment[], at: number): AliasPlace | null {
  const segment = segments[at]
  if (segment === undefined) return null
  const last = segments.findLastIndex(({ text }) => text !== '')
  return { parameter: nameOf(segment.text), before: at, behind: last - at }
}

// `:id`, `:id?`, `:id(^\\d+$)`
function nameOf(text: string): string {
  return /^:([^(?]*)/.exec(text)?.[1] ?? ''
}
