import { isPlural } from '../../words/plurals.js'
import { hasUnderscore, hasUppercase, needsEncoding } from './path-text.js'
import { isFileFormat, lastWord, type PathVocabulary } from './path-words.js'
import { areOfAction, isOnlyCrud, type ReadRoute, type ReadSegment, readRoute } from './read-route.js'
import {
  basePathOf,
  suggestAction,
  suggestHyphens,
  suggestLowercase,
  suggestPlainText,
  suggestPlurals,
  suggestSingleSlashes,
  suggestVersion,
  suggestWithoutCrud,
} from './suggestions.js'

/** The rules for the path of a route, in the order of the report. */
export const pathRuleNames = [
  'uppercase',
  'underscore',
  'encoding',
  'plural',
  'words',
  'version',
  'action',
  'slash',
] as const

/** Name of a path rule. */
export type PathRule = (typeof pathRuleNames)[number]

/** How a route breaks a rule, and what to write instead. */
export interface PathBreach {
  readonly rule: PathRule
  readonly problem: string
  /**
   * The path with this breach corrected, and only this one; with a method if that changes, and for actions always. If the
   * version is behind a base path: the option to set.
   */
  readonly instead: string
}

interface RuleOfPath {
  /** Returns what is wrong; `null` if the route keeps the rule. */
  readonly problem: (route: ReadRoute) => string | null
  readonly suggest: (route: ReadRoute, vocabulary: PathVocabulary) => string
}

const pathRules: Readonly<Record<PathRule, RuleOfPath>> = {
  uppercase: {
    problem: literalProblem(hasUppercase, 'has uppercase letters', 'have uppercase letters'),
    suggest: suggestLowercase,
  },
  underscore: {
    problem: literalProblem(hasUnderscore, 'joins words with an underscore', 'join words with an underscore'),
    suggest: suggestHyphens,
  },
  encoding: { problem: encodingProblem, suggest: suggestPlainText },
  plural: { problem: pluralProblem, suggest: suggestPlurals },
  words: { problem: wordsProblem, suggest: suggestWithoutCrud },
  version: { problem: versionProblem, suggest: suggestVersion },
  action: { problem: actionProblem, suggest: suggestAction },
  slash: { problem: slashProblem, suggest: suggestSingleSlashes },
}

/**
 * Returns the breaches of all rules by a route, at most one per rule.
 *
 * @param basePath the path in front of the version
 */
export function pathBreaches(
  methods: readonly string[],
  pattern: string,
  vocabulary: PathVocabulary,
  basePath = '',
): PathBreach[] {
  // RFC 8615: these names are registered, not chosen.
  if (pattern.startsWith('/.well-known/')) return []
  const route = readRoute(methods, pattern, vocabulary, basePath)
  return pathRuleNames.flatMap((rule) => {
    const problem = pathRules[rule].problem(route)
    return problem === null ? [] : [{ rule, problem, instead: pathRules[rule].suggest(route, vocabulary) }]
  })
}

/** A route of the app, with its breaches. */
export interface CheckedPath {
  readonly path: string
  readonly breaches: readonly PathBreach[]
}

/**
 * Returns the breaches of the routes of an app. If none of them has a version, they all get the same suggestion: one
 * prefix corrects them.
 */
export function withCommonCause<Route extends CheckedPath>(
  routes: readonly Route[],
  basePath: string,
): readonly Route[] {
  const unversioned = routes.filter(({ breaches }) => breaches.some(isWithoutVersion))
  const below = basePath.length + 1
  if (unversioned.length < 2 || routes.some(({ path }) => /^v[0-9]+(?:\/|$)/.test(path.slice(below))))
    return routes
  const instead = `register the routes with prefix: '${basePath}/v1'`
  return routes.map((route) => ({
    ...route,
    breaches: route.breaches.map((breach) => (isWithoutVersion(breach) ? { ...breach, instead } : breach)),
  }))
}

const noVersion = 'has no major version in front'

function isWithoutVersion({ problem }: PathBreach): boolean {
  return problem === noVersion
}

function literalProblem(
  isFaulty: (text: string) => boolean,
  one: string,
  many: string,
): RuleOfPath['problem'] {
  return ({ segments }) => {
    const broken = segments.filter((read) => hasLiteral(read, isFaulty))
    return problemOf(broken, one, many)
  }
}

function encodingProblem({ segments }: ReadRoute): string | null {
  const broken = segments.filter((read) =>
    read.segment.kind === 'literal' ? needsEncoding(read.segment.text) : hasLiteral(read, needsEncoding),
  )
  return problemOf(broken, 'has characters that need encoding', 'have characters that need encoding')
}

function pluralProblem({ names }: ReadRoute): string | null {
  const singular = names.filter(
    ({ isCollection, crud, noun }) => isCollection && crud.length === 0 && !isPlural(lastWord(noun)),
  )
  const broken = singular.map(({ read }) => read)
  return problemOf(broken, 'names a collection in the singular', 'name collections in the singular')
}

function wordsProblem({ names }: ReadRoute): string | null {
  const broken = names.filter(({ crud }) => crud.length > 0)
  const isFile = broken.some(({ crud: [word = ''] }) => isFileFormat(word))
  return problemOf(
    broken.map(({ read }) => read),
    'stands for a method',
    isFile ? 'stand for a format, which clients name in Accept' : 'stand for a method',
  )
}

function versionProblem({ base, isUnversioned, version }: ReadRoute): string | null {
  if (isUnversioned || (version.isRight && base.length === 0)) return null
  if (base.length === 0) return noVersion
  const path = basePathOf(base)
  return version.isRight ? `'${path}' is in front of the version` : `has no major version behind '${path}'`
}

/** An action is a POST to a path with one verb, at its end. */
function actionProblem({ methods, names }: ReadRoute): string | null {
  const [verb, ...others] = names.filter(({ isVerb }) => isVerb)
  if (verb === undefined) return null
  const wrongMethods = methods.filter((method) => !areOfAction([method]))
  if (wrongMethods.length > 0) {
    return `the verb ${quoted(verb.read)} is served for ${wrongMethods.join(', ')}; an action is a POST`
  }
  const last = names.findLast((name) => name.read.kind !== 'wildcard' && !isOnlyCrud(name))
  return verb === last && others.length === 0 ? null : `the verb ${quoted(verb.read)} is not the last segment`
}

function slashProblem({ pattern, segments }: ReadRoute): string | null {
  if (pattern === '/' || !segments.some(({ segment }) => segment.text === '')) return null
  return segments.at(-1)?.segment.text === '' ? 'ends in a slash' : 'has two slashes in a row'
}

function hasLiteral({ parts }: ReadSegment, isFaulty: (text: string) => boolean): boolean {
  return parts.some(({ literal, text }) => literal && isFaulty(text))
}

function problemOf(broken: readonly ReadSegment[], one: string, many: string): string | null {
  if (broken.length === 0) return null
  return `${broken.map(quoted).join(', ')} ${broken.length === 1 ? one : many}`
}

function quoted({ segment }: ReadSegment): string {
  return `'${segment.text}'`
}
