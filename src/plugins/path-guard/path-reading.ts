import { areOfAction, isOnlyCrud, type PathName, readNames } from './path-names.js'
import { type PathVersion, type ReadSegment, readSegments, readVersion } from './path-segments.js'
import type { PathVocabulary } from './path-words.js'

/** A route as the rules see it. */
export interface RouteReading {
  readonly methods: readonly string[]
  readonly pattern: string
  /** The path is the base path or below it. */
  readonly isBelowBase: boolean
  /** The segments below the base path. */
  readonly segments: readonly ReadSegment[]
  readonly version: PathVersion
  /** The segments but for the version, and for those that are blank. */
  readonly names: readonly PathName[]
}

/** What is wrong with the verb of an action. */
export interface ActionFault {
  /** The first verb of the path. */
  readonly verb: PathName
  /** The methods that an action does not have; where it has none, the verb is not the only one at the end. */
  readonly wrongMethods: readonly string[]
}

/** Reads what a route's path says, however it is written. */
export function readRoute(
  methods: readonly string[],
  pattern: string,
  vocabulary: PathVocabulary,
  basePath: string,
): RouteReading {
  const isBelowBase = pattern === basePath || pattern.startsWith(`${basePath}/`)
  const path = isBelowBase ? pattern.slice(basePath.length) : pattern
  const segments = path === '' ? [] : readSegments(path)
  const said = segments.filter(({ isBlank }) => !isBlank)
  const version = readVersion(said)
  const named = said.filter((read) => read !== version.read)
  return { methods, pattern, isBelowBase, segments, version, names: readNames(named, methods, vocabulary) }
}

/** The fault of a route that has a verb but is no action: a POST to a path that ends in one. */
export function actionFaultOf({ methods, names }: RouteReading): ActionFault | null {
  const [verb, ...others] = names.filter(({ isVerb }) => isVerb)
  if (verb === undefined) return null
  const wrongMethods = methods.filter((method) => !areOfAction([method]))
  const last = names.findLast((name) => name.read.kind !== 'wildcard' && !isOnlyCrud(name))
  const isRight = verb === last && others.length === 0 && wrongMethods.length === 0
  return isRight ? null : { verb, wrongMethods }
}
