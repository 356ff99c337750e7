import { isPlural } from '../../words/plurals.js'
import { hasUnderscore, hasUppercase, needsEncoding } from './path-text.js'
import { fileFormats, lastWord, type PathVocabulary } from './path-words.js'
import {
  areOfAction,
  isOnlyCrud,
  type PathName,
  pathTo,
  type ReadRoute,
  type ReadSegment,
  readRoute,
} from './read-route.js'
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

export interface PathBreach {
  readonly rule: PathRule
  readonly problem: string
  /** The path with this breach corrected; with a method if that changes, and for actions always. */
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

const none: ReadonlySet<string> = new Set()

export function pathBreaches(
  methods: readonly string[],
  pattern: string,
  vocabulary: PathVocabulary,
  basePath = '',
  collections = none,
): PathBreach[] {
  // RFC 8615: these names are registered, not chosen.
  if (pattern.startsWith('/.well-known/')) return []
  const route = readRoute(methods, pattern, vocabulary, basePath, collections)
  return pathRuleNames.flatMap((rule) => {
    const problem = pathRules[rule].problem(route)
    return problem === null ? [] : [{ rule, problem, instead: pathRules[rule].suggest(route, vocabulary) }]
  })
}

interface RuledPath {
  readonly methods: readonly string[]
  readonly path: string
  readonly applies: (rule: PathRule) => boolean
}

/** Returns breaches that suggest one path for each route, and one name for a collection in the paths of all. */
export function breachesOfAll<Route extends RuledPath>(
  routes: readonly Route[],
  vocabulary: PathVocabulary,
  basePath: string,
): (Route & CheckedPath)[] {
  const inPlural = routes.filter(({ applies }) => applies('plural'))
  const collections = new Set(
    inPlural.flatMap(({ methods, path }) => singularCollections(methods, path, vocabulary, basePath)),
  )
  return routes.map((route) => {
    const breaches = withAllFixes(route.methods, route.path, (methods, path) =>
      pathBreaches(methods, path, vocabulary, basePath, collections).filter(({ rule }) =>
        route.applies(rule),
      ),
    )
    return { ...route, breaches }
  })
}

/** Returns the paths of the collections of a route that are in the singular: what else is below them is below a collection. */
function singularCollections(
  methods: readonly string[],
  pattern: string,
  vocabulary: PathVocabulary,
  basePath: string,
): string[] {
  const { names, segments, isBelowBase } = readRoute(methods, pattern, vocabulary, basePath, none)
  return names.filter(isSingular).map(({ read }) => pathTo(segments, read, isBelowBase ? basePath : ''))
}

// Each round corrects one rule, and a corrected path may break another one.
const maxRounds = 10

/** Returns breaches of a route that all suggest the same path, with all of them corrected. */
function withAllFixes(
  methods: readonly string[],
  pattern: string,
  breachesOf: (methods: readonly string[], path: string) => readonly PathBreach[],
): PathBreach[] {
  const breaches = breachesOf(methods, pattern)
  let method = ''
  let path = pattern
  for (let round = 0; round < maxRounds; round++) {
    const found = breachesOf(method === '' ? methods : [method], path)
    // The names of collections are those of the app as long as nothing else is corrected.
    const next = [...found.filter(({ rule }) => rule === 'plural'), ...found].find(isPath)
    if (next === undefined) break
    const [, ownMethod = method, corrected = path] = suggestion.exec(next.instead) ?? []
    method = ownMethod
    path = corrected
  }
  const whole = method === '' ? path : `${method} ${path}`
  return breaches.map((breach) => {
    const [, , , option = ''] = suggestion.exec(breach.instead) ?? []
    return isPath(breach) ? { ...breach, instead: `${whole}${option}` } : breach
  })
}

const suggestion = /^(?:([A-Z]+) )?(\/.*?)(, with basePath: .*)?$/

function isPath({ instead }: PathBreach): boolean {
  return suggestion.test(instead)
}

export interface CheckedPath {
  readonly path: string
  readonly breaches: readonly PathBreach[]
}

export function withCommonCause<Route extends CheckedPath>(
  routes: readonly Route[],
  basePath: string,
): readonly Route[] {
  const unversioned = routes.filter(({ breaches }) => breaches.some(isWithoutVersion))
  const below = basePath.length + 1
  if (unversioned.length < 2 || routes.some(({ path }) => /^v[0-9]+(?:\/|$)/.test(path.slice(below))))
    return routes
  const instead = `register the routes with prefix: '${basePath}/v1', or set pathGuard: { rules: { version: 'off' } }`
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
  const broken = names.filter(isSingular).map(({ read }) => read)
  return problemOf(broken, 'names a collection in the singular', 'name collections in the singular')
}

function isSingular({ isCollection, crud, noun }: PathName): boolean {
  return isCollection && crud.length === 0 && !isPlural(lastWord(noun))
}

function wordsProblem({ names }: ReadRoute): string | null {
  const broken = names.filter(({ crud }) => crud.length > 0)
  const isFile = broken.some(({ crud: [word = ''] }) => fileFormats.has(word))
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
